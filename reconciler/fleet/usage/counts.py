"""Counts with the first and the last day; they can be added in any order, over files and workers."""

from typing import NamedTuple

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


class UnreadableLines(NamedTuple):
    """Lines that could not be read for one reason, with the first few as redacted examples."""

    lines: int = 0
    examples: tuple[str, ...] = ()

    def __add__(self, other: object) -> "UnreadableLines":
        """Both together."""
        if not isinstance(other, UnreadableLines):
            return NotImplemented
        return UnreadableLines(self.lines + other.lines, tuple(sorted({*self.examples, *other.examples})[:EXAMPLES]))
