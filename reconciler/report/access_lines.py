"""Gained and lost access as lines, built once for all formats; nothing here is escaped."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Final

from reconciler.access.hosts import ANY_HOST
from reconciler.model import ResourceType
from reconciler.plan import EVERYBODY_ELSE, AccessChange, operations_words
from reconciler.report.style import counted

_TOPICS_NAMED: Final = 4


@dataclass(frozen=True, slots=True)
class AccessLine:
    """What somebody gains (``+``) or loses (``-``), on which names.

    ``hosts`` is empty where it is from any. ``topics`` says which topics that exist are among the names. It is not
    ``certain`` where what nobody declared about the cluster decides.
    """

    sign: str
    who: str
    operations: str
    names: str
    hosts: str
    topics: str
    certain: bool


def access_lines(
    rows: Iterable[AccessChange], *, expand: bool = False, most_names: int | None = None
) -> Iterator[AccessLine]:
    """Everybody else first, then by principal; of each what is gained, then what is lost.

    Rows that differ in nothing but the one name that they are about share a line, unless ``expand``; of its names
    ``most_names`` are shown, or all.
    """
    sides = chain.from_iterable(((row, "+"), (row, "-")) for row in rows)
    moved = [(row, sign) for row, sign in sides if (row.gained if sign == "+" else row.lost)]
    for _, group in groupby(sorted(moved, key=_order), _order):
        same = list(group)
        first, sign = same[0]
        found = [row for row, _ in same]
        for some in [found] if first.region.names.literal and not expand else [[row] for row in found]:
            yield _line(some, sign, most_names)


def _order(item: tuple[AccessChange, str]) -> tuple[object, ...]:
    row, sign = item
    kind = row.region.resource_type
    operations = operations_words(row.gained if sign == "+" else row.lost, kind)
    who = (row.principal is not None, row.principal or "")
    return (*who, sign, kind, not row.region.names.literal, row.hosts, operations, row.reading or "")


def _line(rows: Sequence[AccessChange], sign: str, most_names: int | None) -> AccessLine:
    first = rows[0]
    return AccessLine(
        sign,
        first.principal or EVERYBODY_ELSE,
        operations_words(first.gained if sign == "+" else first.lost, first.region.resource_type),
        _names(rows, most_names) if first.region.names.literal else first.region.describe(),
        "" if first.hosts == str(ANY_HOST) else first.hosts,
        "" if first.region.names.literal else _topics(first),
        first.reading is None,
    )


def _names(rows: Sequence[AccessChange], most: int | None) -> str:
    """``topics `a`, `b` and 3 more`` of rows that are about one name each."""
    kind = rows[0].region.resource_type
    if kind is ResourceType.CLUSTER:
        return "the cluster"
    names = [f"`{row.region.names.text}`" for row in rows]
    if len(names) == 1:
        return f"{kind.noun} {names[0]}"
    if most is not None and len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most:,} more"]
    return f"{kind.noun}s {', '.join(names[:-1])} and {names[-1]}"


def _topics(row: AccessChange) -> str:
    if not row.topic_count:
        return ""
    named = ", ".join(row.topics[:_TOPICS_NAMED])
    more = row.topic_count - min(len(row.topics), _TOPICS_NAMED)
    return f"{counted(row.topic_count, 'topic')} known: {named}" + (f" and {more:,} more" if more else "")
