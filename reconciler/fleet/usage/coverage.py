"""Which days the logs of a cluster cover, and what can be concluded from them.

Brokers log a permitted access at DEBUG and a denied one at INFO, and Kafka's default configuration keeps only INFO. So
logs without a permitted access do not show that there was none.
"""

import datetime
from collections.abc import Iterator, Set
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.fleet.usage.clock import Window

#: How many days without a permitted access are listed.
SHOWN_DAYS: Final = 10

NOTHING_READ: Final = "no decision is in the logs of this time"
NOTHING_ALLOWED: Final = (
    "the logs contain no permitted access: brokers log them only if kafka.authorizer.logger is at DEBUG"
)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The days that the logs cover, inclusive; the ``silent`` ones have no permitted access.

    ``first`` and ``last`` are empty if no decision has a time.
    """

    first: str = ""
    last: str = ""
    days: int = 0
    silent: int = 0
    silent_days: tuple[str, ...] = ()


def coverage(window: Window, days: Set[tuple[str, bool]]) -> Coverage:
    """What the days with decisions (a day, and whether they permitted something) cover of a window."""
    seen = sorted({day for day, _ in days})
    # Without a window the days of the first and the last decision limit what the logs can show.
    first = window.since.isoformat() if window.since else seen[0] if seen else ""
    last = window.until.isoformat() if window.until else seen[-1] if seen else ""
    if not first or not last or first > last:
        return Coverage(first, last)
    allowed = {day for day, permitted in days if permitted and first <= day <= last}
    start, end = datetime.date.fromisoformat(first), datetime.date.fromisoformat(last)
    count = (end - start).days + 1
    named = [day for day, _ in zip(_without(start, end, allowed), range(SHOWN_DAYS), strict=False)]
    return Coverage(first, last, count, count - len(allowed), tuple(named))


def _without(start: datetime.date, end: datetime.date, days: Set[str]) -> Iterator[str]:
    for number in range((end - start).days + 1):
        day = (start + datetime.timedelta(number)).isoformat()
        if day not in days:
            yield day
