"""Break-glass access: bindings that an operator created at once, and the marks that say when each of them ends.

The end is kept on the cluster, in a binding on a reserved name next to the access itself: every server and every drift
report sees it, and nobody writes it who could not write the access. A manifest neither sets nor moves it.

Whoever may alter ACLs can write a mark. So one counts only if it is exactly what this tool writes, for an ALLOW, and
ends within the longest time that there is: a forged one holds back what a plan would delete for that time, and never
unseen, for every plan and report lists it. What a mark may end is for a server to say, which has seen it or a record.

Not to believe a mark is not to remove it. It outlives the access, and every request that may still give it.
"""

import datetime
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from reconciler.model.acl import WILDCARD, AccessControlEntry, AclBinding, ResourcePattern
from reconciler.model.bridge import NOBODY
from reconciler.model.enums import AclOperation, AclPermissionType, PatternType, ResourceType
from reconciler.model.expiry import instant_of
from reconciler.model.scope import is_reserved

#: The longest time from now at which break-glass access may end.
LONGEST: Final = datetime.timedelta(hours=24)
#: How long a mark stays after its end: longer than a request may be on its way, or a run stand still before it sends.
#: What arrives by then has an end, which is over.
KEPT: Final = LONGEST
#: By so much the clocks of two machines may differ.
_GRACE: Final = datetime.timedelta(minutes=1)
_EARLIEST: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC) + KEPT
_MARK: Final = AccessControlEntry(NOBODY, WILDCARD, AclOperation.DESCRIBE, AclPermissionType.ALLOW)
_STAMP: Final = "%Y%m%dT%H%M%SZ"
_NAME: Final = re.compile(r"__kr\.break-glass\.([0-9]{8}T[0-9]{6}Z)((?:\.[^.]+){6})", re.ASCII)


class BreakGlass(NamedTuple):
    """A mark read back: the access, and the instant at which it is over."""

    binding: AclBinding
    end: datetime.datetime
    mark: AclBinding


def break_glass_mark(binding: AclBinding, end: datetime.datetime) -> AclBinding:
    """The binding that says: ``binding`` ends at ``end``, to the second. It grants nobody anything."""
    (resource_type, name, pattern_type), entry = binding
    said = (resource_type.name, pattern_type.name, entry.operation.name, name, entry.principal, entry.host)
    words = ".".join(quote(word, safe="", errors="strict").replace(".", "%2E") for word in said)
    stamp = end.astimezone(datetime.UTC).strftime(_STAMP)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, f"__kr.break-glass.{stamp}.{words}"), _MARK)


def read_break_glass(mark: AclBinding) -> BreakGlass | None:
    """What a binding marks, or ``None`` where it is no mark."""
    if mark.entry != _MARK or (found := _NAME.fullmatch(mark.pattern.name)) is None:
        return None
    kind, form, operation, name, principal, host = map(unquote, found[2][1:].split("."))
    try:
        end = datetime.datetime.strptime(found[1], _STAMP).replace(tzinfo=datetime.UTC)
        pattern = ResourcePattern(ResourceType[kind], name, PatternType[form])
        entry = AccessControlEntry(principal, host, AclOperation[operation], AclPermissionType.ALLOW)
    except (KeyError, ValueError):
        return None
    binding = AclBinding(pattern, entry)
    # Written again and compared: only the one spelling that this tool writes counts.
    return None if is_reserved(name) or break_glass_mark(binding, end) != mark else BreakGlass(binding, end, mark)


def break_glass(bindings: Collection[AclBinding], as_of: datetime.date) -> dict[AclBinding, BreakGlass]:
    """The break-glass access among live ``bindings``, each with the last of its ends, over or not."""
    found: dict[AclBinding, BreakGlass] = {}
    for one in _marks(bindings, as_of):
        if one.binding in bindings and (one.binding not in found or found[one.binding].end < one.end):
            found[one.binding] = one
    return found


def running_break_glass(bindings: Collection[AclBinding], as_of: datetime.date) -> dict[AclBinding, BreakGlass]:
    """That which is not over."""
    now = instant_of(as_of)
    return {binding: one for binding, one in break_glass(bindings, as_of).items() if one.end > now}


def break_glass_over(bindings: Collection[AclBinding], as_of: datetime.date) -> dict[AclBinding, BreakGlass]:
    """That which is over and still there."""
    now = instant_of(as_of)
    return {binding: one for binding, one in break_glass(bindings, as_of).items() if one.end <= now}


def break_glass_marks(bindings: Collection[AclBinding], as_of: datetime.date | None) -> frozenset[AclBinding]:
    """The marks that are still needed: of access that is there, and of access that may yet come.

    Those that do not count are not among them, so that reports list them. Without a time nothing is over.
    """
    if as_of is None:
        return frozenset(one.mark for one in map(read_break_glass, bindings) if one is not None)
    now = max(instant_of(as_of), _EARLIEST)
    return frozenset(one.mark for one in _marks(bindings, as_of) if one.end > now - KEPT or one.binding in bindings)


def marks_that_stay(bindings: Collection[AclBinding], now: datetime.datetime) -> frozenset[AclBinding]:
    """The marks that nobody may remove, whether they count or not: their access is there, or may yet arrive.

    A clock that is ahead by no more than the longest time writes marks that do not count yet.
    """
    found = [one for one in map(read_break_glass, bindings) if one is not None]
    return frozenset(one.mark for one in found if one.binding in bindings or -KEPT < one.end - now <= 2 * LONGEST)


def marks_for(access: Collection[AclBinding], bindings: Iterable[AclBinding]) -> list[AclBinding]:
    """Every mark of this access among ``bindings``, whether it counts or not, in order."""
    return sorted(one.mark for one in map(read_break_glass, bindings) if one is not None and one.binding in access)


def _marks(bindings: Iterable[AclBinding], as_of: datetime.date) -> Iterator[BreakGlass]:
    latest = instant_of(as_of)
    latest = latest + LONGEST + _GRACE if latest.year < datetime.MAXYEAR else latest
    for binding in bindings:
        if binding.entry.principal == NOBODY and (one := read_break_glass(binding)) is not None and one.end <= latest:
            yield one
