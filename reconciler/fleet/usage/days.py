"""Sets of days, a bit a day: what was seen on which days, for as many accesses as a log has."""

import datetime
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple


class DaySet(NamedTuple):
    """Some days: bit N of ``bits`` is the day ``start`` + N, as ordinals (``datetime.date.toordinal``)."""

    start: int = 0
    bits: int = 0

    def with_day(self, day: int) -> "DaySet":
        """These days and one more."""
        if not self.bits:
            return DaySet(day, 1)
        if day < self.start:
            return DaySet(day, self.bits << (self.start - day) | 1)
        return DaySet(self.start, self.bits | 1 << (day - self.start))

    def __or__(self, other: "DaySet") -> "DaySet":
        """The days of either."""
        if not self.bits or not other.bits:
            return self if self.bits else other
        early, late = sorted((self, other))
        return DaySet(early.start, early.bits | late.bits << (late.start - early.start))

    @property
    def number(self) -> int:
        """How many."""
        return self.bits.bit_count()

    @property
    def first(self) -> datetime.date | None:
        """The first one; ``None`` if there are none."""
        return datetime.date.fromordinal(self.start) if self.bits else None

    @property
    def last(self) -> datetime.date | None:
        """The last one; ``None`` if there are none."""
        return datetime.date.fromordinal(self.start + self.bits.bit_length() - 1) if self.bits else None

    def each(self) -> Iterator[datetime.date]:
        """One after the other."""
        for number in range(self.bits.bit_length()):
            if self.bits >> number & 1:
                yield datetime.date.fromordinal(self.start + number)


NO_DAYS: Final = DaySet()


@lru_cache(maxsize=4_096)
def ordinal(day: str) -> int:
    """``2026-01-31`` as an ordinal."""
    return datetime.date.fromisoformat(day).toordinal()


def days_between(first: datetime.date, last: datetime.date) -> DaySet:
    """Every day from one to the other, both included."""
    return DaySet(first.toordinal(), (1 << (last - first).days + 1) - 1)
