"""Which bindings cover another: bindings that make it redundant, DENYs over an ALLOW, DENYs without effect."""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

from reconciler.access.assertions import OperationGrants
from reconciler.access.authorizer import Authorizer
from reconciler.access.group import DENIED, ENTRY_MASKS, EVERY, IMPLIED, bits
from reconciler.access.hosts import RangeIndex
from reconciler.access.names import ALL_NAMES, ASTERISK_NAMES, NameSet, names_of
from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.flavor import KafkaVersion, supported


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


#: The bindings of a principal on a resource type.
BindingsOf: TypeAlias = Callable[[ResourceType, str], Collection[AclBinding]]


class _ByNames:
    """One principal's bindings on one type by their names."""

    __slots__ = ("by_names", "lengths")

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        self.by_names: dict[NameSet, set[AclBinding]] = {}
        for binding in bindings:
            self.by_names.setdefault(names_of(binding[0]), set()).add(binding)
        # Look up by the lengths that a principal's prefixes have: there are fewer than prefixes of a long name.
        self.lengths = {len(key.text) for key in self.by_names if not key.literal}

    def containing(self, key: NameSet) -> Iterator[set[AclBinding]]:
        """The bindings on each name set that may contain ``key``."""
        yield self.by_names.get(key, set())
        for length in self.lengths:
            if length <= len(key.text) and (outer := NameSet(key.text[:length])) != key:
                yield self.by_names.get(outer, set())


class Covering:
    """Bindings by principal and pattern, to find those around another one."""

    __slots__ = ("_around", "_bindings_of", "_last", "_ranges", "_remembered", "_removed", "_tables", "version")

    def __init__(self, bindings_of: BindingsOf, version: KafkaVersion, remembered: int | None = None) -> None:
        """Nothing is grouped yet.

        The tables of ``remembered`` principals are kept, else of all: whoever asks about one principal after the other
        needs no more than one.
        """
        self.version = version
        self._bindings_of = bindings_of
        self._remembered = remembered
        self._tables: dict[tuple[ResourceType, str], _ByNames] = {}
        self._removed: set[AclBinding] = set()
        #: Of the place that was asked about last: in order, neighbours on one pattern come together.
        self._last: tuple[ResourceType, str, NameSet] | None = None
        self._around: dict[str, list[AclBinding]] = {}
        self._ranges = RangeIndex((), version)

    def _table(self, kind: ResourceType, who: str) -> _ByNames:
        table = self._tables.get((kind, who))
        if table is None:
            # That of everybody is asked for with each other one.
            if self._remembered is not None and len(self._tables) > self._remembered:
                kept = [place for place in self._tables if place[1] == WILDCARD_PRINCIPAL]
                self._tables = {place: self._tables[place] for place in kept}
            there = self._bindings_of(kind, who)
            table = self._tables[kind, who] = _ByNames(b for b in there if b not in self._removed)
        return table

    def remove(self, binding: AclBinding) -> None:
        """Remove a binding."""
        self._removed.add(binding)
        table = self._tables.get((binding.pattern.resource_type, binding.entry.principal))
        if table is not None:
            table.by_names[names_of(binding.pattern)].discard(binding)
        self._last = None

    def around(self, binding: AclBinding, permission_type: AclPermissionType) -> list[AclBinding]:
        """Bindings of that kind that apply to every request to which ``binding`` can apply; sorted, without itself."""
        by_host, host = self._neighbours(binding), binding.entry.host
        texts = {WILDCARD, host, *self._ranges.around(host)} & by_host.keys()
        return sorted(
            other for text in texts for other in by_host[text] if other[1][3] is permission_type and other != binding
        )

    def _neighbours(self, binding: AclBinding) -> dict[str, list[AclBinding]]:
        """What its principal and ``User:*`` have on patterns around the binding's own, by host."""
        pattern = binding[0]
        place = pattern[0], binding[1][0], names_of(pattern)
        if place != self._last:
            kind, who, key = place
            around: set[AclBinding] = set()
            for name in dict.fromkeys((who, WILDCARD_PRINCIPAL)):
                for there in self._table(kind, name).containing(key):
                    # All of one place have one pattern.
                    if there and covers(next(iter(there)).pattern, pattern):
                        around |= there
            self._last, self._around = place, {}
            for other in around:
                self._around.setdefault(other[1][1], []).append(other)
            self._ranges = RangeIndex(self._around, self.version)
        return self._around

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

    def _same_reach(self, binding: AclBinding, other: AclBinding) -> bool:
        same = binding.pattern == other.pattern and binding.entry[:2] == other.entry[:2]
        return same and effect_bits(binding, self.version) == effect_bits(other, self.version)

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
        grants = self._grants.get((kind, operation))
        if grants is None:
            index = self._authorizer.interpretations.certain
            grants = self._grants[kind, operation] = OperationGrants(index, kind, operation)
        return grants
