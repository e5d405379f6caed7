"""One process at a time: locks that end with their process."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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
