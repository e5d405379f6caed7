"""Counts with the first and the last day; they can be added in any order, over files and workers."""

from typing import NamedTuple

from reconciler.fleet.usage.days import NO_DAYS, DaySet

#: Examples kept for each reason.
EXAMPLES = 3


class EventCount(NamedTuple):
    """How often, and between which days (empty if unknown)."""

    times: int = 0
    first: str = ""
    last: str = ""

    def __add__(self, other: object) -> "EventCount":
        """Both together."""
        if not isinstance(other, EventCount):
            return NotImplemented
        first = min(self.first, other.first) if self.first and other.first else self.first or other.first
        return EventCount(self.times + other.times, first, max(self.last, other.last))


class DatedCount(NamedTuple):
    """How often, and on which days."""

    tally: EventCount = EventCount()
    days: DaySet = NO_DAYS

    @property
    def times(self) -> int:
        """How often."""
        return self.tally.times

    def __add__(self, other: object) -> "DatedCount":
        """Both together."""
        if not isinstance(other, DatedCount):
            return NotImplemented
        return DatedCount(self.tally + other.tally, self.days | other.days)


class UnreadableLines(NamedTuple):
    """Lines that could not be read for one reason, with the first few as redacted examples."""

    lines: int = 0
    examples: tuple[str, ...] = ()

    def __add__(self, other: object) -> "UnreadableLines":
        """Both together."""
        if not isinstance(other, UnreadableLines):
            return NotImplemented
        return UnreadableLines(self.lines + other.lines, tuple(sorted({*self.examples, *other.examples})[:EXAMPLES]))
