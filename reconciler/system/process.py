"""Our process and its children: environment, locks, memory, clock.

The environment of a child process: what it needs to run, and nothing that could be a secret.

An environment can be read by every process of the same user, and is inherited by whatever the child starts in turn.
Secrets reach a child by a pipe instead.
"""

import contextlib
import datetime
import fcntl
import gc
import os
import random
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from reconciler.model.characters import safe

_KEPT: Final = frozenset(
    {
        "CI",  # decides whether manifests may say where to connect
        "HOME",
        "LANG",
        "LANGUAGE",
        "LD_LIBRARY_PATH",
        "LOGNAME",
        "PATH",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
        "TZ",
        "USER",
        "XDG_CONFIG_HOME",
    }
)
_KEPT_PREFIXES: Final = ("LC_", "PYTHON")
#: The address of a proxy may hold a password.
_PROXIES: Final = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy"})
#: The MSK IAM signer reads AWS credentials from the environment and from nowhere else that we could name.
_CREDENTIALS: Final = ("AWS_",)
#: What logs in to object stores.
_STORE_CREDENTIALS: Final = ("AWS_", "AZURE_", "GOOGLE_")


def child_environment(*prefixes: str) -> dict[str, str]:
    """What a child gets of our environment; ``prefixes`` name further variables."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT
        or name.startswith((*_KEPT_PREFIXES, *prefixes))
        or (name.lower() in _PROXIES and "@" not in value)
    }


def secret_environment(allowed: Iterable[str], prefixes: tuple[str, ...] = ()) -> dict[str, str]:
    """What a child that connects by itself is given by a pipe: the variables that may be read, and AWS credentials.

    ``prefixes`` name further variables: those of the passwords that it sets.
    """
    wanted, begin = frozenset(allowed), (*_CREDENTIALS, *prefixes)
    return {name: value for name, value in os.environ.items() if name in wanted or name.startswith(begin)}


def store_environment() -> dict[str, str]:
    """What a child is given that reads or writes an object store."""
    return {name: value for name, value in os.environ.items() if name.startswith(_STORE_CREDENTIALS)}


# One process at a time: locks that end with their process.


@contextmanager
def only_one(directory: Path) -> Iterator[bool]:
    """Whether nobody else holds the lock on ``directory`` for the time of the block; raises ``OSError`` without it."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


@contextmanager
def in_turn(lock: Path) -> Iterator[None]:
    """Wait for everybody else who is in such a block, by a file that is there meanwhile; raises ``OSError`` without."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not _is_at(descriptor, lock):  # whoever was before removed it: the next ones take another file
                continue
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
            return
        finally:
            os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    return False


# Keep what a process holds in memory, secrets among it, off the disk and away from debuggers.

#: ``linux/prctl.h``: without it no core file is written whatever ``core_pattern`` says, and no debugger may attach.
_PR_SET_DUMPABLE: Final = 4


def _libc() -> Any:
    """The C library of this process; raises ``OSError`` or ``TypeError`` where it cannot be called."""
    import ctypes  # noqa: PLC0415 - only here, and the import takes longer than the rest of a start

    return ctypes.CDLL(None)


def forbid_core_dumps() -> None:
    """No core file of this process, and none of its children: the limit is inherited."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # A program that catches crashes (systemd-coredump) is piped the core despite the limit. A libc without prctl
        # leaves the limit.
        with contextlib.suppress(OSError, AttributeError):
            _libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


# Memory that a long-running process does not need between two pieces of work, given back to the system.
#
# glibc's malloc keeps what is freed below something that is still in use. After a round over 100,000 bindings that is
# a third of the process, and more after each one that allocates in another order (``benchmarks/serve.py``).


def give_back() -> bool:
    """Collect garbage, and return free memory to the system; whether this platform's C library can (malloc_trim)."""
    gc.collect()
    try:
        trim: Any = _libc().malloc_trim
    except (OSError, AttributeError, TypeError):
        return False
    trim(0)
    return True


# The system clock, as ``ports.Clock``.


class SystemClock:
    """Implements ``reconciler.ports.Clock``."""

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""
        return time.monotonic()

    def jitter(self) -> float:
        """A number from 0 up to 1, to spread retries; not for secrets."""
        return random.random()  # noqa: S311 - no secret depends on it

    def now(self) -> str:
        """The time as RFC 3339 in UTC, to the second."""
        return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# A path as it is called, of which what it leads to is not there.


def broken_link(path: str | Path) -> str | None:
    """Where a link leads whose end is not there, in words; ``None`` of what is there, and of what is no link."""
    if not os.path.islink(path) or os.path.exists(path):
        return None
    return f"this is a link to {safe(os.readlink(path))}, where nothing is"
