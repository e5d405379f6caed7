"""Keep what a process holds in memory, secrets among it, off the disk and away from debuggers."""

import contextlib
import resource
import sys
from typing import Final

#: ``linux/prctl.h``: without it no core file is written whatever ``core_pattern`` says, and no debugger may attach.
_PR_SET_DUMPABLE: Final = 4


def forbid_core_dumps() -> None:
    """No core file of this process, and none of its children: the limit is inherited."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only here, and the import takes longer than the rest of a start

        # A program that catches crashes (systemd-coredump) is piped the core despite the limit. A libc without prctl
        # leaves the limit.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
