"""Records as JSON lines in a file: each one is on disk before the writer goes on, and a torn end is cut off.

A line without its newline is what a crash left of a record that was never acknowledged: read the cluster instead.
"""

import errno
import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from reconciler.apply.history import JournalError
from reconciler.codec import compact, load
from reconciler.model.escape import escape_invisible_json
from reconciler.ports import RecordError

#: A batch has at most 1,000 steps, and a broker's message is short.
_LONGEST_LINE: Final = 8 * 1024 * 1024
#: How a file begins that holds no whole record: not at all, with one, or with what a crash left in its place.
_BEGINNINGS: Final = (b"", b"{", b"\x00")


class InUseError(RecordError):
    """Another process writes to this file now."""


class RecordFile:
    """Appends records to the file at ``path``; implements ``reconciler.ports.Ledger``. A context manager."""

    def __init__(self, path: str) -> None:
        """Open or create the file, readable by its owner only, let no other writer in, and cut a torn last line off.

        Raises :class:`RecordError`.
        """
        self.path = path
        try:
            self._descriptor = open_private(path)
            try:
                self._prepare()
            except BaseException:
                os.close(self._descriptor)
                raise
        except BlockingIOError as error:
            raise InUseError(f"{path} is in use by another process") from error
        except OSError as error:
            raise RecordError(f"{path}: {reason(error)}") from error

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the file, and let others in."""
        os.close(self._descriptor)

    def write(self, *records: Mapping[str, Any]) -> None:
        """See ``ports``: the records are on disk when this returns. When this raises, none of them is in the file."""
        text = "".join(escape_invisible_json(compact(record)) + "\n" for record in records).encode()
        try:
            # Nobody else writes, so what follows the last whole record is left of a write that failed.
            os.ftruncate(self._descriptor, self._whole)
            append_whole(self._descriptor, text)
        except OSError as error:
            raise RecordError(f"{self.path}: {reason(error)}") from error
        self._whole += len(text)

    def _prepare(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._whole = whole = _whole(self._descriptor)
        if not whole and os.pread(self._descriptor, 1, 0) not in _BEGINNINGS:
            raise RecordError(f"{self.path}: it is not a journal")
        os.ftruncate(self._descriptor, whole)
        sync_directory(self.path)


def read_records(path: str) -> Iterator[dict[str, Any]]:
    """Every whole record, in order; raises ``OSError``, or ``JournalError`` for a line that is none."""
    with open(path, "rb") as file:
        number = 0
        while line := file.readline(_LONGEST_LINE + 1):
            number += 1
            if len(line) > _LONGEST_LINE:
                raise JournalError(f"{path}: line {number} is longer than any record")
            if not line.endswith(b"\n"):
                return
            yield _record(path, number, line)


def _record(path: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        return load(line.decode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise JournalError(f"{path}: line {number} is not a record: the file was altered") from error


def _whole(descriptor: int) -> int:
    """How many bytes there are up to and including the last newline."""
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - 65_536)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def append_whole(descriptor: int, text: bytes) -> None:
    """Add the text and wait until it is on disk; raises ``OSError`` with nothing added, as far as the disk permits.

    A disk that is full takes the beginning of a record first. The caller lets no other writer in.
    """
    end = os.fstat(descriptor).st_size
    try:
        while text:
            text = text[os.write(descriptor, text) :]
        os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, end)
        raise


def open_private(path: str) -> int:
    """A file to append records to, created readable by its owner only; raises ``OSError`` for a link."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def sync_directory(path: str) -> None:
    """Keep the name of a new file over a crash of the machine."""
    directory = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def reason(error: OSError) -> str:
    """Why a file cannot be used."""
    if error.errno == errno.ELOOP:
        return "is a symbolic link"
    return error.strerror or str(error)
