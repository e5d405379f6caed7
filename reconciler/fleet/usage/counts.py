"""Counts of equal things, with the first and the last day; they add up in any order, over files and workers."""

from typing import NamedTuple

#: So many examples are kept of each reason.
EXAMPLES = 3


class EventCount(NamedTuple):
    """How often, and between which days (empty where nothing says when)."""

    times: int = 0
    first: str = ""
    last: str = ""

    def __add__(self, other: object) -> "EventCount":
        """Both together."""
        if not isinstance(other, EventCount):
            return NotImplemented
        first = min(self.first, other.first) if self.first and other.first else self.first or other.first
        return EventCount(self.times + other.times, first, max(self.last, other.last))


class UnreadableLines(NamedTuple):
    """Lines that could not be read for one reason, with the first few of them as they may be shown."""

    lines: int = 0
    examples: tuple[str, ...] = ()

    def __add__(self, other: object) -> "UnreadableLines":
        """Both together."""
        if not isinstance(other, UnreadableLines):
            return NotImplemented
        return UnreadableLines(self.lines + other.lines, tuple(sorted({*self.examples, *other.examples})[:EXAMPLES]))
