"""What the bindings of a fleet mean, by Kafka's own rules: who may do something anywhere, all that principals reach."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeAlias

from reconciler.access.authorizer import Authorizer
from reconciler.access.effective import CommonAccess, HeldResources, who_can
from reconciler.access.names import ALL_NAMES, ResourceSet
from reconciler.app.connections import version_of
from reconciler.app.reasons import WorkflowError
from reconciler.app.states import as_established
from reconciler.app.terms import claimed_super_users
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model.acl import WILDCARD_PRINCIPAL, AclBinding, AclOperation, ResourcePattern, ResourceType
from reconciler.model.flavor import supported
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.engine import EVALUATED_IN_A_TASK, Engine, Work, reason
from reconciler.parts.fleet.readings import read_live
from reconciler.parts.fleet.store import FleetStore
from reconciler.plan.review.access_change import EVERYBODY_ELSE
from reconciler.results.fleet_drift import FleetRun, Reading

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
        self.counts: dict[tuple[int, tuple[ResourceSet, ...]], int] = {}
        #: Sets of topics by number.
        self.topics: dict[tuple[str, ...], int] = {}


class _Right(NamedTuple):
    """One operation on one type, by the sets on which it is there; ``resource_sets`` are empty but for topics."""

    kind: ResourceType
    operation: AclOperation
    names: list[str]
    resource_sets: tuple[ResourceSet, ...]
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
    common, seen = CommonAccess(authorizer), _SeenResources(existing)
    for name in (*sorted(own.keys() - authorizer.super_users), common.everybody_else):
        shown = EVERYBODY_ELSE if name == common.everybody_else else name
        if not alone:
            yield from _of_one(common, seen, name, shown)
            continue
        key = name, frozenset(own.get(name, ())), everybody, authorizer.kafka_version
        rights = memory.rights.get(key)
        if rights is None:
            held = (row for kind in _TYPES for row in common.of(name, kind))
            rights = memory.rights[key] = _rights(held, seen)
        place = memory.topics.setdefault(existing, len(memory.topics))
        for right in rights:
            yield _reach(
                shown, right, _count(memory, place, existing, right.resource_sets) if right.resource_sets else 0
            )


def _of_super_users(authorizer: Authorizer, topics: int) -> Iterator[AccessReach]:
    for name in sorted(authorizer.super_users):
        for kind in _TYPES:
            for operation in sorted(supported(kind, authorizer.kafka_version)):
                count = topics if kind is ResourceType.TOPIC else 0
                yield AccessReach(name, kind.name, operation.name, ["(super user)"], count, True, True)


def _of_one(common: CommonAccess, seen: "_SeenResources", name: str, shown: str) -> Iterator[AccessReach]:
    """The rows of one principal of a cluster where other principals' bindings count too."""
    for kind in _TYPES:
        held = common.of(name, kind)
        for row in seen.rows(held):
            yield row._replace(principal=shown)


class _SeenResources:
    """What was made of resource sets of one cluster before: words, existing topics, rows."""

    __slots__ = ("_existing", "_numbers", "_resource_sets", "_rows")

    def __init__(self, existing: tuple[str, ...]) -> None:
        self._existing = existing
        self._numbers = {name: number for number, name in enumerate(existing)}
        #: By identity, with the object, so that it stays: a hash would look at thousands of cuts each time.
        self._resource_sets: dict[int, tuple[ResourceSet, str, int]] = {}
        self._rows: dict[int, tuple[tuple[HeldResources, ...], list[AccessReach]]] = {}

    def rows(self, held: tuple[HeldResources, ...]) -> list[AccessReach]:
        """A row for each operation; most principals of a cluster have the same on most types."""
        entry = self._rows.get(id(held))
        if entry is None:
            rows = [_reach("", right, self.count(right.resource_sets)) for right in _rights(held, self)]
            entry = self._rows[id(held)] = held, rows
        return entry[1]

    def count(self, resource_sets: Iterable[ResourceSet]) -> int:
        """How many existing topics are in some of the resource sets."""
        covered = 0
        for resources in resource_sets:
            covered |= self._resources(resources)[2]
        return covered.bit_count()

    def text(self, resources: ResourceSet) -> str:
        """The resource set in words."""
        return self._resources(resources)[1]

    def _resources(self, resources: ResourceSet) -> tuple[ResourceSet, str, int]:
        entry = self._resource_sets.get(id(resources))
        if entry is None:
            topics = 0
            if resources.resource_type is ResourceType.TOPIC:
                topics = sum(1 << self._numbers[name] for name in resources.select(self._existing))
            entry = self._resource_sets[id(resources)] = resources, str(resources), topics
        return entry


def _reach(principal: str, right: _Right, topics: int) -> AccessReach:
    kind, operation, names, _, every_name, certain = right
    return AccessReach(principal, kind.name, operation.name, names, topics, every_name, certain)


def _decides_alone(authorizer: Authorizer) -> bool:
    """Whether the bindings of a principal and of everybody are all that decides about it, on any cluster."""
    certain = authorizer.interpretations.known and not authorizer.interpretations.least.default_allow
    return certain and not authorizer.broker_defects.types


def _count(memory: ReachMemory, place: int, existing: tuple[str, ...], resource_sets: tuple[ResourceSet, ...]) -> int:
    count = memory.counts.get((place, resource_sets))
    if count is None:
        count = len({name for resources in resource_sets for name in resources.select(existing)})
        memory.counts[place, resource_sets] = count
    return count


def _rights(held: Iterable[HeldResources], seen: _SeenResources) -> list[_Right]:
    parts: dict[tuple[ResourceType, AclOperation], list[HeldResources]] = {}
    for row in held:
        for operation in row.operations:
            parts.setdefault((row.resources.resource_type, operation), []).append(row)
    rights = []
    for (kind, operation), rows in sorted(parts.items()):
        # The same names may come once for each set of hosts; sorted, equal ones are neighbours.
        resource_sets = tuple(resources for resources, _ in groupby(sorted(row.resources for row in rows)))
        every_name = any(resources.names == ALL_NAMES for resources in resource_sets)
        certain = all(row.certain for row in rows)
        reached = resource_sets if kind is ResourceType.TOPIC else ()
        rights.append(
            _Right(kind, operation, [seen.text(resources) for resources in resource_sets], reached, every_name, certain)
        )
    return rights


Answer: TypeAlias = tuple[list[str], list[list[Any]]]
Unit: TypeAlias = "tuple[Reading, ClusterDeclaration | None]"

#: On CLUSTER: with these one may do anything, by a listener of one's own too, on which one logs in as anybody.
_OVER_CLUSTER: Final = ("ALTER", "ALTER_CONFIGS", "CLUSTER_ACTION")


@dataclass(frozen=True, slots=True)
class WhoCan:
    """Who has an operation on some name of a pattern."""

    operation: AclOperation
    pattern: ResourcePattern


def holders(engine: Engine, store: FleetStore, run: FleetRun, manifests: Manifests, question: WhoCan) -> Answer:
    """Who may do what is asked, on every cluster."""
    work = partial(_holders, store=store, question=question)
    lines = engine.run(access_lists(engine, run, manifests), work, "who can")
    return ["cluster", "principal", "names", "hosts", "certain"], sorted(json.loads(line) for line in lines)


def blast_radius(
    engine: Engine, store: FleetStore, run: FleetRun, manifests: Manifests
) -> tuple[Answer, dict[str, str]]:
    """Principals by how much they can reach, summed over the clusters; and clusters that cannot be judged, with why.

    Effective access, so DENYs count.
    """
    sums: dict[str, PrincipalReach] = {}
    unjudged: dict[str, str] = {}
    for line in engine.run(access_lists(engine, run, manifests), partial(_radius, store=store), "blast radius"):
        name, *values = json.loads(line)
        if len(values) == 1:
            unjudged[name] = values[0]
        else:
            sums[name] = PrincipalReach(*values).with_others(sums.get(name, PrincipalReach()))
    rows: list[list[Any]] = [[name, *values] for name, values in sums.items()]
    rows.sort(key=lambda row: (-row[2], -row[4], -row[5], -row[6], row[0]))
    return (["principal", *PrincipalReach._fields], rows), unjudged


class PrincipalReach(NamedTuple):
    """How far a principal reaches on some clusters; topics that exist, summed over them."""

    clusters: int = 0
    over_clusters: int = 0
    on_every_topic: int = 0
    topics_to_delete: int = 0
    topics_to_write: int = 0
    topics_to_read: int = 0
    certain: bool = True

    def with_others(self, other: "PrincipalReach") -> "PrincipalReach":
        """Of both, which are about different clusters."""
        return PrincipalReach(
            self.clusters + other.clusters,
            self.over_clusters + other.over_clusters,
            self.on_every_topic + other.on_every_topic,
            self.topics_to_delete + other.topics_to_delete,
            self.topics_to_write + other.topics_to_write,
            self.topics_to_read + other.topics_to_read,
            self.certain and other.certain,
        )


def _radius(units: Sequence[Unit], attempt: str, *, store: FleetStore) -> Iterator[str]:
    sums: dict[str, PrincipalReach] = {}
    memory = ReachMemory()
    for reading, declaration in units:
        try:
            of_cluster = _reached(_rows(reading, declaration, store, memory))
        except Exception as error:  # one cluster's trouble must not hide the others
            yield json.dumps([reading.cluster, _why(error)], ensure_ascii=False)
            continue
        for name, reach in of_cluster.items():
            sums[name] = reach.with_others(sums.get(name, PrincipalReach()))
    for name, reach in sums.items():
        yield json.dumps([name, *reach], ensure_ascii=False)


def _reached(rows: Iterable[AccessReach]) -> dict[str, PrincipalReach]:
    """Of one cluster, by principal."""
    reached: dict[str, PrincipalReach] = {}
    for row in rows:
        before = reached.get(row.principal, PrincipalReach(1))
        over = row.resource_type == "CLUSTER" and row.operation in _OVER_CLUSTER
        reached[row.principal] = PrincipalReach(
            1,
            max(before.over_clusters, int(over)),
            max(before.on_every_topic, int(row.every_name and row.resource_type == "TOPIC")),
            before.topics_to_delete + (row.topics if row.operation == "DELETE" else 0),
            before.topics_to_write + (row.topics if row.operation == "WRITE" else 0),
            before.topics_to_read + (row.topics if row.operation == "READ" else 0),
            before.certain and row.certain,
        )
    return reached


def access_lists(engine: Engine, run: FleetRun, manifests: Manifests) -> list[list[Unit]]:
    """The clusters of a run in lists of about the same work."""
    units = [(reading, manifests.clusters.get(reading.cluster)) for reading in run.readings]
    return engine.shared_out(units, EVALUATED_IN_A_TASK, [reading.rows for reading, _ in units])


def _judge(reading: Reading, declaration: ClusterDeclaration | None, store: FleetStore) -> "_Judged":
    if reading.acl_gap:
        raise NotWholeError(f"the ACL listing may not be whole: {reading.acl_gap}")
    state = read_live(store.files, reading)
    authorizer = Authorizer(
        state.bindings,
        declaration.super_users if declaration else (),
        declaration.allow_everyone_if_no_acl_found if declaration else None,
        version_of(state.kafka_version, state.kafka_version_gap, declaration),
        opaque=state.opaque,
    )
    return state, authorizer.with_members(declaration.flavor.membership_types) if declaration else authorizer


def _established_default(authorizer: Authorizer, declaration: ClusterDeclaration | None) -> Authorizer:
    return authorizer if declaration is None else as_established(authorizer, declaration)


def _claimed_by(declaration: ClusterDeclaration | None) -> frozenset[str]:
    """The super users that only the manifests state: there, whoever proposes a change would answer the question."""
    return frozenset() if declaration is None else frozenset(claimed_super_users(declaration))


class NotWholeError(Exception):
    """What is missing could change every answer."""


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, NotWholeError | WorkflowError) else reason(error)


_Judged: TypeAlias = "tuple[ClusterState, Authorizer]"


def _rows(
    reading: Reading, declaration: ClusterDeclaration | None, store: FleetStore, memory: ReachMemory
) -> Iterator[AccessReach]:
    state, authorizer = _judge(reading, declaration, store)
    claimed = _claimed_by(declaration)
    # Super users as declared: their rows say that they reach everything, and whether that is certain.
    for row in reaches(_established_default(authorizer, declaration), state.topics, memory):
        yield row._replace(certain=False) if row.principal in claimed else row


def access_of_units(store: FleetStore) -> Work[Unit]:
    """What a task says of effective access: a row for each operation of each principal, as a line of JSON."""
    return partial(_reaches, store=store)


def _reaches(units: Sequence[Unit], attempt: str, *, store: FleetStore) -> Iterator[str]:
    memory = ReachMemory()
    for reading, declaration in units:
        try:
            rows = list(_rows(reading, declaration, store, memory))
        except Exception as error:  # one cluster's trouble must not hide the others
            yield json.dumps([reading.cluster, None, None, None, [_why(error)], None, None, False])
            continue
        for row in rows:
            yield json.dumps([reading.cluster, *row], ensure_ascii=False)


def _holders(units: Sequence[Unit], attempt: str, *, store: FleetStore, question: WhoCan) -> Iterator[str]:
    """Rows of each cluster; super users and whoever may ALTER the cluster, or its configs, show in the names column."""
    for reading, declaration in units:
        try:
            _, authorizer = _judge(reading, declaration, store)
            claimed = _claimed_by(declaration)
            holders = who_can(_established_default(authorizer, declaration), question.operation, question.pattern)
        except Exception as error:  # one cluster's trouble must not hide the others
            yield json.dumps([reading.cluster, "", f"not known: {_why(error)}", "", False])
            continue
        for row in holders.rows:
            names = [reading.cluster, row.principal or EVERYBODY_ELSE, str(row.resources), str(row.hosts), row.certain]
            yield json.dumps(names, ensure_ascii=False)
        for row in holders.cluster_admins:
            right = "ALTER" if AclOperation.ALTER in row.operations else "ALTER_CONFIGS on"
            admin = [reading.cluster, row.principal or EVERYBODY_ELSE, f"(may {right} the cluster)", str(row.hosts)]
            yield json.dumps([*admin, row.certain], ensure_ascii=False)
        for name in sorted(holders.super_users):
            yield json.dumps([reading.cluster, name, "(super user)", "*", name not in claimed], ensure_ascii=False)
