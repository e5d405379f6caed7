"""How much has to be seen before the absence of use says anything; less than that, and nothing is proposed."""

import datetime
import re
from collections.abc import Iterator
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.fleet.tighten.evidence import Period
from reconciler.fleet.usage import Summary
from reconciler.fleet.usage.days import days_between

_DAY: Final = datetime.timedelta(days=1)
#: So many days are named.
_NAMED: Final = 5
_DIGITS: Final = re.compile(r"\d+")
#: ``.gz``, ``.1``, ``.2026-11-20-10``, ``-20261120.log``, ``/2026/11/20/``, ``/day=20/``, and a packed part's number.
_ROTATED: Final = re.compile(
    r"\.(?:gz|bz2|zst|\d{1,4})$|[._-]?\d{4}([-_.]?)\d{2}\1\d{2}(?:[-_.T]?\d{2}){0,3}(?:[-_.]\d{1,6})?(?=[./]|$)"
    r"|(?<=/)\d{4}/\d\d/\d\d/(?:\d\d/)?|(?<=/)\w+=\d[\d-]*/|(?<=/)\d+$"
)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The bounds; all but ``names`` and ``hosts`` count days, quarter ends or lines.

    ``days``: length of the window; 92 hold every date of every quarter. ``silent_days``: at most so many days without a
    permitted access. ``quarter_ends``: so many ends of a quarter inside. ``stale_days``: the window ended at most so
    long ago. ``principal_days``: a principal was seen on so many days. ``unseen_days``: length of the window from which
    on a principal that was never seen may lose rights. ``unread``: at most so many lines that could not be read.
    ``names``: a prefix with more names keeps being one. ``hosts``: narrow hosts too, to at most so many; 0 never does.
    """

    days: int = 92
    silent_days: int = 2
    quarter_ends: int = 1
    stale_days: int = 7
    principal_days: int = 10
    unseen_days: int = 365
    unread: int = 0
    names: int = 10
    hosts: int = 0


def thin_evidence(period: Period, summary: Summary, bounds: Thresholds, day: datetime.date) -> Iterator[str]:
    """Why nothing can be concluded from these logs on that day; nothing where they are enough."""
    if summary.broken:
        yield f"a log could not be read to its end: {'; '.join(summary.broken)}"
    if summary.unread > bounds.unread:
        yield f"{summary.unread:,} lines could not be read, and each may show a use (at most {bounds.unread:,})"
    if period.first is None or period.last is None or not period.heard.number:
        yield "the logs contain no permitted access: brokers log them only if kafka.authorizer.logger is at DEBUG"
        return
    yield from _some(list(thin_logs(summary, bounds.silent_days)))
    if period.days < bounds.days:
        yield f"the logs cover {_days(period.days)} (at least {bounds.days:,})"
    silent = sorted(set(days_between(period.first, period.last).each()).difference(period.heard.each()))
    if len(silent) > bounds.silent_days:
        more = ", …" if len(silent) > _NAMED else ""
        named = ", ".join(map(str, silent[:_NAMED])) + more
        yield f"no permitted access on {_days(len(silent))} (at most {bounds.silent_days:,}): {named}"
    ends = sum(1 for _ in _quarter_ends(period))
    if ends < bounds.quarter_ends:
        yield f"quarter ends inside, each with the day after: {ends} (at least {bounds.quarter_ends})"
    if (day - period.last).days > bounds.stale_days:
        yield f"the logs end on {period.last}, {_days((day - period.last).days)} ago (at most {bounds.stale_days:,})"


def thin_logs(summary: Summary, silent_days: int) -> Iterator[str]:
    """Which logs show too little of their broker, whatever the others show: a broker logs its own requests only."""
    series: dict[str, set[tuple[str, bool]]] = {}
    for file, found in summary.by_file:
        series.setdefault(log_series(file), set()).update(found)
    heard = {
        _DIGITS.sub("0", name.rpartition("/")[2])
        for name, found in series.items()
        if any(permitted for _, permitted in found)
    }
    for name, days_of in sorted(series.items()):
        permitted = {datetime.date.fromisoformat(day).toordinal() for day, yes in days_of if yes}
        days = [datetime.date.fromisoformat(day).toordinal() for day, _ in days_of]
        if not days and _DIGITS.sub("0", name.rpartition("/")[2]) in heard:
            yield f"{name} has no decision in this time, unlike other logs of that name"
        elif days and not permitted:
            yield f"{name} has refusals and no permitted access: its broker does not log them"
        elif days and (silent := max(days) - min(days) + 1 - len(permitted)) > silent_days:
            yield f"{name} has no permitted access on {_days(silent)} of its own (at most {silent_days:,})"


def log_series(file: str) -> str:
    """The name of a log without what rotation and packing add, so that the files of one log have one name."""
    previous = ""
    while file != previous:
        previous, file = file, _ROTATED.sub("", file)
    return file


def _some(texts: list[str]) -> Iterator[str]:
    yield from texts[:_NAMED]
    if len(texts) > _NAMED:
        yield f"and {len(texts) - _NAMED:,} more logs"


def _days(number: int) -> str:
    return "1 day" if number == 1 else f"{number:,} days"


def _quarter_ends(period: Period) -> Iterator[datetime.date]:
    """The last days of quarters that the logs show, each with the day after it: such jobs run on either."""
    heard = set(period.heard.each())
    for day in sorted(heard):
        if day.month % 3 == 0 and (day + _DAY).day == 1 and day + _DAY in heard:
            yield day
