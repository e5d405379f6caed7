"""Lines to counted decisions, as fast as they come.

Logs say the same thing over and over: what stands behind the time of a line is looked up as bytes, and only what is
new is parsed. So most lines cost a slice and a look into a table.
"""

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

from reconciler.fleet.usage.clock import TIME, Window, normal_time
from reconciler.fleet.usage.counts import EXAMPLES, EventCount, UnreadableLines
from reconciler.fleet.usage.event import Event, ParsedLine, UnreadableReason
from reconciler.fleet.usage.example import example
from reconciler.fleet.usage.line import OPENING_BYTES, is_second_half, parse_line

#: A longer line is no decision that a broker wrote.
MAX_LINE: Final = 256 * 1024
#: So many different lines are remembered at most.
_MOST_KNOWN: Final = 100_000
#: A message that a name breaks into lines ends within so many.
_BROKEN_LINES: Final = 200
#: ``2026-01-31``.
_DAY_WIDTH: Final = 10


class _CountedEvent:
    """One decision and its count so far."""

    __slots__ = ("count", "event", "first", "last")

    def __init__(self, event: Event) -> None:
        self.event, self.count, self.first, self.last = event, 0, "", ""


class Scan:
    """What the lines of one log, or of a part of it, say within a window."""

    __slots__ = ("_behind", "_entries", "_known", "_start", "_window", "days", "lines", "lost", "other", "outside")

    def __init__(self, window: Window) -> None:
        """Nothing is read yet. ``other`` lines tell of no decision, those ``outside`` are of other days.

        ``days`` are those with decisions, each with whether something was permitted, by the id of the cluster.
        """
        self._window = window
        self._entries: dict[Event, _CountedEvent] = {}
        self._known: dict[bytes, _CountedEvent] = {}
        self._start, self._behind = 0, 0
        self.lines = self.other = self.outside = 0
        self.lost: dict[UnreadableReason, UnreadableLines] = {}
        self.days: dict[str, set[tuple[str, bool]]] = {}

    @property
    def size(self) -> int:
        """How many different decisions it holds."""
        return len(self._entries)

    def take(self, lines: Sequence[bytes]) -> None:
        """Count lines, without their line feeds."""
        self.lines += len(lines)
        if self._count_known(lines):
            return
        place = 0
        while place < len(lines):
            place = self._run(lines, place)

    def drain(self) -> Iterator[tuple[Event, EventCount]]:
        """Every decision with its count; the scan then holds none."""
        entries, self._entries, self._known = self._entries, {}, {}
        for event, entry in entries.items():
            if entry.count:
                yield event, EventCount(entry.count, entry.first, entry.last)

    def lose(self, reason: UnreadableReason, line: bytes) -> None:
        """Count a line that cannot be read."""
        kept = self.lost.get(reason, UnreadableLines())
        shown = (example(line),) if len(kept.examples) < EXAMPLES else ()
        self.lost[reason] = kept + UnreadableLines(1, shown)

    def _count_known(self, lines: Sequence[bytes]) -> bool:
        """Count lines at once if every one is known and of a day that is one; else none of them."""
        if not self._behind:
            return False
        start, until = self._start, self._start + _DAY_WIDTH
        counts = Counter(map(itemgetter(slice(0, until), slice(self._behind, None)), lines))
        known = self._known
        if not all(rest in known for _, rest in counts):
            return False
        days = {front: _day(front, start) for front in {front for front, _ in counts}}
        if "" in days.values():
            return False
        for (front, rest), times in counts.items():
            day = days[front]
            if self._window.contains(day):
                entry = known[rest]
                entry.count += times
                if day != entry.last:
                    self._see(entry, day)
            else:
                self.outside += times
        return True

    def _run(self, lines: Sequence[bytes], place: int) -> int:
        """Count from a place on, up to the end or to where a broken message ends; the next place."""
        known, start, behind = self._known, self._start, self._behind
        until = start + _DAY_WIDTH
        stamp, time, counts = b"\n", "", False
        for number in range(place, len(lines)):
            line = lines[number]
            entry = known.get(line[behind:]) if behind else None
            if entry is None:
                following = self._learn(lines, number)
                if following != number + 1 or self._behind != behind:
                    return following
                continue
            if line[:until] != stamp:
                stamp = line[:until]
                found = TIME.match(line, start)
                time = normal_time(found) if found else ""
                counts = bool(time) and self._window.contains(time)
            if counts:
                entry.count += 1
                if time != entry.last:
                    self._see(entry, time)
            elif time:
                self.outside += 1
            else:
                self._place(line)
        return len(lines)

    def _see(self, entry: _CountedEvent, time: str) -> None:
        """Widen the days of a decision."""
        if not entry.event.asked_only:
            self.days.setdefault(entry.event.cluster_id, set()).add((time, entry.event.allowed))
        entry.first = min(entry.first, time) if entry.first else time
        entry.last = max(entry.last, time)

    def _learn(self, lines: Sequence[bytes], number: int) -> int:
        """Read a line that is not known yet; the number of the next one to look at."""
        line = lines[number]
        if len(line) > MAX_LINE:
            self.lose(UnreadableReason.TOO_LONG, line)
            return number + 1
        event = self._place(line)
        if event is UnreadableReason.CUT and OPENING_BYTES in line:
            return self._skip_broken(lines, number + 1)
        if isinstance(event, Event):
            self._remember(line, event)
        return number + 1

    def _skip_broken(self, lines: Sequence[bytes], number: int) -> int:
        """Behind the broken message that begins before ``number``, if its end is found.

        Brokers write names as they are. One with line breaks in it could make whole lines of its own, in which anybody
        may be said to have done anything: what stands between the two halves of a message is believed by nobody.
        """
        for end in range(number, min(number + _BROKEN_LINES, len(lines))):
            if is_second_half(lines[end]):
                for inside in lines[number : end + 1]:
                    self.lose(UnreadableReason.CUT, inside)
                return end + 1
        return number

    def _place(self, line: bytes) -> Event | UnreadableReason | None:
        """Parse a line and count it where it belongs; the decision, if it counts."""
        found = parse_line(line)
        if found is None:
            self.other += 1
            return None
        if isinstance(found, UnreadableReason):
            self.lose(found, line)
            return found
        if not self._window.contains(found.time):
            if found.time:
                self.outside += 1
            else:
                self.lose(UnreadableReason.NO_TIME, line)
            return None
        self._count(found)
        return found.event

    def _count(self, found: ParsedLine) -> None:
        entry = self._entries.get(found.event)
        if entry is None:
            entry = self._entries[found.event] = _CountedEvent(found.event)
        entry.count += 1
        if found.time:
            self._see(entry, found.time)

    def _remember(self, line: bytes, event: Event) -> None:
        """Know the line's text behind its time from now on, where the layout has the time in front."""
        found = TIME.match(line, 1 if line.startswith(b"[") else 0)
        if found is None or (found[4] or b"Z") != b"Z" or TIME.search(line, found.end(), line.find(OPENING_BYTES)):
            return
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        if found.end() != self._behind or found.start() != self._start:
            if len(self._known) > 1:
                # Another layout in the same log: the one that was there first stays the quick one.
                return
            self._known.clear()
            self._start, self._behind = found.start(), found.end()
        self._known[line[self._behind :]] = self._entries[event]


def _day(front: bytes, start: int) -> str:
    """The day at the end of a line's beginning; empty if it is none, or if more than a bracket stands before it."""
    text = front[start:].decode("ascii", "replace")
    try:
        return datetime.date.fromisoformat(text).isoformat() if front[:start] in (b"", b"[") else ""
    except ValueError:
        return ""
