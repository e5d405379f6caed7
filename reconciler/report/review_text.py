"""A plan's access review as text: who gains and who loses what, what stands out, what each step does."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Final

from reconciler.access.hosts import ANY_HOST
from reconciler.model import AclOperation, ResourceType
from reconciler.plan import EVERYBODY_ELSE, AccessReview, Consequence, Effect, EffectKind, operations_words
from reconciler.report.paint import Paint, counted, plain, safe
from reconciler.report.words import SINGULAR, binding_words

_LINES_SHOWN: Final = 20
_NAMES_SHOWN: Final = 4
_PERHAPS: Final = "  (perhaps)"
_WHY_PERHAPS: Final = (
    "  perhaps: what is not known about the cluster decides (default-allow, ACLs that cannot be named)"
)


def review_lines(access: AccessReview, paint: Paint = plain, *, expand: bool = False) -> Iterator[str]:
    """A title that counts, a line for each gain and each loss (at most 20 of each unless ``expand``), callouts."""
    rows = access.consequences if expand else _without_idempotence(access.consequences)
    gains, losses = _lines(rows, gained=True), _lines(rows, gained=False)
    yield paint("title", f"Access: {_title(access)}")
    yield from _capped([paint("add", f"  + {line}") for line in gains], expand=expand)
    yield from _capped([paint("remove", f"  - {line}") for line in losses], expand=expand)
    if any(row.reading for row in rows):
        yield paint("dim", _WHY_PERHAPS)
    if access.more_principals:
        more = counted(access.more_principals, "more principal")
        yield paint("dim", f"  {more} with ACLs of their own gain or lose through User:* and are not listed")
    for callout in access.callouts:
        yield paint("warn", f"  ! {safe(callout.text)}") + paint("dim", f"  [{safe(callout.rule)}]")


def _title(access: AccessReview) -> str:
    gaining = {row.principal for row in access.consequences if row.gained}
    losing = {row.principal for row in access.consequences if row.lost}
    verbs = ((gaining, "gain"), (losing, "lose"))
    said = [f"{_who(found)} {verb}{'' if len(found) > 1 else 's'}" for found, verb in verbs if found]
    return ", ".join(said) if said else "nobody gains or loses anything"


def _who(found: Collection[str | None]) -> str:
    """``2 principals``, ``everybody else and 1 principal``."""
    named = len(found) - (None in found)
    parts = [EVERYBODY_ELSE] if None in found else []
    return " and ".join([*parts, counted(named, "principal")] if named else parts)


def _capped(lines: list[str], *, expand: bool) -> Iterator[str]:
    if expand or len(lines) <= _LINES_SHOWN:
        yield from lines
        return
    yield from lines[:_LINES_SHOWN]
    yield f"    {len(lines) - _LINES_SHOWN:,} more lines; --expand shows them"


def _without_idempotence(rows: Sequence[Consequence]) -> list[Consequence]:
    """WRITE on any topic lets an idempotent producer start (KIP-679): no line of its own where WRITE has one."""
    writing = {row.principal for row in rows if AclOperation.WRITE in (*row.gained, *row.lost)}
    alone = ((), (AclOperation.IDEMPOTENT_WRITE,))
    return [row for row in rows if not (row.gained in alone and row.lost in alone and row.principal in writing)]


def _lines(rows: Sequence[Consequence], *, gained: bool) -> list[str]:
    """One for all rows that differ in nothing but the one name that they speak of."""
    moved = [row for row in rows if (row.gained if gained else row.lost)]
    order = partial(_order, gained=gained)
    grouped = groupby(sorted(moved, key=order), order)
    return [line for _, group in grouped for line in _of_group(list(group), gained=gained)]


def _order(row: Consequence, *, gained: bool) -> tuple[object, ...]:
    kind = row.region.resource_type
    operations = operations_words(row.gained if gained else row.lost, kind)
    who = (row.principal is not None, row.principal or "")
    return (*who, kind, not row.region.names.literal, row.hosts, operations, row.reading or "")


def _of_group(rows: Sequence[Consequence], *, gained: bool) -> Iterator[str]:
    first = rows[0]
    operations = operations_words(first.gained if gained else first.lost, first.region.resource_type)
    hosts = "" if first.hosts == str(ANY_HOST) else f" from {first.hosts}"
    doubt = "" if first.reading is None else _PERHAPS
    names = [_names(rows)] if first.region.names.literal else [_region(row) for row in rows]
    for text in names:
        yield safe(f"{first.principal or EVERYBODY_ELSE}: {operations} on {text}{hosts}{doubt}")


def _names(rows: Sequence[Consequence]) -> str:
    """Of rows that each speak of one name."""
    names = [f"`{row.region.names.text}`" for row in rows]
    kind = rows[0].region.resource_type
    if kind is ResourceType.CLUSTER:
        return "the cluster"
    if len(names) == 1:
        return f"{SINGULAR[kind]} {names[0]}"
    if len(names) > _NAMES_SHOWN + 1:
        names = [*names[:_NAMES_SHOWN], f"{len(names) - _NAMES_SHOWN:,} more"]
    return f"{SINGULAR[kind]}s {', '.join(names[:-1])} and {names[-1]}"


def _region(row: Consequence) -> str:
    if not row.topic_count:
        return row.region.describe()
    shown = ", ".join(f"`{name}`" for name in row.topics[:_NAMES_SHOWN])
    more = row.topic_count - min(len(row.topics), _NAMES_SHOWN)
    rest = f" and {more:,} more" if more else ""
    return f"{row.region.describe()} ({counted(row.topic_count, 'topic')} known: {shown}{rest})"


def effect_words(effect: Effect | None) -> str:
    """``grant``; ``redundant: covered by User:a ALLOW ALL on TOPIC PREFIXED x, acls.yaml:3:5``."""
    if effect is None:
        return ""
    if effect.kind is not EffectKind.REDUNDANT or effect.covered_by is None:
        return str(effect.kind).replace("-", " ")
    place = "" if effect.origin is None else f", {effect.origin}"
    return f"redundant: covered by {binding_words(effect.covered_by)}{place}"
