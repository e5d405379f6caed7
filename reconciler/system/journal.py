"""Records as JSON lines in a file: each one is on disk before the writer goes on, and a torn end is cut off.

A line without its newline is what a crash left of a record that was never acknowledged: read the cluster instead.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from reconciler.apply.audit import GENESIS, LogIdentity, chained, line_digest, log_of, previous_of
from reconciler.apply.records import JournalError
from reconciler.codec.document import compact, load
from reconciler.model.characters import escape_invisible_json
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
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
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


# The audit log: a chain of JSON lines in a file, a copy of each line in a topic of the cluster, or both.
#
# Several runs may append to one file at a time. Each line carries the digest of the line before it, so a run holds
# the file's lock from reading its end until its own lines are kept: otherwise two runs would continue the same line.

_CHUNK: Final = 65_536
#: Of every line.
_BEGINNING: Final = b'{"record":"'


#: Keeps a copy of lines elsewhere, by the run's id: returns once they are safe; raises :class:`RecordError`.
LineSender: TypeAlias = Callable[[str, Sequence[bytes]], None]


class AuditLog:
    """Implements ``reconciler.ports.Ledger``; a context manager. ``head`` is the digest of the last line of ours."""

    def __init__(self, log: LogIdentity, send: LineSender | None = None) -> None:
        """Open or create the file, readable by its owner only; raises :class:`RecordError`.

        A file that has lines keeps its id, a new one takes that of ``log``. Without a file, the lines of this run are
        a log of their own.
        """
        self.head, self._log, self._send, self._descriptor = GENESIS, log, send, -1
        self._path = path = log.path
        if path is None:
            return
        try:
            self._descriptor = open_private(path)
            try:
                with self._locked():
                    self._end()
                sync_directory(path)
            except BaseException:
                os.close(self._descriptor)
                raise
        except OSError as error:
            raise RecordError(f"{path}: {reason(error)}") from error

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def write(self, *records: Mapping[str, Any]) -> None:
        """See ``ports``: first to the file, then to the topic, so that the topic has no line that the file lacks."""
        if not records:
            return
        try:
            with self._locked():
                previous = self.head if self._path is None else self._end()
                lines, head = chained(records, previous, self._log)
                self._append(b"".join(line + b"\n" for line in lines))
                self.head = head
                if self._send is not None:
                    self._send(str(records[0].get("run", "")), lines)
        except OSError as error:
            raise RecordError(f"{self._path}: {reason(error)}") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self._descriptor < 0:
            yield
            return
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _append(self, text: bytes) -> None:
        if self._descriptor >= 0:
            append_whole(self._descriptor, text)

    def _end(self) -> str:
        """The digest of the last line. What a crash left of a line stays, as a line that the chain holds in its place.

        A file whose end is no chain is not ours to append to.
        """
        size = os.fstat(self._descriptor).st_size
        if not size:
            return GENESIS
        line, torn = self._last_line(size)
        log = log_of(line) or self._first_whole()
        self._log = self._log if log is None else replace(self._log, id=log.id)
        if previous_of(line) is None and not _is_torn(line):
            raise RecordError(f"{self._path}: it is not an audit log")
        if torn:
            self._append(b"\n")
        return line_digest(line)

    def _first_whole(self) -> LogIdentity | None:
        """The identity in the first line that a crash did not cut short."""
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(0)
            return next((log for line in file if (log := log_of(line.removesuffix(b"\n"))) is not None), None)

    def _last_line(self, size: int) -> tuple[bytes, bool]:
        """The last line, and whether its line end is missing."""
        text, start = b"", size
        while start and b"\n" not in text[:-1]:
            begin = max(0, start - _CHUNK)
            text = os.pread(self._descriptor, start - begin, begin) + text
            start = begin
        return text.removesuffix(b"\n").rpartition(b"\n")[2], not text.endswith(b"\n")


def _is_torn(line: bytes) -> bool:
    """Whether a crash may have left this of a line of ours; a machine that loses power may leave zeros."""
    return _BEGINNING.startswith(line[: len(_BEGINNING)]) or line.startswith(b"\0")


@contextmanager
def read_locked(path: str) -> Iterator[list[bytes]]:
    """Every line of a log, without line ends, the last one also if it has none; no run appends until the block ends.

    Raises ``OSError``.
    """
    with Path(path).open("rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        fcntl.flock(file, fcntl.LOCK_SH)
        text = file.read()
        yield text.removesuffix(b"\n").split(b"\n") if text else []


class LogTail:
    """What is new in a log since it was looked at last: a server reads each line once."""

    def __init__(self, path: str) -> None:
        """Nothing is opened yet."""
        self._path, self._offset, self._file = path, 0, 0

    def records(self, kinds: Collection[str]) -> Iterator[dict[str, Any]]:
        """The whole records of these kinds; none where there is no regular file, or where a line is none."""
        begins = tuple(b'{"record":"%s"' % kind.encode() for kind in kinds)
        try:
            with Path(self._path).open("rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    return  # a device has no end
                if status.st_ino != self._file or status.st_size < self._offset:
                    self._file, self._offset = status.st_ino, 0  # another file by now
                file.seek(self._offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._offset += len(line)
                    if line.startswith(begins):
                        with suppress(ValueError):
                            yield load(line.decode("utf-8", "surrogatepass"))
        except OSError:
            return
