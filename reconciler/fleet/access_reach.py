"""What principals can reach on one cluster: effective access with every DENY respected, one row for each operation."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reconciler.access import Access, Authorizer, access_of, supported
from reconciler.access.name_set import ALL_NAMES
from reconciler.access.unnamed_principal import unnamed_principal
from reconciler.model import WILDCARD_PRINCIPAL, AclOperation, ResourceType

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


def reaches(authorizer: Authorizer, topics: Iterable[str]) -> Iterator[AccessReach]:
    """The rows of a cluster by principal; super users reach everything."""
    existing = sorted(topics)
    for name in sorted(authorizer.super_users):
        for kind in ResourceType:
            for operation in sorted(supported(kind, authorizer.kafka_version)) if kind >= ResourceType.TOPIC else ():
                count = len(existing) if kind is ResourceType.TOPIC else 0
                yield AccessReach(name, kind.name, operation.name, ["(super user)"], count, True, True)
    named = {binding.entry.principal for binding in authorizer.bindings} - authorizer.super_users
    for name in sorted(named - {WILDCARD_PRINCIPAL}):
        yield from _rows(name, access_of(authorizer, name), existing)
    nobody = unnamed_principal([world.index for world in authorizer.interpretations.both], authorizer.super_users)
    yield from _rows(EVERYBODY_ELSE, access_of(authorizer, nobody), existing)


def _rows(principal: str, found: Sequence[Access], existing: Sequence[str]) -> Iterator[AccessReach]:
    parts: dict[tuple[ResourceType, AclOperation], list[Access]] = {}
    for access in found:
        for operation in access.operations:
            parts.setdefault((access.region.resource_type, operation), []).append(access)
    for (kind, operation), accesses in sorted(parts.items()):
        # The same names may come once for each set of hosts.
        regions = sorted({access.region for access in accesses})
        reached = {name for region in regions for name in region.select(existing)} if kind is ResourceType.TOPIC else ()
        yield AccessReach(
            principal,
            kind.name,
            operation.name,
            [str(region) for region in regions],
            len(reached),
            any(region.names == ALL_NAMES for region in regions),
            all(access.certain for access in accesses),
        )
