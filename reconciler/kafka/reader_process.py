"""The process of one reader, seen from both ends.

It is started when it is needed, or before anything else of a command is loaded. It reads tasks from stdin and writes
replies to stdout, both with ``marshal``. To load its libraries takes longer than to list 10,000 ACLs, so a process that
has answered waits for the next question of the same command. Settings contain secrets, so they never pass through
arguments or the environment, which other users can see. This module imports next to nothing of ours: a command can
start a process at once, and the process starts fast.
"""

import gc
import marshal
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from reconciler.system.process import child_environment, forbid_core_dumps

#: Lists ACLs, and nearly always the first that is asked.
MESSAGES: Final = "message_client"
#: Runs one of our modules from our own location: a Spark worker has the code from its job, not installed in its Python.
#: Without the collector, which would look again and again at hundreds of modules that stay.
_PROGRAM: Final = (
    "import gc, runpy, sys; gc.disable(); root, module = sys.argv[1:]; root in sys.path or sys.path.insert(0, root); "
    "runpy.run_module(module, run_name='__main__')"
)
_ROOT: Final = str(Path(__file__).parents[2])
#: Loaded and not asked for, by who started it and module: started early, or back from who asked. A fork of who started
#: it must not ask it: each of them would read the other's answers.
_ready: Final[dict[tuple[int, str], subprocess.Popen[bytes]]] = {}
#: Those that commands keep ready.
_wanted: Final[set[str]] = set()


def start_reader(module: str) -> subprocess.Popen[bytes]:
    """Start a process with this reader, which waits for tasks on stdin.

    ``-P`` keeps the working directory, which others may write to, off its import path.
    """
    isolated = ["-I"] if sys.flags.isolated else ["-P"]
    return subprocess.Popen(
        [sys.executable, *isolated, "-W", "ignore", "-c", _PROGRAM, _ROOT, f"reconciler.kafka.{module}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=child_environment(),
    )


def reader(module: str) -> subprocess.Popen[bytes]:
    """The process that is ready, or a new one."""
    ready = _ready.pop((os.getpid(), module), None)
    if ready is not None and ready.poll() is not None:
        end_reader(ready)
        ready = None
    return ready or start_reader(module)


def give_back(module: str, process: subprocess.Popen[bytes]) -> None:
    """Keep a process that has answered for the next who asks; it ends where nobody will, or one is ready."""
    if module not in _wanted or _ready.setdefault((os.getpid(), module), process) is not process:
        end_reader(process)


def end_reader(process: subprocess.Popen[bytes]) -> None:
    """End a process that nobody waits for, and close what led to it."""
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):  # of a task that it did not read to its end
                stream.close()
    process.wait()


@contextmanager
def started_early() -> Iterator[None]:
    """Start a message client for the first who asks meanwhile, and keep it for the others; it ends with this.

    Inside of another one this only sees to it that one is ready.
    """
    outermost = MESSAGES not in _wanted
    _wanted.add(MESSAGES)
    mine = os.getpid(), MESSAGES
    if mine not in _ready:
        _ready[mine] = start_reader(MESSAGES)
    try:
        yield
    finally:
        if outermost:
            _wanted.discard(MESSAGES)
            unused = _ready.pop(mine, None)
            if unused is not None:
                end_reader(unused)


#: ``{"timeout": seconds, ...}`` and what the reader needs; plain values only.
Task: TypeAlias = dict[str, Any]
#: ``("rows", cluster id, resource rows)``, ``("refused", code, name, message)`` by the cluster, ``("failed", text)``.
#: ``("unconnected", text)`` by the message client, whose first connection failed.
#: The message client adds to ``rows`` the levels of ``metadata.version``, finalized and supported, or ``None``.
Reply: TypeAlias = tuple[Any, ...]

#: The length of a reply comes before it, in so many bytes.
LENGTH_BYTES: Final = 8
#: The filter codes ANY.
ANY: Final = 1


def serve(read: Callable[[Task], Reply]) -> None:
    """Answer tasks until there are no more, and end the process. Each reply follows its length.

    Output of libraries goes to stderr, so that it cannot corrupt a reply.
    """
    forbid_core_dumps()
    gc.disable()  # next to nothing becomes garbage before the process ends
    # Keep the real stdout for the replies, then point stdout to stderr: libraries print to it, also from C.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(EOFError, BrokenPipeError):
        while True:
            task = marshal.load(sys.stdin.buffer)  # noqa: S302 - our own parent wrote it
            try:
                reply = read(task)
            except Exception as error:
                reply = ("failed", f"{type(error).__name__}: {error}")
            # Not pickle, which runs code when it reads. Both ends run the same Python: the format need not be stable.
            text = marshal.dumps(reply)
            replies.write(len(text).to_bytes(LENGTH_BYTES, "big"))
            replies.write(text)
            replies.flush()
    os._exit(0)  # skip the interpreter's cleanup: it takes long on millions of objects
