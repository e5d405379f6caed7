"""Markers on the cluster: of temporary allow-all ACLs, and of break-glass access.

Bridges: bindings that keep a resource open for the time of a run, and the markers by which anybody knows them.

A bridge is ``ALLOW User:* ALL``, which a person can mean too. So each has a marker, a binding on a reserved
name of a principal that nobody can log in as; what has no marker is no bridge. Whoever may alter ACLs can write a
marker, so it is a hint and no proof: it lets a run recognise what another run left, and hides a binding only as long as
its run is provably alive (``reconciler.apply.cleanup``).
"""

import datetime
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import as_name
from reconciler.model.desired import instant_of, moment_text
from reconciler.model.scope import is_reserved, on_reserved_names
from reconciler.model.state import ClusterState

#: Nobody can log in as this: a binding of it covers a name and permits nothing.
NOBODY: Final = "User:__kr.nobody"
_OPEN: Final = AccessControlEntry(WILDCARD_PRINCIPAL, WILDCARD, AclOperation.ALL, AclPermissionType.ALLOW)
#: Of each mark, lease and flag that a run writes.
MARK_ENTRY: Final = AccessControlEntry(NOBODY, WILDCARD, AclOperation.DESCRIBE, AclPermissionType.ALLOW)
#: CLUSTER never: a bridge on it would let everyone alter ACLs. The client cannot write the other types.
BRIDGED_TYPES: Final = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
_NAME: Final = re.compile(r"__kr\.([^.]+)\.bridge\.([A-Z_]+)\.([A-Z]+)\.(.+)", re.DOTALL)


class Marker(NamedTuple):
    """A marker read back: the run that put it there, and the bridge that it marks."""

    run: str
    bridge: AclBinding


def bridge_on(pattern: ResourcePattern) -> AclBinding:
    """The binding that leaves ``pattern`` as open as a resource that no binding matches, less what is denied."""
    return AclBinding(pattern, _OPEN)


def marker_of(run: str, pattern: ResourcePattern) -> AclBinding:
    """The binding that says: ``run`` put the bridge on ``pattern`` there. ACL names have no limit of 249."""
    resource_type, name, pattern_type = pattern
    marked = f"__kr.{run}.bridge.{resource_type.name}.{pattern_type.name}.{name}"
    return AclBinding(ResourcePattern(ResourceType.TOPIC, marked), MARK_ENTRY)


def marker_from(binding: AclBinding) -> Marker | None:
    """What a binding marks, or ``None`` where it is no marker.

    No run puts a bridge on the cluster itself or on a reserved name, so nothing marks one there.
    """
    if binding.entry != MARK_ENTRY or (match := _NAME.fullmatch(binding.pattern.name)) is None:
        return None
    run, resource_type, pattern_type, name = match.groups()
    try:
        pattern = ResourcePattern(ResourceType[resource_type], name, PatternType[pattern_type])
    except (KeyError, ValueError):
        return None
    if pattern.resource_type not in BRIDGED_TYPES or is_reserved(name):
        return None
    # Written again and compared: only the one spelling that a run writes counts, and nothing that merely reads like it.
    return Marker(run, bridge_on(pattern)) if binding == marker_of(run, pattern) else None


def markers(bindings: Iterable[AclBinding]) -> dict[AclBinding, Marker]:
    """Every marker among ``bindings``, by its own binding."""
    read = ((binding, marker_from(binding)) for binding in on_reserved_names(bindings))
    return {binding: marker for binding, marker in read if marker is not None}


def standing_bridges(bindings: Collection[AclBinding]) -> frozenset[AclBinding]:
    """The bridges among ``bindings``: those that have a marker."""
    return frozenset(marker.bridge for marker in markers(bindings).values()) & frozenset(bindings)


def without_bridges(
    state: ClusterState, default_allow: bool | None, but: Collection[AclBinding] = frozenset()
) -> ClusterState:
    """The state without bridges, which nobody declares; ``but`` are bindings that are no bridges, marked or not.

    Runs put bridges up only where default-allow is declared on. Elsewhere a marker makes nothing of a binding: it would
    hide a public grant.
    """
    bridges = standing_bridges(state.bindings).difference(but) if default_allow is True else frozenset()
    return replace(state, bindings=state.bindings - bridges) if bridges else state


def without_own(
    state: ClusterState, default_allow: bool | None, but: Collection[AclBinding] = frozenset()
) -> ClusterState:
    """The state without bridges, as :func:`without_bridges` has it, and without anything on reserved names."""
    less = without_bridges(state, default_allow, but)
    own = on_reserved_names(less.bindings)
    return replace(less, bindings=less.bindings.difference(own)) if own else less


def without_harmless(state: ClusterState) -> ClusterState:
    """The state without probe ACLs and markers, and with every binding that grants somebody something."""
    harmless = frozenset(filter(is_harmless, on_reserved_names(state.bindings)))
    return replace(state, bindings=state.bindings - harmless) if harmless else state


def is_harmless(binding: AclBinding) -> bool:
    """Whether a binding on a reserved name can permit nobody anything that counts, whoever wrote it.

    Markers are of a principal that nobody can log in as, and probe ACLs speak of the configs of topics that do not
    exist. Anything else there is a grant like any other.
    """
    pattern, entry = binding
    probe_acl = entry.operation in (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)
    return entry.principal == NOBODY or (pattern.resource_type is ResourceType.TOPIC and probe_acl)


# Break-glass access: bindings that an operator created at once, and the marks that say when each of them ends.
#
# The end is kept on the cluster, in a binding on a reserved name next to the access itself: every server and every
# drift report sees it, and nobody writes it who could not write the access. A manifest neither sets nor moves it.
#
# Whoever may alter ACLs can write a mark. So one counts only if it is exactly what this tool writes, for an ALLOW,
# and ends within the longest time that there is: a forged one holds back what a plan would delete for that time, and
# never unseen, for every plan and report lists it. What a mark may end is for a server to say, which has seen it or a
# record.
#
# Not to believe a mark is not to remove it. It outlives the access, and every request that may still give it.

#: The longest time from now at which break-glass access may end.
LONGEST: Final = datetime.timedelta(hours=24)
#: How long a mark stays after its end: longer than a request may be on its way, or a run stand still before it sends.
#: What arrives by then has an end, which is over.
KEPT: Final = LONGEST
#: By so much the clocks of two machines may differ.
_GRACE: Final = datetime.timedelta(minutes=1)
_EARLIEST: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC) + KEPT
_STAMP: Final = "%Y%m%dT%H%M%SZ"
_MARK_NAME: Final = re.compile(
    r"__kr\.break-glass\.([0-9]{8}T[0-9]{6}Z)((?:\.[^.]+){6})(?:\.((?:[0-9]{8}T[0-9]{6}Z)?)\.([^.]*))?", re.ASCII
)


class BreakGlass(NamedTuple):
    """A mark read back: the access, the instant at which it is over, since when it was given, and over which tests."""

    binding: AclBinding
    end: datetime.datetime
    mark: AclBinding
    since: datetime.datetime | None = None
    overrode: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """``break-glass access until 2026-11-23T16:00:00Z, over the access test “svc never writes”``."""
        names = ", ".join(map(as_name, self.overrode))
        over = f", over the access test{'s' if len(self.overrode) > 1 else ''} {names}" if names else ""
        return f"break-glass access until {moment_text(self.end)}{over}"


def break_glass_mark(
    binding: AclBinding, end: datetime.datetime, since: datetime.datetime | None = None, overrode: Iterable[str] = ()
) -> AclBinding:
    """The binding that says: ``binding`` ends at ``end``, to the second. It grants nobody anything.

    ``since`` is when it was asked for, ``overrode`` are the names of the access tests that it was given over.
    """
    (resource_type, name, pattern_type), entry = binding
    parts = (resource_type.name, pattern_type.name, entry.operation.name, name, entry.principal, entry.host)
    words, tests = ".".join(map(word, parts)), ",".join(map(word, overrode))
    more = f".{stamp(since) if since is not None else ''}.{tests}" if since is not None or tests else ""
    return AclBinding(ResourcePattern(ResourceType.TOPIC, f"__kr.break-glass.{stamp(end)}.{words}{more}"), MARK_ENTRY)


def word(text: str) -> str:
    """A text as one word of the name of a mark."""
    return quote(text, safe="", errors="strict").replace(".", "%2E")


def stamp(at: datetime.datetime) -> str:
    """An instant in the name of a mark, to the second."""
    return at.astimezone(datetime.UTC).strftime(_STAMP)


def instant(text: str) -> datetime.datetime:
    """The inverse of :func:`stamp`; raises ``ValueError``."""
    return datetime.datetime.strptime(text, _STAMP).replace(tzinfo=datetime.UTC)


def read_break_glass(mark: AclBinding) -> BreakGlass | None:
    """What a binding marks, or ``None`` where it is no mark."""
    if mark.entry != MARK_ENTRY or (match := _MARK_NAME.fullmatch(mark.pattern.name)) is None:
        return None
    kind, form, operation, name, principal, host = map(unquote, match[2][1:].split("."))
    try:
        end, since = instant(match[1]), instant(match[3]) if match[3] else None
        overrode = tuple(map(unquote, match[4].split(","))) if match[4] else ()
        pattern = ResourcePattern(ResourceType[kind], name, PatternType[form])
        entry = AccessControlEntry(principal, host, AclOperation[operation], AclPermissionType.ALLOW)
    except (KeyError, ValueError):
        return None
    binding = AclBinding(pattern, entry)
    # Written again and compared: only the one spelling that this tool writes counts.
    if is_reserved(name) or break_glass_mark(binding, end, since, overrode) != mark:
        return None
    return BreakGlass(binding, end, mark, since, overrode)


def break_glass(bindings: Collection[AclBinding], as_of: datetime.date) -> dict[AclBinding, BreakGlass]:
    """The break-glass access among live ``bindings``, each with the last of its ends, over or not."""
    latest: dict[AclBinding, BreakGlass] = {}
    for mark in _marks(bindings, as_of):
        if mark.binding in bindings and (mark.binding not in latest or latest[mark.binding].end < mark.end):
            latest[mark.binding] = mark
    return latest


def given_break_glass(bindings: Iterable[AclBinding], as_of: datetime.date) -> dict[str, list[BreakGlass]]:
    """What marks say was given, by principal, whether it is there or not: until its marks are removed."""
    given: dict[str, list[BreakGlass]] = {}
    for item in sorted(_marks(bindings, as_of), key=lambda item: (item.end, item.mark)):
        given.setdefault(item.binding.entry.principal, []).append(item)
    return dict(sorted(given.items()))


def running_break_glass(bindings: Collection[AclBinding], as_of: datetime.date) -> dict[AclBinding, BreakGlass]:
    """That which is not over."""
    now = instant_of(as_of)
    return {binding: item for binding, item in break_glass(bindings, as_of).items() if item.end > now}


def break_glass_over(bindings: Collection[AclBinding], as_of: datetime.date) -> dict[AclBinding, BreakGlass]:
    """That which is over and still there."""
    now = instant_of(as_of)
    return {binding: item for binding, item in break_glass(bindings, as_of).items() if item.end <= now}


def break_glass_marks(bindings: Collection[AclBinding], as_of: datetime.date | None) -> frozenset[AclBinding]:
    """The marks that are still needed: of access that is there, and of access that may yet come.

    Those that do not count are not among them, so that reports list them. Without a time nothing is over.
    """
    if as_of is None:
        return frozenset(item.mark for item in every_break_glass(bindings))
    now = max(instant_of(as_of), _EARLIEST)
    return frozenset(mark.mark for mark in _marks(bindings, as_of) if mark.end > now - KEPT or mark.binding in bindings)


def marks_that_stay(bindings: Collection[AclBinding], now: datetime.datetime) -> frozenset[AclBinding]:
    """The marks that nobody may remove, whether they count or not: their access is there, or may yet arrive.

    A clock that is ahead by no more than the longest time writes marks that do not count yet.
    """
    marks = every_break_glass(bindings)
    return frozenset(item.mark for item in marks if item.binding in bindings or -KEPT < item.end - now <= 2 * LONGEST)


def marks_for(access: Collection[AclBinding], bindings: Iterable[AclBinding]) -> list[AclBinding]:
    """Every mark of this access among ``bindings``, whether it counts or not, in order."""
    return sorted(item.mark for item in every_break_glass(bindings) if item.binding in access)


def _marks(bindings: Iterable[AclBinding], as_of: datetime.date) -> Iterator[BreakGlass]:
    latest = instant_of(as_of)
    latest = latest + LONGEST + _GRACE if latest.year < datetime.MAXYEAR else latest
    return (item for item in every_break_glass(bindings) if item.end <= latest)


def every_break_glass(bindings: Iterable[AclBinding]) -> Iterator[BreakGlass]:
    """All break-glass access that ``bindings`` mark, whether it counts or not."""
    return filter(None, map(read_break_glass, on_reserved_names(bindings)))
