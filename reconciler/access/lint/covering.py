"""Which bindings cover another: bindings that make it redundant, DENYs over an ALLOW, DENYs without effect."""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

from reconciler.access.authorizer import Authorizer
from reconciler.access.grants import OperationGrants
from reconciler.access.hosts import is_within
from reconciler.access.name_set import ALL_NAMES, ASTERISK_NAMES, NameSet, names_of
from reconciler.access.operations import DENIED, ENTRY_MASKS, EVERY, IMPLIED, bits, supported
from reconciler.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.kafka_release import KafkaVersion


def covers(outer: ResourcePattern, inner: ResourcePattern) -> bool:
    """Whether a broker applies ``outer`` to every name of ``inner``; LITERAL ``*`` misses names like ``*x``."""
    around, key = names_of(outer), names_of(inner)
    if outer.resource_type is not inner.resource_type or not around.contains(key):
        return False
    return around != ALL_NAMES or key == ALL_NAMES or not (ASTERISK_NAMES.contains(key) or key.contains(ASTERISK_NAMES))


def effect_bits(binding: AclBinding, version: KafkaVersion) -> int:
    """The operations that an ALLOW grants or a DENY takes, as bits, of those that the resource type has.

    DELETE on CLUSTER counts, because it permits to delete topics.
    """
    _, _, operation, permission_type = binding[1]
    return _effect(binding[0][0], operation, permission_type, version)


@lru_cache(maxsize=4_096)
def _effect(
    kind: ResourceType, operation: AclOperation, permission_type: AclPermissionType, version: KafkaVersion
) -> int:
    mask = ENTRY_MASKS[permission_type][operation]
    kept = bits(supported(kind, version))
    if kind is ResourceType.CLUSTER:
        kept |= 1 << AclOperation.DELETE
    return (mask >> DENIED if permission_type is AclPermissionType.DENY else mask | mask >> IMPLIED) & kept & EVERY


#: A resource type, a principal, and the names of a pattern.
_Place: TypeAlias = tuple[ResourceType, str, NameSet]


class Covering:
    """Bindings by principal and pattern, to find those around another one."""

    __slots__ = ("_around", "_by_place", "_last", "_lengths", "version")

    def __init__(self, bindings: Iterable[AclBinding], version: KafkaVersion) -> None:
        """Group the bindings by type, principal and name set."""
        self.version = version
        self._by_place: dict[_Place, set[AclBinding]] = {}
        # Look up by the lengths that a principal's prefixes have: there are fewer than prefixes of a long name.
        self._lengths: dict[tuple[ResourceType, str], set[int]] = {}
        #: Of the place that was asked about last: in order, neighbours on one pattern come together.
        self._last: _Place | None = None
        self._around: list[AclBinding] = []
        for binding in bindings:
            place = self._place(binding)
            found = self._by_place.get(place)
            if found is not None:
                found.add(binding)
                continue
            self._by_place[place] = {binding}
            kind, who, key = place
            if not key.literal:
                self._lengths.setdefault((kind, who), set()).add(len(key.text))

    @staticmethod
    def _place(binding: AclBinding) -> _Place:
        pattern = binding[0]
        return pattern[0], binding[1][0], names_of(pattern)

    def remove(self, binding: AclBinding) -> None:
        """Remove a binding."""
        self._by_place[self._place(binding)].discard(binding)
        self._last = None

    def around(self, binding: AclBinding, permission_type: AclPermissionType) -> list[AclBinding]:
        """Bindings of that kind that apply to every request to which ``binding`` can apply; sorted, without itself."""
        neighbours = self._neighbours(binding)
        host = binding.entry.host
        return [
            other
            for other in neighbours
            if other[1][3] is permission_type and other != binding and self._host_covers(other[1][1], host)
        ]

    def _neighbours(self, binding: AclBinding) -> list[AclBinding]:
        """What its principal and ``User:*`` have on patterns around the binding's own, sorted."""
        place = self._place(binding)
        if place != self._last:
            kind, who, key = place
            found: set[AclBinding] = set()
            for one in dict.fromkeys((who, WILDCARD_PRINCIPAL)):
                for names in self._containing(kind, one, key):
                    there = self._by_place.get((kind, one, names))
                    # All of one place have one pattern.
                    if there and covers(next(iter(there)).pattern, binding.pattern):
                        found |= there
            self._last, self._around = place, sorted(found)
        return self._around

    def _containing(self, kind: ResourceType, who: str, key: NameSet) -> Iterator[NameSet]:
        """The name sets of a principal that may contain ``key``."""
        yield key
        for length in self._lengths.get((kind, who), ()):
            if length <= len(key.text):
                yield NameSet(key.text[:length])

    def _host_covers(self, outer: str, inner: str) -> bool:
        return outer in (WILDCARD, inner) or is_within(inner, [outer], self.version)

    def enough(self, wanted: int, candidates: Collection[AclBinding]) -> tuple[AclBinding, ...]:
        """One binding that has all the wanted operations, or several that have them together; empty if none do."""
        held = [(other, effect_bits(other, self.version)) for other in candidates]
        for other, mask in held:
            if wanted & ~mask == 0:
                return (other,)
        together: list[AclBinding] = []
        for other, mask in held:
            if wanted & mask:
                together.append(other)
                wanted &= ~mask
            if not wanted:
                return tuple(together)
        return ()

    def redundancy(self, binding: AclBinding) -> tuple[AclBinding, ...]:
        """The bindings that make this one redundant: same permission, at least its requests and operations.

        Of two that cover each other only the later one in order is redundant.
        """
        candidates = self.around(binding, binding.entry.permission_type)
        if not candidates:
            return ()
        wanted = effect_bits(binding, self.version)
        mutual = [other for other in candidates if other > binding and self._same_reach(other, binding)]
        return self.enough(wanted, [other for other in candidates if other not in mutual]) if wanted else ()

    def _same_reach(self, one: AclBinding, other: AclBinding) -> bool:
        same = one.pattern == other.pattern and one.entry[:2] == other.entry[:2]
        return same and effect_bits(one, self.version) == effect_bits(other, self.version)

    def shadow(self, binding: AclBinding) -> tuple[AclBinding, ...]:
        """The DENYs that together cover an ALLOW completely."""
        denies = self.around(binding, AclPermissionType.DENY)
        wanted = effect_bits(binding, self.version) if denies else 0
        return self.enough(wanted, denies) if wanted else ()


class IdleDenies:
    """DENYs against all ALLOWs of a state."""

    __slots__ = ("_authorizer", "_grants")

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._grants: dict[tuple[ResourceType, AclOperation], OperationGrants] = {}

    def is_idle(self, binding: AclBinding) -> bool:
        """Whether no ALLOW and no default permits anything that this DENY denies."""
        if self._authorizer.interpretations.most.default_allow or not self._authorizer.interpretations.known:
            return False
        kind, entry = binding.pattern.resource_type, binding.entry
        wanted = effect_bits(binding, self._authorizer.kafka_version)
        return not any(
            entry.principal == WILDCARD_PRINCIPAL or grant.principal in (entry.principal, WILDCARD_PRINCIPAL)
            for operation in AclOperation
            if wanted >> operation & 1
            for grant in self._of(kind, operation).meeting(names_of(binding.pattern))
        )

    def _of(self, kind: ResourceType, operation: AclOperation) -> OperationGrants:
        found = self._grants.get((kind, operation))
        if found is None:
            index = self._authorizer.interpretations.certain
            found = self._grants[kind, operation] = OperationGrants(index, kind, operation)
        return found
