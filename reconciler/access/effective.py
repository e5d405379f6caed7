"""What a principal may do, and who may do an operation: exact, as regions of names and sets of hosts."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from reconciler.access.api_rights import CLUSTER_NAMES, ON_EVERY_TOPIC
from reconciler.access.authorizer import Authorizer
from reconciler.access.comparison import AccessComparison
from reconciler.access.effects import RegionEffect
from reconciler.access.hosts import Hosts
from reconciler.access.interpretation import Interpretation
from reconciler.access.name_set import ALL_NAMES, NameSet, names_of
from reconciler.access.nested_names import outermost
from reconciler.access.operations import operations_in
from reconciler.access.region import Region
from reconciler.access.unnamed_principal import unnamed_principal
from reconciler.dataclass import dataclass
from reconciler.model import (
    CLUSTER_NAME,
    WILDCARD_PRINCIPAL,
    AclOperation,
    ResourcePattern,
    ResourceType,
)

_TYPES: Final = tuple(kind for kind in ResourceType if kind >= ResourceType.TOPIC)


@dataclass(frozen=True, slots=True)
class Access:
    """Operations that a principal has on a region; ``principal=None`` is everybody else.

    Everybody else means all principals that have no row of their own on those names and are not listed as lacking
    access. ``host`` and ``name`` are an example. ``certain`` is false if the row depends on default-allow or on entries
    that cannot be read.
    """

    principal: str | None
    hosts: Hosts
    region: Region
    operations: frozenset[AclOperation]
    host: str
    name: str
    certain: bool = True

    @property
    def order(self) -> tuple[object, ...]:
        """Sort key: by resource type, everybody else first, then by principal, region and hosts."""
        who = (self.principal is not None, self.principal or "")
        return (self.region.resource_type, *who, self.region, self.hosts, sorted(self.operations), self.certain)


def access_of(authorizer: Authorizer, principal: str) -> list[Access]:
    """Everything that a principal may do, including through ``User:*`` and default-allow; sorted.

    A super user may do everything and has no rows: check ``authorizer.super_users`` first.
    """
    return _readings(authorizer, lambda interpretation: _access_in(interpretation, principal))


def _access_in(interpretation: Interpretation, principal: str) -> Iterator[Access]:
    comparison = AccessComparison(None, interpretation, principal)
    for kind in _TYPES:
        # CLUSTER has one resource; every other type has unlimited names.
        zone = CLUSTER_NAMES if kind is ResourceType.CLUSTER else ALL_NAMES
        for piece in comparison.pieces(principal, kind, zone):
            yield _access(principal, piece)


def _access(principal: str | None, piece: RegionEffect) -> Access:
    operations = operations_in(piece.effect.gained)
    return Access(principal, piece.hosts, piece.region, operations, piece.host, piece.name)


@dataclass(frozen=True, slots=True)
class Holders:
    """Who may do an operation on the names of a pattern.

    ``rows`` say on which names and from which hosts. If everybody else has access, ``lacking`` lists the principals
    that lack it on some of those names. ``cluster_admins`` may ALTER the cluster, so they can grant themselves
    anything, or its configs (ALTER_CONFIGS), so they can add a listener on which they log in as anybody; a row says
    which. ``super_users`` may already do anything.
    """

    rows: tuple[Access, ...]
    lacking: tuple[Access, ...]
    cluster_admins: tuple[Access, ...]
    super_users: frozenset[str]


def who_can(authorizer: Authorizer, operation: AclOperation, pattern: ResourcePattern) -> Holders:
    """Who has ``operation`` on some name of ``pattern``: a name, a prefix, or LITERAL ``*`` for every name."""
    found = _readings(
        authorizer, lambda interpretation: _holders_in(interpretation, authorizer.super_users, operation, pattern)
    )
    everybody = any(row.principal is None for row in found)
    return Holders(
        tuple(row for row in found if row.operations),
        tuple(row for row in found if not row.operations) if everybody else (),
        _cluster_admins(authorizer, operation, pattern),
        authorizer.super_users,
    )


def _cluster_admins(authorizer: Authorizer, operation: AclOperation, pattern: ResourcePattern) -> tuple[Access, ...]:
    """Who may do anything by way of the cluster; whoever may do so in both ways from the same hosts has one row."""
    cluster = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)
    found: list[Access] = []
    for right in (AclOperation.ALTER, AclOperation.ALTER_CONFIGS):
        # Asked about this right itself, the rows are these administrators already.
        if (operation, pattern) == (right, cluster):
            continue
        held = _readings(authorizer, partial(_cluster_holders, authorizer.super_users, right, cluster))
        told = {(row.principal, row.hosts, row.certain) for row in found}
        found += [row for row in held if row.operations and (row.principal, row.hosts, row.certain) not in told]
    return tuple(found)


def _cluster_holders(
    super_users: frozenset[str], right: AclOperation, cluster: ResourcePattern, interpretation: Interpretation
) -> Iterator[Access]:
    return _holders_in(interpretation, super_users, right, cluster)


def _holders_in(
    interpretation: Interpretation, super_users: frozenset[str], operation: AclOperation, pattern: ResourcePattern
) -> Iterator[Access]:
    unnamed = unnamed_principal([interpretation.index], super_users)
    comparison = AccessComparison(None, interpretation, unnamed, 1 << operation)
    kind, names = pattern.resource_type, names_of(pattern)
    everybody = False
    for piece in comparison.pieces(unnamed, kind, names):
        if piece.effect.gained >> operation & 1:
            everybody = True
            yield Access(None, piece.hosts, piece.region, frozenset({operation}), piece.host, piece.name)
    for principal in sorted(_candidates(interpretation, operation, kind, names) - super_users - {WILDCARD_PRINCIPAL}):
        for zone in _zones(interpretation, principal, operation, kind, names):
            # Where everybody holds it, a principal without it is the exception and needs a row.
            for piece in comparison.pieces(principal, kind, zone, unchanged=everybody):
                held = bool(piece.effect.gained >> operation & 1)
                if held or everybody:
                    operations = frozenset({operation} if held else ())
                    yield Access(principal, piece.hosts, piece.region, operations, piece.host, piece.name)


def _reaches_all_topics(operation: AclOperation, kind: ResourceType) -> bool:
    return kind is ResourceType.TOPIC and bool(1 << operation & ON_EVERY_TOPIC)


def _candidates(
    interpretation: Interpretation, operation: AclOperation, kind: ResourceType, names: NameSet
) -> set[str]:
    """Principals whose access may differ from everybody else's."""
    found = set(interpretation.index.principals(kind).meeting([names]))
    if _reaches_all_topics(operation, kind):
        found |= interpretation.index.principals(ResourceType.CLUSTER).meeting([ALL_NAMES])
    if kind is ResourceType.CLUSTER and operation is AclOperation.IDEMPOTENT_WRITE:
        found |= interpretation.index.principals(ResourceType.TOPIC).meeting([ALL_NAMES])
    return found


def _zones(
    interpretation: Interpretation, principal: str, operation: AclOperation, kind: ResourceType, names: NameSet
) -> list[NameSet]:
    """The names of the question on which a principal's access may differ from everybody else's."""
    if kind is ResourceType.CLUSTER:
        return [names]
    if _reaches_all_topics(operation, kind) and interpretation.index.group(ResourceType.CLUSTER, principal) is not None:
        return [names]
    group = interpretation.index.group(kind, principal)
    own = group.ordered if group is not None else []
    return outermost(names if key.contains(names) else key for key in own if key.meets(names))


def _readings(authorizer: Authorizer, ask: Callable[[Interpretation], Iterator[Access]]) -> list[Access]:
    """The answers in each interpretation: those of both are certain."""
    least, most = authorizer.interpretations.both
    found = list(ask(least))
    if least is not most:
        # A row of one interpretation only depends on what is unknown.
        sure = set(found)
        maybe = list(ask(most))
        possible = set(maybe)
        found = [row if row in possible else replace(row, certain=False) for row in found]
        found += [replace(row, certain=False) for row in maybe if row not in sure]
    return sorted(found, key=lambda row: row.order)
