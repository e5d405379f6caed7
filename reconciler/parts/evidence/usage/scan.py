"""Read log files, and count the decisions in their lines, quickly.

Logs repeat themselves: the bytes after the time of a line are looked up in a table, and only new ones are parsed. So
most lines cost a slice and a look-up.
"""

import bz2
import datetime
import glob
import gzip
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import IO, Final, NamedTuple

from reconciler.parts.evidence.usage.counts import EXAMPLES, NO_DAYS, DaySet, EventCount, UnreadableLines, ordinal
from reconciler.parts.evidence.usage.documents import OPENING_BYTES, decisions_in, is_second_half
from reconciler.parts.evidence.usage.message import TIME, Event, ParsedLine, UnreadableReason, Window, normal_time

# A line that could not be read, made safe to show: short, escaped, and without possible secrets.

_MOST: Final = 160
_ASSIGNED = re.compile(
    r"(?i)((?:pass(?:word|wd|phrase)?|secret|token|credentials?|api[-_.]?key|jaas[-_.]?config|authorization)"
    r"[\"']?\s*[=:]\s*|bearer\s+)(\S.*)"
)
#: Keys and tokens: long runs without a space that mix letters and digits.
_OPAQUE = re.compile(r"(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=-]{28,}", re.ASCII)


def example(line: bytes) -> str:
    """The beginning of the line, at most about 160 printable ASCII characters."""
    text = line[: 4 * _MOST].decode("utf-8", "backslashreplace")
    text = _ASSIGNED.sub(lambda match: f"{match[1]}[redacted]", text)
    text = _OPAQUE.sub("[redacted]", text)
    shown = text.encode("unicode_escape").decode("ascii")
    cut = len(shown) > _MOST or len(line) > 4 * _MOST
    return shown[:_MOST] + "…" if cut else shown


#: A broker writes no decision in a longer line.
MAX_LINE: Final = 256 * 1024
#: How many different lines are remembered.
_MOST_KNOWN: Final = 100_000
#: A message that a name breaks into lines ends within this many.
_BROKEN_LINES: Final = 200
#: ``2026-01-31``.
_DAY_WIDTH: Final = 10


class _CountedEvent:
    """One decision and its count so far."""

    __slots__ = ("count", "days", "event", "first", "last")

    def __init__(self, event: Event) -> None:
        self.event, self.count, self.first, self.last, self.days = event, 0, "", "", NO_DAYS


class Scan:
    """The decisions in the lines of a log, or of a part of it, within a window."""

    __slots__ = (
        "_by_day",
        "_by_text",
        "_entries",
        "_start",
        "_tail",
        "_window",
        "days",
        "lines",
        "lost",
        "other",
        "outside",
    )

    def __init__(self, window: Window, *, by_day: bool = False) -> None:
        """``by_day`` keeps the days of each decision.

        ``other`` counts lines without a decision, ``outside`` lines of days outside the window. ``days`` are the days
        with decisions, each with whether something was permitted, by cluster id.
        """
        self._window, self._by_day = window, by_day
        self._entries: dict[Event, _CountedEvent] = {}
        self._by_text: dict[bytes, _CountedEvent] = {}
        self._start, self._tail = 0, 0
        self.lines = self.other = self.outside = 0
        self.lost: dict[UnreadableReason, UnreadableLines] = {}
        self.days: dict[str, set[tuple[str, bool]]] = {}

    @property
    def size(self) -> int:
        """How many different decisions there are."""
        return len(self._entries)

    def take(self, lines: Sequence[bytes]) -> None:
        """Count lines, without their line feeds."""
        self.lines += len(lines)
        if self._count_all(lines):
            return
        place = 0
        while place < len(lines):
            place = self._run(lines, place)

    def drain(self) -> Iterator[tuple[Event, EventCount]]:
        """Return and remove every decision with its count."""
        yield from ((event, count) for event, count, _ in self.drain_by_day())

    def drain_by_day(self) -> Iterator[tuple[Event, EventCount, DaySet]]:
        """Return and remove every decision with its count and its days."""
        entries, self._entries, self._by_text = self._entries, {}, {}
        for event, entry in entries.items():
            if entry.count:
                yield event, EventCount(entry.count, entry.first, entry.last), entry.days

    def lose(self, reason: UnreadableReason, line: bytes) -> None:
        """Count a line that cannot be read."""
        kept = self.lost.get(reason, UnreadableLines())
        shown = (example(line),) if len(kept.examples) < EXAMPLES else ()
        self.lost[reason] = kept + UnreadableLines(1, shown)

    def _count_all(self, lines: Sequence[bytes]) -> bool:
        """Count all lines at once if every line is known and has a valid day; else count none."""
        if not self._tail:
            return False
        start, until = self._start, self._start + _DAY_WIDTH
        counts = Counter(map(itemgetter(slice(0, until), slice(self._tail, None)), lines))
        entries = self._by_text
        # One unknown line is reason enough to go line by line: it may be the beginning of a message over several lines.
        if not all(rest in entries for _, rest in counts):
            return False
        days = {front: _day(front, start) for front in {front for front, _ in counts}}
        if "" in days.values():
            return False
        for (front, rest), times in counts.items():
            day = days[front]
            if self._window.contains(day):
                entry = entries[rest]
                entry.count += times
                if day != entry.last:
                    self._see(entry, day)
            else:
                self.outside += times
        return True

    def _run(self, lines: Sequence[bytes], place: int) -> int:
        """Count lines from a position up to the end or the end of a broken message; returns the next position."""
        entries, start, tail = self._by_text, self._start, self._tail
        until = start + _DAY_WIDTH
        stamp, time, counts = b"\n", "", False
        for number in range(place, len(lines)):
            line = lines[number]
            entry = entries.get(line[tail:]) if tail else None
            if entry is None:
                following = self._learn(lines, number)
                if following != number + 1 or self._tail != tail:
                    return following
                continue
            # Lines of one day follow each other: parse a day once, not a million times.
            if line[:until] != stamp:
                stamp = line[:until]
                match = TIME.match(line, start)
                time = normal_time(match) if match else ""
                counts = bool(time) and self._window.contains(time)
            if counts:
                entry.count += 1
                if time != entry.last:
                    self._see(entry, time)
            elif time:
                self.outside += 1
            else:
                return self._learn(lines, number)
        return len(lines)

    def _see(self, entry: _CountedEvent, time: str) -> None:
        """Widen the days of a decision."""
        if not entry.event.asked_only:
            self.days.setdefault(entry.event.cluster_id, set()).add((time, entry.event.allowed))
        if self._by_day:
            entry.days = entry.days.with_day(ordinal(time))
        entry.first = min(entry.first, time) if entry.first else time
        entry.last = max(entry.last, time)

    def _learn(self, lines: Sequence[bytes], number: int) -> int:
        """Read a new line; returns the number of the next line to read."""
        line = lines[number]
        if len(line) > MAX_LINE:
            self.lose(UnreadableReason.TOO_LONG, line)
            return number + 1
        decisions = decisions_in(line)
        # Each log event of a document counts as a line.
        self.lines += max(0, len(decisions) - 1)
        if not decisions:
            self.other += 1
        for item in decisions:
            self._place(line, item)
        if len(decisions) == 1:
            (only,) = decisions
            if only is UnreadableReason.CUT and OPENING_BYTES in line:
                return self._skip_broken(lines, number + 1)
            if isinstance(only, ParsedLine) and only.event in self._entries:
                self._remember(line, only)
        return number + 1

    def _skip_broken(self, lines: Sequence[bytes], number: int) -> int:
        """The line after the broken message that begins before ``number``, if its end is found.

        Brokers do not escape names. A name with line breaks can forge whole lines, so nothing between the two halves of
        a message is trusted.
        """
        for end in range(number, min(number + _BROKEN_LINES, len(lines))):
            if is_second_half(lines[end]):
                for inside in lines[number : end + 1]:
                    self.lose(UnreadableReason.CUT, inside)
                return end + 1
        return number

    def _place(self, line: bytes, decision: ParsedLine | UnreadableReason) -> None:
        """Count what a line shows, if its day is in the window."""
        if isinstance(decision, UnreadableReason):
            self.lose(decision, line)
        elif self._window.contains(decision.time):
            self._count(decision)
        elif decision.time:
            self.outside += 1
        else:
            self.lose(UnreadableReason.NO_TIME, line)

    def _count(self, decision: ParsedLine) -> None:
        entry = self._entries.get(decision.event)
        if entry is None:
            entry = self._entries[decision.event] = _CountedEvent(decision.event)
        entry.count += 1
        if decision.time:
            self._see(entry, decision.time)

    def _remember(self, line: bytes, read: ParsedLine) -> None:
        """Remember the line's text after its time, if the layout begins with the time."""
        match = TIME.match(line, 1 if line.startswith(b"[") else 0)
        if (
            match is None
            or (match[4] or b"Z") != b"Z"
            or TIME.search(line, match.end())
            or normal_time(match) != read.time
        ):
            return
        if len(self._by_text) >= _MOST_KNOWN:
            self._by_text.clear()
        if match.end() != self._tail or match.start() != self._start:
            if len(self._by_text) > 1:
                # Another layout in the same log: only the first layout uses the fast path.
                return
            self._by_text.clear()
            self._start, self._tail = match.start(), match.end()
        self._by_text[line[self._tail :]] = self._entries[read.event]


def _day(front: bytes, start: int) -> str:
    """The day at the beginning of a line; empty if it is not valid, or if more than a bracket comes before it."""
    text = front[start:].decode("ascii", "replace")
    try:
        return datetime.date.fromisoformat(text).isoformat() if front[:start] in (b"", b"[") else ""
    except ValueError:
        return ""


# A summary of reading a cluster's logs: how much there was, and what could not be read.


class Summary(NamedTuple):
    """Counts of lines; ``foreign`` lines are about another cluster. ``broken`` says where and why reading a file ended.

    ``days`` are the days with decisions, each with whether something was permitted; ``by_file`` are those of each file,
    whatever cluster they are about.
    """

    lines: int = 0
    other: int = 0
    outside: int = 0
    foreign: int = 0
    lost: tuple[tuple[UnreadableReason, UnreadableLines], ...] = ()
    days: frozenset[tuple[str, bool]] = frozenset()
    by_file: tuple[tuple[str, frozenset[tuple[str, bool]]], ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """How many files were read."""
        return len(self.by_file)

    @property
    def unread(self) -> int:
        """How many lines may contain a decision and could not be read."""
        return sum(lost.lines for _, lost in self.lost)

    @property
    def whole(self) -> bool:
        """Whether everything could be read."""
        return not self.unread and not self.broken

    def __add__(self, other: object) -> "Summary":
        """Both together."""
        if not isinstance(other, Summary):
            return NotImplemented
        by_file = dict(self.by_file)
        for file, days in other.by_file:
            by_file[file] = by_file.get(file, frozenset()) | days
        lost = dict(self.lost)
        for reason, more in other.lost:
            lost[reason] = lost.get(reason, UnreadableLines()) + more
        return Summary(
            self.lines + other.lines,
            self.other + other.other,
            self.outside + other.outside,
            self.foreign + other.foreign,
            tuple(sorted(lost.items())),
            self.days | other.days,
            tuple(sorted(by_file.items())),
            tuple(sorted({*self.broken, *other.broken})),
        )


def summary_of(scan: Scan, file: str, broken: str = "") -> Summary:
    """The summary of one scan of a file; without days, which a scan keeps by cluster."""
    return Summary(
        scan.lines,
        scan.other,
        scan.outside,
        lost=tuple(sorted(scan.lost.items())),
        by_file=((file, frozenset(day for days in scan.days.values() for day in days)),),
        broken=(broken,) if broken else (),
    )


# Lines of log files on this machine, packed or not, or from standard input; without Spark and its libraries.


#: What is read from standard input, as in ``kubectl logs … | reconciler usage --logs -``.
STDIN: Final = "-"
_CHUNK: Final = 4 * 1024 * 1024
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"


def log_files(place: str) -> list[str]:
    """A file, all files below a directory, or those that a pattern names, in order; raises ``FileNotFoundError``."""
    path = Path(place)
    if place == STDIN or path.is_file():
        return [place]
    paths = path.rglob("*") if path.is_dir() else map(Path, glob.iglob(place, recursive=True))
    files = sorted(str(file) for file in paths if file.is_file() and not file.name.startswith("."))
    if not files:
        raise FileNotFoundError(f"there are no files in {place}" if path.is_dir() else f"there is no {place}")
    return files


def line_batches(file: str) -> Iterator[list[bytes]]:
    """The lines, some megabytes at a time, without their line feeds; what is longer than any line may be is cut.

    Raises ``OSError`` where the file cannot be read, or not further; what came before it is good.
    """
    with sys.stdin.buffer if file == STDIN else Path(file).open("rb") as raw:
        stream = raw if file == STDIN else _unpacked(raw)
        try:
            yield from batches(stream.read, _CHUNK)
        except EOFError as error:  # how gzip and bz2 say that a file was cut off
            raise OSError(str(error)) from error


def batches(read: Callable[[int], bytes], size: int) -> Iterator[list[bytes]]:
    """The lines of what ``read`` gives, so many bytes at a time; what is longer than any line may be is cut."""
    rest = b""
    while data := read(size):
        lines = (rest + data).split(b"\n")
        rest = lines.pop()[: MAX_LINE + 1]
        yield lines
    if rest:
        yield [rest]


def _unpacked(raw: IO[bytes]) -> IO[bytes]:
    """The file's content; rotation renames files, so what packed it shows in its first bytes and not in its name."""
    beginning = raw.read(4)
    raw.seek(0)
    if beginning.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    if beginning.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if beginning.startswith(_ZSTANDARD):
        raise OSError(
            "it is compressed with Zstandard: unpack it with `zstd -d` first, or use `reconciler fleet usage`"
        )
    return raw
