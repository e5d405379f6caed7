"""What principals can reach on one cluster: effective access with every DENY respected, one row for each operation."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, NamedTuple

from reconciler.access.authorizer import Authorizer
from reconciler.access.effective import CommonAccess, HeldRegion
from reconciler.access.names import ALL_NAMES, Region
from reconciler.access.operations import supported
from reconciler.model.acl import WILDCARD_PRINCIPAL, AclBinding, AclOperation, ResourceType

#: Stands for all principals that no binding names.
EVERYBODY_ELSE = "everybody else"
_TYPES: Final = tuple(kind for kind in ResourceType if kind >= ResourceType.TOPIC)


class AccessReach(NamedTuple):
    """One operation of one principal: the names in words, and the number of existing topics.

    ``every_name`` is true if it also reaches future names, with some exceptions. A row that depends on an unknown
    setting or on entries that cannot be read is not ``certain``.
    """

    principal: str
    resource_type: str
    operation: str
    names: list[str]
    topics: int
    every_name: bool
    certain: bool


class ReachMemory:
    """What was found on clusters before, for clusters that have much in common."""

    __slots__ = ("counts", "rights", "topics")

    def __init__(self) -> None:
        """Nothing yet."""
        self.rights: dict[tuple[object, ...], list[_Right]] = {}
        self.counts: dict[tuple[int, tuple[Region, ...]], int] = {}
        #: Sets of topics by number.
        self.topics: dict[tuple[str, ...], int] = {}


class _Right(NamedTuple):
    """One operation on one type, by the regions on which it is there; ``regions`` are empty but for topics."""

    kind: ResourceType
    operation: AclOperation
    names: list[str]
    regions: tuple[Region, ...]
    every_name: bool
    certain: bool


def reaches(authorizer: Authorizer, topics: Iterable[str], memory: ReachMemory | None = None) -> Iterator[AccessReach]:
    """The rows of a cluster by principal; super users reach everything."""
    memory = ReachMemory() if memory is None else memory
    existing = tuple(sorted(topics))
    yield from _of_super_users(authorizer, len(existing))
    own: dict[str, list[AclBinding]] = {}
    for binding in authorizer.bindings:
        own.setdefault(binding.entry.principal, []).append(binding)
    everybody = frozenset(own.pop(WILDCARD_PRINCIPAL, ()))
    alone = _decides_alone(authorizer)
    common, seen = CommonAccess(authorizer), _SeenRegions(existing)
    for name in (*sorted(own.keys() - authorizer.super_users), common.everybody_else):
        shown = EVERYBODY_ELSE if name == common.everybody_else else name
        if not alone:
            yield from _of_one(common, seen, name, shown)
            continue
        key = name, frozenset(own.get(name, ())), everybody, authorizer.kafka_version
        found = memory.rights.get(key)
        if found is None:
            held = (row for kind in _TYPES for row in common.of(name, kind))
            found = memory.rights[key] = _rights(held, seen)
        place = memory.topics.setdefault(existing, len(memory.topics))
        for right in found:
            yield _reach(shown, right, _count(memory, place, existing, right.regions) if right.regions else 0)


def _of_super_users(authorizer: Authorizer, topics: int) -> Iterator[AccessReach]:
    for name in sorted(authorizer.super_users):
        for kind in _TYPES:
            for operation in sorted(supported(kind, authorizer.kafka_version)):
                count = topics if kind is ResourceType.TOPIC else 0
                yield AccessReach(name, kind.name, operation.name, ["(super user)"], count, True, True)


def _of_one(common: CommonAccess, seen: "_SeenRegions", name: str, shown: str) -> Iterator[AccessReach]:
    """The rows of one principal of a cluster where other principals' bindings count too."""
    for kind in _TYPES:
        held = common.of(name, kind)
        for row in seen.rows(held):
            yield row._replace(principal=shown)


class _SeenRegions:
    """What was made of regions of one cluster before: words, existing topics, rows."""

    __slots__ = ("_existing", "_numbers", "_regions", "_rows")

    def __init__(self, existing: tuple[str, ...]) -> None:
        self._existing = existing
        self._numbers = {name: number for number, name in enumerate(existing)}
        #: By identity, with the object, so that it stays: a hash would look at thousands of cuts each time.
        self._regions: dict[int, tuple[Region, str, int]] = {}
        self._rows: dict[int, tuple[tuple[HeldRegion, ...], list[AccessReach]]] = {}

    def rows(self, held: tuple[HeldRegion, ...]) -> list[AccessReach]:
        """A row for each operation; most principals of a cluster have the same on most types."""
        found = self._rows.get(id(held))
        if found is None:
            rows = [_reach("", right, self.count(right.regions)) for right in _rights(held, self)]
            found = self._rows[id(held)] = held, rows
        return found[1]

    def count(self, regions: Iterable[Region]) -> int:
        """How many existing topics are in some of the regions."""
        found = 0
        for region in regions:
            found |= self._region(region)[2]
        return found.bit_count()

    def text(self, region: Region) -> str:
        """The region in words."""
        return self._region(region)[1]

    def _region(self, region: Region) -> tuple[Region, str, int]:
        found = self._regions.get(id(region))
        if found is None:
            topics = 0
            if region.resource_type is ResourceType.TOPIC:
                topics = sum(1 << self._numbers[name] for name in region.select(self._existing))
            found = self._regions[id(region)] = region, str(region), topics
        return found


def _reach(principal: str, right: _Right, topics: int) -> AccessReach:
    kind, operation, names, _, every_name, certain = right
    return AccessReach(principal, kind.name, operation.name, names, topics, every_name, certain)


def _decides_alone(authorizer: Authorizer) -> bool:
    """Whether the bindings of a principal and of everybody are all that decides about it, on any cluster."""
    known = authorizer.interpretations.known and not authorizer.interpretations.least.default_allow
    return known and not authorizer.broker_defects.types


def _count(memory: ReachMemory, place: int, existing: tuple[str, ...], regions: tuple[Region, ...]) -> int:
    found = memory.counts.get((place, regions))
    if found is None:
        found = len({name for region in regions for name in region.select(existing)})
        memory.counts[place, regions] = found
    return found


def _rights(held: Iterable[HeldRegion], seen: _SeenRegions) -> list[_Right]:
    parts: dict[tuple[ResourceType, AclOperation], list[HeldRegion]] = {}
    for row in held:
        for operation in row.operations:
            parts.setdefault((row.region.resource_type, operation), []).append(row)
    rights = []
    for (kind, operation), rows in sorted(parts.items()):
        # The same names may come once for each set of hosts; sorted, equal ones are neighbours.
        regions = tuple(region for region, _ in groupby(sorted(row.region for row in rows)))
        every_name = any(region.names == ALL_NAMES for region in regions)
        certain = all(row.certain for row in rows)
        reached = regions if kind is ResourceType.TOPIC else ()
        rights.append(_Right(kind, operation, [seen.text(region) for region in regions], reached, every_name, certain))
    return rights
