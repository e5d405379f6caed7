"""Principals by the names that they have bindings on."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from reconciler.access.name_set import ALL_NAMES, NameSet, names_of
from reconciler.access.nested_names import inside, meets_any, outermost
from reconciler.model import ResourcePattern

#: Of so many questions each looks at every binding: an index of a million bindings takes longer, and 100 MB.
_SCANNED: Final = 4
#: Principals, each once, with the patterns of their bindings.
Holders: TypeAlias = Iterator[tuple[str, Iterable[ResourcePattern]]]


class PrincipalIndex:
    """Principals of one resource type by the name sets that they have bindings on."""

    __slots__ = ("_asked", "_by_names", "_holders", "_ordered")

    def __init__(self, holders: Callable[[], Holders]) -> None:
        """Nothing is looked at yet; ``holders`` gives the same each time."""
        self._holders = holders
        self._asked = 0
        self._by_names: dict[NameSet, set[str]] | None = None
        self._ordered: list[NameSet] = []

    def meeting(self, zones: list[NameSet]) -> set[str]:
        """Principals with a binding that shares a name with one of ``zones``."""
        self._asked += 1
        if self._by_names is None and self._asked <= _SCANNED:
            return self._scanned(outermost(zones))
        return self._looked_up(zones)

    def _scanned(self, zones: list[NameSet]) -> set[str]:
        if zones == [ALL_NAMES]:
            return {principal for principal, _ in self._holders()}
        return {principal for principal, patterns in self._holders() if _any_meets(patterns, zones)}

    def _looked_up(self, zones: list[NameSet]) -> set[str]:
        by_names = self._by_names
        if by_names is None:
            by_names = self._by_names = {}
            for principal, patterns in self._holders():
                for key in map(names_of, patterns):
                    by_names.setdefault(key, set()).add(principal)
            self._ordered = sorted(by_names)
        found: set[str] = set()
        for zone in zones:
            # Every set around a zone is a prefix of its text, so look those up instead of scanning all sets.
            outer = [NameSet(zone.text[:length]) for length in range(len(zone.text) + 1)]
            for key in [*outer, *inside(self._ordered, zone)]:
                found.update(by_names.get(key, ()))
        return found


def _any_meets(patterns: Iterable[ResourcePattern], zones: list[NameSet]) -> bool:
    last: ResourcePattern | None = None
    for pattern in patterns:
        # Several operations on one pattern come one after another, as a rule.
        if pattern is not last and meets_any(names_of(pattern), zones):
            return True
        last = pattern
    return False
