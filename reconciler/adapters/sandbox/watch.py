"""A process beside the one that holds a sandbox: it ends the sandbox when its holder dies, however it dies.

``finally`` is enough for an error and for Ctrl-C. It does not run when the holder is killed: a test run that a pipeline
cancels would leave brokers of 200 MB each behind, and nobody who knows of them.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from reconciler.adapters.child_environment import child_environment

_DISMISSED: Final = b"."
#: Waits before it imports anything, so that watching costs a bare interpreter and no processor time.
_PROGRAM: Final = (
    "import sys; dismissed = sys.stdin.buffer.read(1); root, directory, pid, started = sys.argv[1:]\n"
    "if not dismissed:\n"
    "    root in sys.path or sys.path.insert(0, root)\n"
    "    from reconciler.adapters.sandbox.directory import remove_after\n"
    "    remove_after(directory, int(pid), started)\n"
)
_ROOT: Final = str(Path(__file__).parents[3])


@contextmanager
def watched(directory: Path, pid: int, started: str) -> Iterator[int]:
    """For the time of the block: if this process dies, the sandbox that names it as its holder is ended and removed.

    ``pid`` and ``started`` are this process. The watch notices by a pipe, whose end the system closes with the process;
    Linux's parent-death signal would fire when the *thread* ends that started a broker, and macOS has none.
    Yields the watch's pid.
    """
    isolated = ["-I"] if sys.flags.isolated else ["-P"]
    watch = subprocess.Popen(
        [sys.executable, *isolated, "-c", _PROGRAM, _ROOT, str(directory), str(pid), started],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=child_environment(),
        start_new_session=True,  # a Ctrl-C in this terminal must not reach it
    )
    try:
        yield watch.pid
    finally:
        with suppress(BrokenPipeError):  # somebody killed the watch; there is nothing left to dismiss
            watch.communicate(_DISMISSED)
