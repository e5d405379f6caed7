"""Gained and lost access as lines, built once for all formats; nothing here is escaped."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from operator import itemgetter
from typing import Final

from reconciler.access.hosts import ANY_HOST
from reconciler.dataclass import dataclass
from reconciler.model.acl import ANONYMOUS, AclOperation, ResourceType
from reconciler.model.characters import as_name, counted, ticked
from reconciler.model.topic import INTERNAL_TOPICS
from reconciler.plan.review.access_change import (
    EVERYBODY_ELSE,
    AccessChange,
    DataOwners,
    ending_words,
    operations_words,
)
from reconciler.plan.review.callouts import MILD, while_super_user
from reconciler.policy.owners import Agreement

_TOPICS_NAMED: Final = 4
_TEAMS_NAMED: Final = 3
#: Lines that a terminal shows, and the names of each, unless somebody asks for all.
LINES_SHOWN: Final = 40
#: So many principals fit a page of the report in a browser.
PRINCIPALS_SHOWN: Final = 25
NAMES_SHOWN: Final = 4
#: Characters of lines that fit a comment, however much else is in it.
_ROOM: Final = 4_000
#: On the cluster: to change every ACL, to reconfigure brokers, and to read every topic as one of them does.
_OVER_ALL: Final = frozenset({AclOperation.ALTER, AclOperation.ALTER_CONFIGS, AclOperation.CLUSTER_ACTION})
#: See :func:`gravity`.
MOST_HARMLESS: Final = 9


@dataclass(frozen=True, slots=True)
class AccessLine:
    """What somebody gains (``+``) or loses (``-``), on which names.

    ``name`` is ``who`` as it stands in a sentence. ``hosts`` is empty where it is from any. ``topics`` says which
    topics that exist are among the names. It is not ``certain`` where what nobody established about the cluster
    decides. ``note`` says when, if it is later, what a super user's gain is worth, and whose the names are. The
    line is about ``rows`` rows; ``unnamed`` of them are not named.
    """

    sign: str
    who: str
    name: str
    operations: str
    names: str
    hosts: str
    topics: str
    certain: bool
    note: str = ""
    rows: int = 1
    unnamed: int = 0


def access_lines(
    rows: Iterable[AccessChange],
    *,
    expand: bool = False,
    most_names: int | None = None,
    gravest_first: bool = False,
) -> Iterator[AccessLine]:
    """Everybody else first, then by principal; of each what is gained, then what is lost.

    Rows that differ in nothing but the one name that they are about share a line, unless ``expand``; of its names
    ``most_names`` are shown, or all. ``gravest_first`` is for formats that leave lines out: whatever is harmless comes
    last, so that no number of harmless lines hides one that is not.
    """
    sides = chain.from_iterable(((row, "+"), (row, "-")) for row in rows)
    moved = _certain((row, sign) for row, sign in sides if _operations(row, sign))
    order = _gravest_first if gravest_first else _order
    placed = sorted(((order(item), item) for item in moved), key=itemgetter(0))
    for _, group in groupby(placed, itemgetter(0)):
        same = [item for _, item in group]
        first, sign = same[0]
        changes = sorted((row for row, _ in same), key=_harmless)
        for some in [changes] if first.resources.names.literal and not expand else [[row] for row in changes]:
            yield _line(some, sign, most_names)


def ordered_lines(
    rows: Sequence[AccessChange], *, expand: bool = False, most_names: int | None = None
) -> list[AccessLine]:
    """The lines in the order that text, Markdown and the page have in common.

    By principal where all fit a screen or a comment, or with ``expand``; else the gravest first.
    """
    # Building lines of ten thousand rows to find that they do not fit takes as long as planning them.
    if not expand and _is_crowd(rows):
        return list(access_lines(rows, most_names=most_names, gravest_first=True))
    lines = list(access_lines(rows, expand=expand, most_names=most_names))
    if expand or _fit(lines):
        return lines
    shortened = lines if most_names is not None else list(access_lines(rows, most_names=NAMES_SHOWN))
    return lines if _fit(shortened) else list(access_lines(rows, most_names=most_names, gravest_first=True))


def _is_crowd(rows: Sequence[AccessChange]) -> bool:
    # A page in a browser shows so many principals at a time: the grave one must not be on the next.
    return len({row.principal or EVERYBODY_ELSE for row in rows if row.gained or row.lost}) > PRINCIPALS_SHOWN


def _fit(lines: Sequence[AccessLine]) -> bool:
    return len(lines) <= LINES_SHOWN and sum(len(f"{line.who}{line.names}{line.topics}") for line in lines) <= _ROOM


def rows_shown(shown: int, rows: int) -> str:
    """What a report says first that does not show every row of access."""
    return f"{shown:,} of {rows:,} rows of access shown"


def _gravest_first(item: tuple[AccessChange, str]) -> tuple[object, ...]:
    return (gravity(*item), *_order(item))


def gravity(row: AccessChange, sign: str) -> int:
    """How harmless a side of a row is, from 0 to ``MOST_HARMLESS``.

    The gravest first: the rights to change every ACL, to act as a broker and to log in as somebody else; everybody,
    all names, internal topics, what exists, what may come to be.
    """
    operations, kind = set(_operations(row, sign)), row.resources.resource_type
    mild = operations <= MILD
    if sign == "-":
        return 6 if row.principal is None or row.topic_count else 8
    if kind is ResourceType.CLUSTER and operations & _OVER_ALL:
        return 0
    if kind is ResourceType.USER and AclOperation.CREATE_TOKENS in operations:
        return 0
    if row.principal in (None, ANONYMOUS):
        return 1
    if mild:
        return MOST_HARMLESS
    if not row.resources.names.text:
        return 2
    if kind is ResourceType.TOPIC and any(row.resources.contains(name) for name in INTERNAL_TOPICS):
        return 3
    if kind is ResourceType.CLUSTER:
        return 7 if operations == {AclOperation.IDEMPOTENT_WRITE} else 4
    return 5 if row.topic_count else 7


def _harmless(row: AccessChange) -> bool:
    """Whether no topic exists yet that a row is about: of the names on one line, the others are shown first."""
    return not row.topic_count


def _operations(row: AccessChange, sign: str) -> tuple[AclOperation, ...]:
    return row.gained if sign == "+" else row.lost


def _certain(sides: Iterable[tuple[AccessChange, str]]) -> list[tuple[AccessChange, str]]:
    """The sides of rows, one of both readings once: rows differ as a whole where only their other sides do."""
    merged: dict[tuple[object, ...], tuple[AccessChange, str]] = {}
    for row, sign in sides:
        key = (
            row.principal,
            row.hosts,
            row.resources,
            _operations(row, sign),
            sign,
            row.reading == "perhaps",
            row.since,
        )
        other = merged.get(key)
        either_way = other is not None and {other[0].reading, row.reading} == {"least", "most"}
        merged[key] = (replace(row, reading=None) if either_way else row, sign)
    return list(merged.values())


def _order(item: tuple[AccessChange, str]) -> tuple[object, ...]:
    row, sign = item
    kind = row.resources.resource_type
    operations = operations_words(_operations(row, sign), kind)
    who = (row.principal is not None, row.principal or "")
    owners = row.owners if row.owners and _tells(row.owners, sign) else DataOwners(())
    agreement = owners.agreement if sign == "+" else None
    also = (row.reading or "", row.since or (), owners.teams, agreement or "")
    return (*who, sign, kind, not row.resources.names.literal, row.hosts, operations, *also)


def _line(rows: Sequence[AccessChange], sign: str, most_names: int | None) -> AccessLine:
    first = rows[0]
    return AccessLine(
        sign,
        first.principal or EVERYBODY_ELSE,
        EVERYBODY_ELSE if first.principal is None else as_name(first.principal),
        operations_words(_operations(first, sign), first.resources.resource_type),
        _names(rows, most_names) if first.resources.names.literal else first.resources.describe(),
        "" if first.hosts == str(ANY_HOST) else first.hosts,
        "" if first.resources.names.literal else _topics(first),
        first.reading is None,
        "; ".join(_notes(first, sign)),
        len(rows),
        _unnamed(rows, most_names),
    )


def _notes(row: AccessChange, sign: str) -> Iterator[str]:
    if row.since is not None:
        yield ending_words(row.since)
    if row.super_user and sign == "+":
        yield while_super_user(row.super_user)
    if row.owners is not None and _tells(row.owners, sign):
        yield owners_words(row.owners if sign == "+" else DataOwners(row.owners.teams))


def _tells(owners: DataOwners, sign: str) -> bool:
    """That nobody owns a name matters to a gain, of which nobody was asked."""
    return sign == "+" or bool(owners.teams)


def owners_words(owners: DataOwners) -> str:
    """``data of pay, which has not consented``."""
    if not owners.teams:
        return "no team owns it"
    named, more = owners.teams[:_TEAMS_NAMED], len(owners.teams) - _TEAMS_NAMED
    teams = f"{', '.join(map(as_name, named))}{f' and {more:,} more' if more > 0 else ''}"
    singular = len(owners.teams) == 1
    answers = {
        Agreement.MISSING: f", which {'has' if singular else 'have'} not consented",
        Agreement.GIVEN: f", which {'consents' if singular else 'consent'}",
    }
    return f"data of {teams}{'' if owners.agreement is None else answers.get(owners.agreement, '')}"


def _unnamed(rows: Sequence[AccessChange], most: int | None) -> int:
    cut = rows[0].resources.resource_type is not ResourceType.CLUSTER and most is not None and len(rows) > most + 1
    return len(rows) - most if cut and most is not None else 0


def _names(rows: Sequence[AccessChange], most: int | None) -> str:
    """``topics `a`, `b` and 3 more`` of rows that are about one name each."""
    kind = rows[0].resources.resource_type
    if kind is ResourceType.CLUSTER:
        return "the cluster"
    names = [ticked(row.resources.names.text) for row in rows]
    if len(names) == 1:
        return f"{kind.noun} {names[0]}"
    if unnamed := _unnamed(rows, most):
        names = [*names[:most], f"{unnamed:,} more"]
    return f"{kind.noun}s {', '.join(names[:-1])} and {names[-1]}"


def _topics(row: AccessChange) -> str:
    if not row.topic_count:
        return ""
    named = ", ".join(map(as_name, row.topics[:_TOPICS_NAMED]))
    more = row.topic_count - min(len(row.topics), _TOPICS_NAMED)
    return f"{counted(row.topic_count, 'topic')} known: {named}" + (f" and {more:,} more" if more else "")
