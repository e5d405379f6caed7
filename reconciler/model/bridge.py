"""Bridges: bindings that keep a resource open for the time of a run, and the markers by which anybody knows them.

A bridge is ``ALLOW User:* ALL``, which a person can mean too. So each has a marker, a binding on a reserved
name of a principal that nobody can log in as; what has no marker is no bridge. Whoever may alter ACLs can write a
marker, so it is a hint and no proof: it lets a run recognise what another run left, and hides a binding only as long as
its run is provably alive (``reconciler.apply.leftovers``).
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from reconciler.model.acl import WILDCARD, WILDCARD_PRINCIPAL, AccessControlEntry, AclBinding, ResourcePattern
from reconciler.model.enums import AclOperation, AclPermissionType, PatternType, ResourceType
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState

#: Nobody can log in as this: a binding of it covers a name and permits nothing.
NOBODY: Final = "User:__kr.nobody"
_OPEN: Final = AccessControlEntry(WILDCARD_PRINCIPAL, WILDCARD, AclOperation.ALL, AclPermissionType.ALLOW)
_MARK: Final = AccessControlEntry(NOBODY, WILDCARD, AclOperation.DESCRIBE, AclPermissionType.ALLOW)
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
    return AclBinding(ResourcePattern(ResourceType.TOPIC, marked), _MARK)


def marker_from(binding: AclBinding) -> Marker | None:
    """What a binding marks, or ``None`` where it is no marker.

    No run puts a bridge on the cluster itself or on a reserved name, so nothing marks one there.
    """
    if binding.entry != _MARK or (found := _NAME.fullmatch(binding.pattern.name)) is None:
        return None
    run, resource_type, pattern_type, name = found.groups()
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
    found = {}
    for binding in bindings:
        if binding.entry.principal == NOBODY and (marker := marker_from(binding)) is not None:
            found[binding] = marker
    return found


def standing_bridges(bindings: Collection[AclBinding]) -> frozenset[AclBinding]:
    """The bridges among ``bindings``: those that have a marker."""
    return frozenset(marker.bridge for marker in markers(bindings).values()) & frozenset(bindings)


def without_bridges(
    state: ClusterState, default_allow: bool | None, but: Collection[AclBinding] = frozenset()
) -> ClusterState:
    """The state without bridges, which are nobody's wish; ``but`` are bindings that are no bridges, marked or not.

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
    own = [binding for binding in less.bindings if is_reserved(binding.pattern.name)]
    return replace(less, bindings=less.bindings.difference(own)) if own else less


def without_harmless(state: ClusterState) -> ClusterState:
    """The state without sentinels and markers, and with every binding that grants somebody something."""
    kept = frozenset(b for b in state.bindings if not (is_reserved(b.pattern.name) and is_harmless(b)))
    return state if len(kept) == len(state.bindings) else replace(state, bindings=kept)


def is_harmless(binding: AclBinding) -> bool:
    """Whether a binding on a reserved name can permit nobody anything that counts, whoever wrote it.

    Markers are of a principal that nobody can log in as, and sentinels speak of the configs of topics that do not
    exist. Anything else there is a grant like any other.
    """
    pattern, entry = binding
    sentinel = entry.operation in (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)
    return entry.principal == NOBODY or (pattern.resource_type is ResourceType.TOPIC and sentinel)
