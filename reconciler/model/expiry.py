"""When something that is declared ends, and whether that is over."""

import datetime
import re
from typing import Final

from reconciler.dataclass import dataclass

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
#: RFC 3339, with whole seconds and an offset: a time without one is a different instant wherever it is read.
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)
_ONE_DAY: Final = datetime.timedelta(days=1)
_LAST: Final = datetime.datetime.max.replace(tzinfo=datetime.UTC)


def read_moment(text: str) -> datetime.date:
    """A day as ``YYYY-MM-DD``, or an instant as ``YYYY-MM-DDThh:mm:ssZ`` or with an offset, as one in UTC.

    Raises ``ValueError``.
    """
    if _DAY.fullmatch(text):
        return datetime.date.fromisoformat(text)
    if _INSTANT.fullmatch(text) is None:
        raise ValueError(f"neither a day nor an instant: {text}")
    try:
        return datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)
    except OverflowError:
        raise ValueError(f"out of range: {text}") from None


def moment_text(moment: datetime.date) -> str:
    """``2027-01-31`` for a day, ``2027-01-31T18:00:00Z`` for an instant."""
    if isinstance(moment, datetime.datetime):
        return moment.astimezone(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return moment.isoformat()


def instant_of(moment: datetime.date) -> datetime.datetime:
    """The instant itself, or the first one of a day in UTC."""
    if isinstance(moment, datetime.datetime):
        return moment
    return datetime.datetime.combine(moment, datetime.time(), datetime.UTC)


@dataclass(frozen=True, slots=True)
class Expiry:
    """Until when something is wanted: through the day ``until`` in UTC, or before the instant ``until``.

    An instant has an offset; two texts of one instant are equal.
    """

    until: datetime.date

    @classmethod
    def of(cls, text: str) -> "Expiry":
        """From a text as :func:`read_moment` takes it; raises ``ValueError``."""
        return cls(read_moment(text))

    @property
    def end(self) -> datetime.datetime:
        """The first instant at which it is over."""
        if isinstance(self.until, datetime.datetime):
            return self.until
        return _LAST if self.until == datetime.date.max else instant_of(self.until + _ONE_DAY)

    def over(self, as_of: datetime.date) -> bool:
        """Whether it is over at an instant, or when a day begins."""
        return self.end <= instant_of(as_of)

    @property
    def past(self) -> str:
        """``after 2027-01-31``, ``at 2027-01-31T18:00:00Z``: when it ended."""
        return f"{'at' if isinstance(self.until, datetime.datetime) else 'after'} {self}"

    def __str__(self) -> str:
        """As manifests write it, in UTC."""
        return moment_text(self.until)
