"""Times in logs, and the requested window.

Times are kept as days, ``YYYY-MM-DD``, which sort by time. A time with a zone is converted to UTC; one without a zone
is taken as is: ``%d`` of log4j prints the broker's local time.
"""

import datetime
import re
from typing import Final

from reconciler.dataclass import dataclass

#: A time in a line, with an optional fraction and zone.
TIME: Final = re.compile(
    rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,:](\d{1,9}))?(Z|[+-]\d\d:?\d\d(?!\d))?(?![\d:])", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Window:
    """Whole days, both inclusive; ``None`` is no limit."""

    since: datetime.date | None = None
    until: datetime.date | None = None

    @property
    def limited(self) -> bool:
        """Whether the window has a limit, so that an event without a time cannot be placed."""
        return self.since is not None or self.until is not None

    def contains(self, time: str) -> bool:
        """Whether a day is in the window; an empty text only if the window has no limit."""
        if not time:
            return not self.limited
        return (self.since is None or time >= self.since.isoformat()) and (
            self.until is None or time <= self.until.isoformat()
        )


def normal_time(found: re.Match[bytes]) -> str:
    """A match of :data:`TIME` as a day; empty if it is not a valid time."""
    text = f"{found[1].decode()} {found[2].decode()}"
    zone = (found[4] or b"").decode()
    try:
        moment = datetime.datetime.fromisoformat(text)
        if zone and zone != "Z":
            moment = datetime.datetime.fromisoformat(f"{text}{zone[:3]}:{zone[-2:]}").astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return ""
    return moment.strftime("%Y-%m-%d")


def time_of(text: str) -> str:
    """The first time in a text, or an empty text."""
    found = TIME.search(text.encode("utf-8", "replace"))
    return normal_time(found) if found else ""


def time_at(seconds: float) -> str:
    """Seconds since 1970 as a day; empty if it is not a valid time."""
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return ""
