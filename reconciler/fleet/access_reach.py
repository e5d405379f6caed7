"""What principals can reach on one cluster: effective access with every DENY respected, one row for each operation."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reconciler.access import Access, Authorizer, access_of, supported
from reconciler.access.name_set import ALL_NAMES
from reconciler.access.region import Region
from reconciler.access.unnamed_principal import unnamed_principal
from reconciler.model import WILDCARD_PRINCIPAL, AclBinding, AclOperation, ResourceType

#: Stands for all principals that no binding names.
EVERYBODY_ELSE = "everybody else"


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
    place = memory.topics.setdefault(existing, len(memory.topics))
    for name in sorted(authorizer.super_users):
        for kind in ResourceType:
            for operation in sorted(supported(kind, authorizer.kafka_version)) if kind >= ResourceType.TOPIC else ():
                count = len(existing) if kind is ResourceType.TOPIC else 0
                yield AccessReach(name, kind.name, operation.name, ["(super user)"], count, True, True)
    own: dict[str, list[AclBinding]] = {}
    for binding in authorizer.bindings:
        own.setdefault(binding.entry.principal, []).append(binding)
    everybody = frozenset(own.pop(WILDCARD_PRINCIPAL, ()))
    alone = _decides_alone(authorizer)
    nobody = unnamed_principal([world.index for world in authorizer.interpretations.both], authorizer.super_users)
    for name in (*sorted(own.keys() - authorizer.super_users), nobody):
        key = name, frozenset(own.get(name, ())), everybody, authorizer.kafka_version
        found = memory.rights.get(key) if alone else None
        if found is None:
            found = _rights(access_of(authorizer, name))
            if alone:
                memory.rights[key] = found
        shown = EVERYBODY_ELSE if name == nobody else name
        for kind, operation, names, regions, every_name, certain in found:
            count = _count(memory, place, existing, regions) if regions else 0
            yield AccessReach(shown, kind.name, operation.name, names, count, every_name, certain)


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


def _rights(found: Sequence[Access]) -> list[_Right]:
    parts: dict[tuple[ResourceType, AclOperation], list[Access]] = {}
    for access in found:
        for operation in access.operations:
            parts.setdefault((access.region.resource_type, operation), []).append(access)
    rights = []
    for (kind, operation), accesses in sorted(parts.items()):
        # The same names may come once for each set of hosts.
        regions = tuple(sorted({access.region for access in accesses}))
        every_name = any(region.names == ALL_NAMES for region in regions)
        certain = all(access.certain for access in accesses)
        reached = regions if kind is ResourceType.TOPIC else ()
        rights.append(_Right(kind, operation, [str(region) for region in regions], reached, every_name, certain))
    return rights
