"""The process of one reader: started when it is needed, or before anything else of a command is loaded.

Imports next to nothing, so that a command can start one at once: its libraries load while ours do.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from reconciler.system.process import child_environment

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
