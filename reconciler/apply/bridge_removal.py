"""When a bridge may be removed: only if nobody is refused then whom both the state before and the state after permit.

A bridge is needed where one of the two states has no binding at all, and so permits everything. What both permit is
then what the other state permits. That is permitted now if all ALLOWs of that state on these names exist and no other
DENY does, or if no binding covers the names at all.
"""

from collections.abc import Iterable
from typing import Final

from reconciler.model import AclBinding, AclPermissionType, ResourcePattern, is_reserved
from reconciler.plan.overlap import PatternIndex, pattern_indexes

_NO_PATTERNS: Final = PatternIndex(())


class NearbyBindings:
    """Bindings, asked for those that share a name with a pattern. Those on reserved names are left out.

    Sentinels come and go during a run, and a pattern on every name shares names with them. No client asks for those.
    """

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        """Index them by pattern."""
        self._by_pattern: dict[ResourcePattern, list[AclBinding]] = {}
        for binding in bindings:
            if not is_reserved(binding.pattern.name):
                self._by_pattern.setdefault(binding.pattern, []).append(binding)
        self._indexes = pattern_indexes(self._by_pattern)

    def to(self, pattern: ResourcePattern) -> set[AclBinding]:
        """The bindings whose pattern shares a name with ``pattern``."""
        index = self._indexes.get(pattern.resource_type, _NO_PATTERNS)
        return {binding for other in index.overlapping(pattern) for binding in self._by_pattern[other]}


def interrupts_nobody(
    pattern: ResourcePattern, before: NearbyBindings, now: NearbyBindings, after: NearbyBindings
) -> bool:
    """Whether the bridge on ``pattern`` may be removed; none of the three contains bridges."""
    there = now.to(pattern)
    if not there:
        return True
    first, last = before.to(pattern), after.to(pattern)
    # Covered by both: the bridge of an earlier run, which this plan's end replaces.
    other = last or first
    return bool(other) and _allows(other) <= there and _denies(there) <= _denies(first) | _denies(last)


def _allows(bindings: Iterable[AclBinding]) -> set[AclBinding]:
    return {binding for binding in bindings if binding.entry.permission_type is AclPermissionType.ALLOW}


def _denies(bindings: Iterable[AclBinding]) -> set[AclBinding]:
    return set(bindings) - _allows(bindings)
