"""The audit log: a chain of JSON lines in a file, a copy of each line in a topic of the cluster, or both.

Several runs may append to one file at a time. Each line carries the digest of the line before it, so a run holds the
file's lock from reading its end until its own lines are kept: otherwise two runs would continue the same line.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

from reconciler.adapters.journal_file import append_whole, open_private, reason, sync_directory
from reconciler.apply.audit_chain import GENESIS, LogIdentity, chained, line_digest, log_of, previous_of
from reconciler.codec import load
from reconciler.ports import RecordError

_CHUNK: Final = 65_536
#: Of every line.
_BEGINNING: Final = b'{"record":"'


class LineSender(Protocol):
    """Keeps a copy of lines elsewhere."""

    def send(self, key: str, lines: Sequence[bytes]) -> None:
        """Return once the lines are safe; raises :class:`RecordError`."""
        ...


class AuditLog:
    """Implements ``reconciler.ports.Ledger``; a context manager. ``head`` is the digest of the last line of ours."""

    def __init__(self, log: LogIdentity, topic: LineSender | None = None) -> None:
        """Open or create the file, readable by its owner only; raises :class:`RecordError`.

        A file that has lines keeps its id, a new one takes that of ``log``. Without a file, the lines of this run are
        a log of their own.
        """
        self.head, self._log, self._topic, self._descriptor = GENESIS, log, topic, -1
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
                if self._topic is not None:
                    self._topic.send(str(records[0].get("run", "")), lines)
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
        found = log_of(line) or self._first_whole()
        self._log = self._log if found is None else replace(self._log, id=found.id)
        if previous_of(line) is None and not _is_torn(line):
            raise RecordError(f"{self._path}: it is not an audit log")
        if torn:
            self._append(b"\n")
        return line_digest(line)

    def _first_whole(self) -> LogIdentity | None:
        """The identity in the first line that a crash did not cut short."""
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(0)
            return next((found for line in file if (found := log_of(line.removesuffix(b"\n"))) is not None), None)

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
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode):
                    return  # a device has no end
                if found.st_ino != self._file or found.st_size < self._offset:
                    self._file, self._offset = found.st_ino, 0  # another file by now
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
