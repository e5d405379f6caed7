"""What a principal may do, and who may do an operation: exact, as resource sets of names and sets of hosts."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Final, NamedTuple, TypeAlias

from reconciler.access.authorizer import Authorizer
from reconciler.access.comparison import CLUSTER_NAMES, ON_EVERY_TOPIC, AccessComparison
from reconciler.access.group import operations_in
from reconciler.access.hosts import ANY_HOST, Hosts
from reconciler.access.index import Index
from reconciler.access.interpretation import Interpretation, unnamed_principal
from reconciler.access.names import (
    ALL_NAMES,
    NameSet,
    ResourceEffect,
    ResourceSet,
    has_names,
    inside,
    names_of,
    outermost,
    shortest_name,
)
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    CLUSTER_NAME,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)

_TYPES: Final = tuple(kind for kind in ResourceType if kind >= ResourceType.TOPIC)


@dataclass(frozen=True, slots=True)
class Access:
    """Operations that a principal has on a resource set; ``principal=None`` is everybody else.

    Everybody else means all principals that have no row of their own on those names and are not listed as lacking
    access. ``host`` and ``name`` are an example. ``certain`` is false if the row depends on default-allow or on entries
    that cannot be read.
    """

    principal: str | None
    hosts: Hosts
    resources: ResourceSet
    operations: frozenset[AclOperation]
    host: str
    name: str
    certain: bool = True

    @property
    def order(self) -> tuple[object, ...]:
        """Sort key: by resource type, everybody else first, then by principal, resource set and hosts."""
        who = (self.principal is not None, self.principal or "")
        return (self.resources.resource_type, *who, self.resources, self.hosts, sorted(self.operations), self.certain)


def access_of(authorizer: Authorizer, principal: str, within: Iterable[ResourceSet] | None = None) -> list[Access]:
    """Everything that a principal may do, including through ``User:*`` and default-allow; sorted.

    With ``within`` on the names around these resource sets alone. A super user may do everything and has no rows: check
    ``authorizer.super_users`` first.
    """
    # CLUSTER has one resource; every other type has unlimited names.
    zones = {kind: [CLUSTER_NAMES if kind is ResourceType.CLUSTER else ALL_NAMES] for kind in _TYPES}
    if within is not None:
        resource_sets = tuple(within)
        zones = {
            kind: outermost(resources.names for resources in resource_sets if resources.resource_type is kind)
            for kind in _TYPES
        }
    return _readings(authorizer, lambda interpretation: _access_in(interpretation, principal, zones))


def _access_in(
    interpretation: Interpretation, principal: str, zones: Mapping[ResourceType, Iterable[NameSet]]
) -> Iterator[Access]:
    comparison = AccessComparison(None, interpretation, principal)
    for kind in _TYPES:
        for zone in zones[kind]:
            for piece in comparison.pieces(principal, kind, zone):
                yield _access(principal, piece)


def _access(principal: str | None, piece: ResourceEffect) -> Access:
    operations = operations_in(piece.effect.gained)
    return Access(principal, piece.hosts, piece.resources, operations, piece.host, piece.name)


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
    rows = _readings(
        authorizer, lambda interpretation: _holders_in(interpretation, authorizer.super_users, operation, pattern)
    )
    everybody = any(row.principal is None for row in rows)
    return Holders(
        tuple(row for row in rows if row.operations),
        tuple(row for row in rows if not row.operations) if everybody else (),
        _cluster_admins(authorizer, operation, pattern),
        authorizer.super_users,
    )


def _cluster_admins(authorizer: Authorizer, operation: AclOperation, pattern: ResourcePattern) -> tuple[Access, ...]:
    """Who may do anything by way of the cluster; whoever may do so in both ways from the same hosts has one row."""
    cluster = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)
    rows: list[Access] = []
    for right in (AclOperation.ALTER, AclOperation.ALTER_CONFIGS):
        # Asked about this right itself, the rows are these administrators already.
        if (operation, pattern) == (right, cluster):
            continue
        held = _readings(authorizer, partial(_cluster_holders, authorizer.super_users, right, cluster))
        reported = {(row.principal, row.hosts, row.certain) for row in rows}
        rows += [row for row in held if row.operations and (row.principal, row.hosts, row.certain) not in reported]
    return tuple(rows)


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
            yield Access(None, piece.hosts, piece.resources, frozenset({operation}), piece.host, piece.name)
    for principal in sorted(candidates(interpretation, operation, kind, names) - super_users - {WILDCARD_PRINCIPAL}):
        for zone in _zones(interpretation, principal, operation, kind, names):
            # Where everybody holds it, a principal without it is the exception and needs a row.
            for piece in comparison.pieces(principal, kind, zone, unchanged=everybody):
                held = bool(piece.effect.gained >> operation & 1)
                if held or everybody:
                    operations = frozenset({operation} if held else ())
                    yield Access(principal, piece.hosts, piece.resources, operations, piece.host, piece.name)


def _reaches_all_topics(operation: AclOperation, kind: ResourceType) -> bool:
    return kind is ResourceType.TOPIC and bool(1 << operation & ON_EVERY_TOPIC)


def candidates(interpretation: Interpretation, operation: AclOperation, kind: ResourceType, names: NameSet) -> set[str]:
    """Principals whose access may differ from everybody else's."""
    principals = set(interpretation.index.principals(kind, [names]))
    if _reaches_all_topics(operation, kind):
        principals |= interpretation.index.principals(ResourceType.CLUSTER, [ALL_NAMES])
    if kind is ResourceType.CLUSTER and operation is AclOperation.IDEMPOTENT_WRITE:
        principals |= interpretation.index.principals(ResourceType.TOPIC, [ALL_NAMES])
    return principals


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
    """The answers in each interpretation: operations of both on the same names from the same hosts are certain."""
    least, most = authorizer.interpretations.both
    rows = list(ask(least))
    if least is not most:
        rows = list(_with_certainty(rows, ask(most)))
    return sorted(rows, key=lambda row: row.order)


def _with_certainty(rows: Iterable[Access], possible: Iterable[Access]) -> Iterator[Access]:
    others: dict[tuple[str | None, ResourceSet, Hosts], list[Access]] = {}
    for row in possible:
        others.setdefault((row.principal, row.resources, row.hosts), []).append(row)
    for row in rows:
        alike = others.get((row.principal, row.resources, row.hosts))
        # Who lacks access in one interpretation alone has a row of each.
        if not alike or bool(alike[0].operations) is not bool(row.operations):
            yield replace(row, certain=False)
            continue
        for operations, certain in _shared(row.operations, alike.pop(0).operations):
            yield replace(row, operations=operations, certain=certain)
    yield from (replace(row, certain=False) for alike in others.values() for row in alike)


def _shared(
    least: frozenset[AclOperation], most: frozenset[AclOperation]
) -> Iterator[tuple[frozenset[AclOperation], bool]]:
    """The operations of both, which are certain, and those of one alone."""
    if least & most or not least:
        yield least & most, True
    if least ^ most:
        yield least ^ most, False


# What many principals of one cluster may do: the same as ``access_of`` says, and what they have in common once.
#
# Under default-allow every name that some binding covers is an exception to what a principal may do, whoever has the
# binding: each of a thousand principals has thousands of resource sets around names that are none of its business. But
# a principal's own bindings decide only on the names that they cover. Elsewhere it is everybody else.

#: Operations on CLUSTER that decide about every topic.
_OF_CLUSTER: Final = (AclOperation.ALL, AclOperation.CREATE, AclOperation.DELETE)
#: Operations that decide about resources of a type, by ACLs on another type.
_OTHER_TYPE: Final = {
    ResourceType.TOPIC: (ResourceType.CLUSTER, _OF_CLUSTER),
    ResourceType.CLUSTER: (ResourceType.TOPIC, (AclOperation.ALL, AclOperation.WRITE)),
}
_Base: TypeAlias = "_OpenNames | None"


class HeldResources(NamedTuple):
    """Operations on a resource set; not ``certain`` if they depend on default-allow or on unreadable entries."""

    hosts: Hosts
    resources: ResourceSet
    operations: frozenset[AclOperation]
    certain: bool = True


class CommonAccess:
    """The access of one principal after the other; ``everybody_else`` is a principal that no binding names."""

    __slots__ = ("_sides", "_usual", "everybody_else")

    def __init__(self, authorizer: Authorizer) -> None:
        """Nothing is computed yet."""
        least, most = authorizer.interpretations.both
        self.everybody_else = unnamed_principal([least.index, most.index], authorizer.super_users)
        worlds = (least,) if least is most else (least, most)
        self._sides = [_InterpretedAccess(world, self.everybody_else) for world in worlds]
        self._usual: dict[ResourceType, tuple[HeldResources, ...]] = {}

    def of(self, principal: str, kind: ResourceType) -> tuple[HeldResources, ...]:
        """What a principal may do with resources of a type; the same object for all that may do what everybody may.

        A super user may do everything and has no rows.
        """
        if any(side.has_own(principal, kind) for side in self._sides):
            return _united([side.rows(principal, kind) for side in self._sides])
        if kind not in self._usual:
            self._usual[kind] = _united([side.rows(self.everybody_else, kind) for side in self._sides])
        return self._usual[kind]


def _united(sides: Sequence[Iterable[ResourceEffect]]) -> tuple[HeldResources, ...]:
    """The rows of every interpretation: operations of all are certain."""
    first, *others = (
        [HeldResources(row.hosts, row.resources, _operations(row.effect.gained)) for row in rows] for rows in sides
    )
    for other in others:
        # Not by a hash of the set, which may have thousands of cuts: what has the same names is nearly always equal.
        rows: dict[tuple[NameSet, Hosts], list[HeldResources]] = {}
        for row in other:
            rows.setdefault((row.resources.names, row.hosts), []).append(row)
        united = []
        for row in first:
            near = rows.get((row.resources.names, row.hosts), [])
            same = next((item for item in near if item.resources == row.resources), None)
            if same is None:
                united.append(row._replace(certain=False))
                continue
            near.remove(same)
            united += [
                row._replace(operations=operations, certain=certain)
                for operations, certain in _shared(row.operations, same.operations)
            ]
        first = [*united, *(row._replace(certain=False) for near in rows.values() for row in near)]
    return tuple(first)


_operations = cache(operations_in)


class _InterpretedAccess:
    """One interpretation."""

    __slots__ = ("_bases", "_comparison", "_unnamed", "_world")

    def __init__(self, world: Interpretation, unnamed: str) -> None:
        self._world = world
        self._unnamed = unnamed
        self._comparison = AccessComparison(None, world, unnamed)
        self._bases: dict[tuple[ResourceType, frozenset[AclBinding]], _Base] = {}

    def has_own(self, principal: str, kind: ResourceType) -> bool:
        """Whether bindings of the principal may decide about resources of the type."""
        # Access to topics also depends on ACLs on CLUSTER, and IDEMPOTENT_WRITE on CLUSTER on ACLs on topics.
        other = {ResourceType.TOPIC: ResourceType.CLUSTER, ResourceType.CLUSTER: ResourceType.TOPIC}.get(kind, kind)
        return any(self._world.index.bindings(item, principal) for item in {kind, other})

    def rows(self, principal: str, kind: ResourceType) -> list[ResourceEffect]:
        """As ``access_of``: resource sets and hosts on which the principal has the same operations."""
        base = self._base(principal, kind)
        rows = None if base is None else base.with_own(self._comparison, principal)
        return self._all(self._comparison, principal, kind) if rows is None else rows

    @staticmethod
    def _all(comparison: AccessComparison, principal: str, kind: ResourceType) -> list[ResourceEffect]:
        zone = CLUSTER_NAMES if kind is ResourceType.CLUSTER else ALL_NAMES
        return comparison.pieces(principal, kind, zone)

    def _base(self, principal: str, kind: ResourceType) -> _Base:
        """What whoever has the principal's bindings on CLUSTER and no others may do, if that is of any help."""
        world = self._world
        # With guesses, a rule may match a name that nothing covers. Where all is covered, there is nothing to share.
        exact = world.default_allow and world.index is world.cover and kind is not ResourceType.CLUSTER
        if not exact or world.coverage(kind).covers(ALL_NAMES):
            return None
        own = frozenset[AclBinding]()
        if kind is ResourceType.TOPIC:
            on_cluster = world.index.bindings(ResourceType.CLUSTER, principal)
            own = frozenset(
                item._replace(entry=AccessControlEntry(self._unnamed, *item.entry[1:]))
                for item in on_cluster
                if item.entry.operation in _OF_CLUSTER
            )
        if (kind, own) not in self._bases:
            changed = world.with_changes(own, ()) if own else world
            comparison = AccessComparison(None, changed, self._unnamed)
            self._bases[kind, own] = _OpenNames.of(comparison, self._all(comparison, self._unnamed, kind), kind)
        return self._bases[kind, own]


class _OpenNames(NamedTuple):
    """What everybody else may do under default-allow: everything on open names, and something within some ``edges``.

    ``edges`` are the outermost covered sets, in order; ``inner`` has the rows inside each, and ``cuts`` what is cut out
    of the open names there, where that is not the edge itself.
    """

    kind: ResourceType
    outer: ResourceEffect
    edges: list[NameSet]
    inner: dict[NameSet, list[ResourceEffect]]
    cuts: dict[NameSet, list[NameSet]]

    @classmethod
    def of(
        cls, comparison: AccessComparison, rows: Sequence[ResourceEffect], kind: ResourceType
    ) -> "_OpenNames | None":
        """``None`` where the open names are not one resource set that is the same for all hosts."""
        edges = [edge for edge in comparison.after.coverage(kind).edges_within(ALL_NAMES) if has_names(kind, edge)]
        opened = [row for row in rows if row.resources.names == ALL_NAMES]
        if len(opened) != 1 or opened[0].hosts != ANY_HOST or opened[0].effect.gained != comparison.supported[kind]:
            return None
        open_names = cls(kind, opened[0], edges, {}, {})
        for row in rows:
            if row is not open_names.outer:
                edge = open_names.edge_around(row.resources.names)
                if edge is None:
                    return None
                open_names.inner.setdefault(edge, []).append(row)
        cuts: dict[NameSet, list[NameSet]] = {edge: [] for edge in edges}
        for cut in open_names.outer.resources.cuts:
            if (edge := open_names.edge_around(cut)) is None:
                return None
            cuts[edge].append(cut)
        open_names.cuts.update((edge, inside) for edge, inside in cuts.items() if inside != [edge])
        return open_names

    def edge_around(self, names: NameSet) -> NameSet | None:
        """The edge in which these names are."""
        at = bisect_right(self.edges, names) - 1
        return self.edges[at] if at >= 0 and self.edges[at].contains(names) else None

    def with_own(self, comparison: AccessComparison, principal: str) -> list[ResourceEffect] | None:
        """What a principal may do that has bindings of its own; ``None`` where its hosts divide the open names."""
        group = comparison.after.index.group(self.kind, principal)
        own = [key for key in group.ordered if has_names(self.kind, key)] if group is not None else []
        touched = dict.fromkeys(map(self.edge_around, own))
        # With ranges, what is told of hosts depends on all hosts that entries name.
        hosts = comparison.hosts(principal, self.kind, ALL_NAMES)
        ranges = hosts if any("/" in host.label for host in hosts) else None
        rows: list[ResourceEffect] = []
        cuts: dict[NameSet, list[NameSet]] = {}
        for edge in touched:
            if edge is None:
                return None
            cuts[edge] = [edge]
            for row in comparison.pieces(principal, self.kind, edge, hosts=ranges):
                if row.resources.names != edge or row.effect != self.outer.effect:
                    rows.append(row)
                elif row.hosts != ANY_HOST:
                    return None
                else:  # as open as the names around it
                    cuts[edge] = list(row.resources.cuts)
        rows += (row for edge, inner in self.inner.items() if edge not in touched for row in inner)
        if any(own_cuts != self.cuts.get(edge, [edge]) for edge, own_cuts in cuts.items()):
            return [*rows, *self._outer_with(cuts)]
        return [*rows, self.outer]

    def _outer_with(self, changed: dict[NameSet, list[NameSet]]) -> Iterable[ResourceEffect]:
        """The open names with other cuts in some edges; nothing if no name is left."""
        cuts = [cut for edge in self.edges for cut in changed.get(edge, self.cuts.get(edge, [edge]))]
        resources = ResourceSet(self.kind, ALL_NAMES, tuple(cuts))
        if (name := shortest_name(self.kind, resources.names, resources.cuts)) is not None:
            yield self.outer._replace(resources=resources, name=name)


# What all principals may do: their own ACLs decide on the names that these are about, and elsewhere all are alike.


def own_names(authorizer: Authorizer, principal: str, kind: ResourceType) -> list[NameSet]:
    """The names on which a principal's own ACLs decide, outermost sets: elsewhere it may do what everybody may."""
    indexes = _indexes(authorizer)
    if kind is ResourceType.CLUSTER:
        decides = any(index.bindings(item, principal) for index in indexes for item in (kind, ResourceType.TOPIC))
        return [CLUSTER_NAMES] if decides else []
    on_cluster = (binding for index in indexes for binding in index.bindings(ResourceType.CLUSTER, principal))
    if kind is ResourceType.TOPIC and any(binding.entry.operation in _OF_CLUSTER for binding in on_cluster):
        return [ALL_NAMES]
    groups = (index.group(kind, principal) for index in indexes)
    return outermost(key for group in groups if group is not None for key in group.ordered)


def every_access(authorizer: Authorizer) -> list[Access]:
    """What all principals may do, sorted: each request that is permitted is in one row.

    Rows with ``principal=None`` are of every principal, but for super users, on the names that are not its own by
    :func:`own_names`. Super users may do everything and have no rows.
    """
    return _readings(authorizer, partial(_every_access_in, authorizer))


def _every_access_in(authorizer: Authorizer, interpretation: Interpretation) -> Iterator[Access]:
    indexes = _indexes(authorizer)
    unnamed = unnamed_principal(indexes, authorizer.super_users)
    comparison = AccessComparison(None, interpretation, unnamed)
    yield from _everybody_else_in(comparison)
    named = {principal for index in indexes for _, principal in index.group_keys()}
    for principal in sorted(named - authorizer.super_users - {WILDCARD_PRINCIPAL}):
        for kind in _TYPES:
            yield from _own_in(comparison, principal, kind, own_names(authorizer, principal, kind))


def _everybody_else_in(comparison: AccessComparison) -> Iterator[Access]:
    for kind in _TYPES:
        zone = CLUSTER_NAMES if kind is ResourceType.CLUSTER else ALL_NAMES
        yield from (_access(None, piece) for piece in comparison.pieces(comparison.unnamed, kind, zone))


def _own_in(
    comparison: AccessComparison, principal: str, kind: ResourceType, zones: Sequence[NameSet]
) -> Iterator[Access]:
    pieces = comparison.pieces_of_zones(principal, kind, [(zone, False) for zone in zones]) if zones else ()
    return (_access(principal, piece) for piece in pieces)


class OwnAccess:
    """What principals may do on the names that their own ACLs are about; the rest is everybody else's.

    A list of what each principal may do everywhere repeats what all have in common for each of them: where the default
    is not known, every name that any ACL covers. A principal may do what its ``rows`` permit on any name, and outside
    of its ``names`` what ``everybody_else`` may.
    """

    __slots__ = ("_authorizer", "_comparisons", "_indexes", "_shared", "_to_lose", "everybody_else")

    def __init__(self, authorizer: Authorizer, compared: Iterable[Authorizer] = ()) -> None:
        """``compared`` are other states that the answers are compared with: names of own ACLs in any are own in all."""
        self._authorizer = authorizer
        worlds = {id(world): world for state in (authorizer, *compared) for world in state.interpretations.both}
        self._indexes = list({id(world.index): world.index for world in worlds.values()}.values())
        unnamed = unnamed_principal(self._indexes, authorizer.super_users)
        #: By the identity of an interpretation.
        self._comparisons = {number: AccessComparison(None, world, unnamed) for number, world in worlds.items()}
        #: The types on which everybody else may do something by an ACL on another type.
        self._to_lose = {
            kind
            for kind in _OTHER_TYPE
            if any(comparison.by_other_type(unnamed, kind) for comparison in self._comparisons.values())
        }
        #: What a principal may do that no ACL names; sorted.
        self.everybody_else = _readings(authorizer, lambda world: _everybody_else_in(self._comparisons[id(world)]))
        self._shared = frozenset(row.resources.resource_type for row in self.everybody_else)

    def names(self, principal: str) -> list[ResourceSet]:
        """Where its own ACLs decide what a principal may do, and nothing of everybody else counts; sorted."""
        return [
            ResourceSet(kind, zone) for kind in _TYPES for zone in self._zones(principal, kind) if has_names(kind, zone)
        ]

    def rows(self, principal: str) -> list[Access]:
        """What it may do there, and elsewhere by an own ACL on another type of resource; sorted.

        Without operations are those of its names on which it may do nothing, of types on which everybody else may do
        something.
        """
        rows = _readings(self._authorizer, partial(self._rows_in, principal))
        held = {
            kind: sorted(row.resources.names for row in rows if row.resources.resource_type is kind) for kind in _TYPES
        }
        host = next(iter(self._comparisons.values())).classes(frozenset())[0].sample
        for resources in self.names(principal):
            kind, name = resources.resource_type, resources.witness()
            if kind in self._shared and name is not None and not inside(held[kind], resources.names):
                rows.append(Access(principal, ANY_HOST, resources, frozenset(), host, name))
        return sorted(rows, key=lambda row: row.order)

    def _rows_in(self, principal: str, interpretation: Interpretation) -> Iterator[Access]:
        comparison = self._comparisons[id(interpretation)]
        for kind in _TYPES:
            zones = self._zones(principal, kind)
            yield from _own_in(comparison, principal, kind, zones)
            other = self._of_other_type(principal, kind)
            if zones not in ([ALL_NAMES], [CLUSTER_NAMES]) and any(map(_allows, other)):
                yield from (_access(principal, piece) for piece in comparison.by_other_type(principal, kind))

    def _zones(self, principal: str, kind: ResourceType) -> list[NameSet]:
        # An ALLOW of its own on the other type adds to what everybody may do, in a row. A DENY takes from it.
        if kind in self._to_lose and not all(map(_allows, self._of_other_type(principal, kind))):
            return [CLUSTER_NAMES if kind is ResourceType.CLUSTER else ALL_NAMES]
        groups = (index.group(kind, principal) for index in self._indexes)
        return outermost(key for group in groups if group is not None for key in group.ordered)

    def _of_other_type(self, principal: str, kind: ResourceType) -> list[AclBinding]:
        """Its ACLs that decide about resources of another type as well: on CLUSTER about topics, and the other way."""
        of = _OTHER_TYPE.get(kind)
        if of is None:
            return []
        bindings = (item for index in self._indexes for item in index.bindings(of[0], principal))
        return [item for item in bindings if item.entry.operation in of[1]]


def _allows(binding: AclBinding) -> bool:
    return binding.entry.permission_type is AclPermissionType.ALLOW


def _indexes(authorizer: Authorizer) -> list[Index]:
    least, most = authorizer.interpretations.both
    return [least.index] if least is most else [least.index, most.index]
