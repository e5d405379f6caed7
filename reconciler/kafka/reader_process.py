"""The process of one reader, seen from both ends.

It is started when it is needed, or before anything else of a command is loaded. It reads a task from stdin and writes
a reply to stdout, both with ``marshal``. Settings contain secrets, so they never pass through arguments or the
environment, which other users can see. This module imports next to nothing of ours: a command can start a process at
once, and the process starts fast.
"""

import gc
import marshal
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
#: Started early and not asked for yet, by module.
_early: Final[dict[str, subprocess.Popen[bytes]]] = {}


def start_reader(module: str) -> subprocess.Popen[bytes]:
    """Start a process with this reader, which waits for its task on stdin.

    ``-P`` keeps the working directory, which others may write to, off its import path.
    """
    isolated = ["-I"] if sys.flags.isolated else ["-P"]
    return subprocess.Popen(
        [sys.executable, *isolated, "-W", "ignore", "-c", _PROGRAM, _ROOT, f"reconciler.kafka.{module}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment(),
    )


def reader(module: str) -> subprocess.Popen[bytes]:
    """The process that was started early, once, or a new one."""
    return _early.pop(module, None) or start_reader(module)


@contextmanager
def started_early(module: str = MESSAGES) -> Iterator[None]:
    """Start a process for the first who asks for this reader meanwhile; one that nobody asked for ends with this."""
    if module in _early:  # whoever started that one ends it
        yield
        return
    _early[module] = start_reader(module)
    try:
        yield
    finally:
        unused = _early.pop(module, None)
        if unused is not None:
            unused.kill()
            unused.communicate()


#: ``{"timeout": seconds, ...}`` and what the reader needs; plain values only.
Task: TypeAlias = dict[str, Any]
#: ``("rows", cluster id, resource rows)``, ``("refused", code, name, message)`` by the cluster, ``("failed", text)``.
#: ``("unconnected", text)`` by the message client, whose first connection failed.
#: The message client adds to ``rows`` the levels of ``metadata.version``, finalized and supported, or ``None``.
Reply: TypeAlias = tuple[Any, ...]

#: The filter codes ANY.
ANY: Final = 1


def serve(read: Callable[[Task], Reply]) -> None:
    """Answer one task and end the process. Output of libraries goes to stderr, so that it cannot corrupt the reply."""
    forbid_core_dumps()
    gc.disable()  # nothing becomes garbage before the process ends
    # Keep the real stdout for the reply, then point stdout to stderr: libraries print to it, also from C.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    task = marshal.load(sys.stdin.buffer)  # noqa: S302 - our own parent wrote it
    try:
        reply = read(task)
    except Exception as error:
        reply = ("failed", f"{type(error).__name__}: {error}")
    # Not pickle, which runs code when it reads. Both ends run the same Python, so the format need not be a stable one.
    marshal.dump(reply, replies)
    replies.flush()
    os._exit(0)  # skip the interpreter's cleanup: it takes long on millions of objects
