"""One process at a time: a lock on a directory, which is not waited for and ends with its process."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
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
