"""Compare two interpretations of access for one principal: every name is in one resource set, every host in one class.

The comparison is about what the APIs permit: a topic is also created and deleted by CREATE and DELETE on CLUSTER
(``ControllerApis``), and an idempotent producer starts with IDEMPOTENT_WRITE on CLUSTER or WRITE on any topic.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from reconciler.access.authorizer import may_on_some_resource
from reconciler.access.group import EVERY, BindingGroup, bits
from reconciler.access.hosts import ANY_HOST, ClassSet, HostClass, Hosts, host_classes
from reconciler.access.interpretation import ROW, Interpretation, Work
from reconciler.access.names import (
    ALL_NAMES,
    ASTERISK_NAMES,
    LITERAL,
    NO_EFFECT,
    AccessEffect,
    NameSet,
    ResourceEffect,
    ResourceSet,
    has_names,
    inside,
    literal,
    shortest_name,
)
from reconciler.access.resource_sets import EffectAt, NodeTree, ResourceClasses, ResourceSets
from reconciler.model.acl import CLUSTER_NAME, WILDCARD, WILDCARD_PRINCIPAL, AclOperation, ResourceType
from reconciler.model.flavor import KafkaVersion, supported

# What the APIs permit: some accept a right on another resource in place of the one on the resource itself.

CLUSTER_NAMES: Final = literal(CLUSTER_NAME)
#: What CLUSTER grants on every topic; a DENY on a topic does not limit it.
ON_EVERY_TOPIC: Final = bits([AclOperation.CREATE, AclOperation.DELETE])
#: What WRITE on any topic grants on CLUSTER.
IDEMPOTENT: Final = bits([AclOperation.IDEMPOTENT_WRITE])


def permitted_by_api(
    interpretation: Interpretation,
    principal: str,
    host: str,
    resource_type: ResourceType,
    key: NameSet,
    on_cluster: str | None = None,
) -> int:
    """What the APIs permit on the names of ``key`` that are in no narrower set, as bits; ignores super users.

    ``on_cluster`` is a host to ask for on CLUSTER, where topics are asked about for a host that stands for others.
    """
    operations = interpretation.access(principal, host, resource_type, key)
    # ControllerApis accepts CREATE on CLUSTER in place of CREATE on the topic, and DELETE alike.
    if resource_type is ResourceType.TOPIC:
        if not interpretation.may_have_access(principal, ResourceType.CLUSTER):
            return operations
        asked = (principal, on_cluster or host, ResourceType.CLUSTER, CLUSTER_NAMES)
        operations |= interpretation.access(*asked) & ON_EVERY_TOPIC
    # KafkaApis.handleInitProducerIdRequest accepts WRITE on any topic in place of IDEMPOTENT_WRITE (KIP-679).
    elif (
        resource_type is ResourceType.CLUSTER
        and not operations & IDEMPOTENT
        and may_on_some_resource(interpretation, principal, host, AclOperation.WRITE, ResourceType.TOPIC)
    ):
        operations |= IDEMPOTENT
    return operations


# Zones on which a principal has the same access to every name from every host: most of those that many are asked for.
#
# There the effect follows from the masks of the entries that match, so it is decided once for each combination of
# masks, and what ``User:*`` has on a zone is looked up once, for all principals.

#: The effect for a principal from a host on the names of a type that are in no narrower set.
EffectOf: TypeAlias = Callable[[str, str, ResourceType, NameSet], AccessEffect]
#: A mask for each interpretation, or the one of all of them.
Masks: TypeAlias = tuple[int, ...] | int
# Builds a named tuple without its Python-level constructor: there is one for each principal and zone.
_new: Final = tuple.__new__


class _Shared(NamedTuple):
    """A zone that no entry of ``User:*`` divides, and a shortest name, if it has one.

    ``effects`` are by a principal's own masks, the same for all zones where ``User:*`` has the same masks.
    """

    resources: ResourceSet
    name: str | None
    effects: dict[Masks, AccessEffect]


class _OfEveryone:
    """What principals share on one resource type: the entries of ``User:*``, and the zones that are known."""

    __slots__ = ("_coverages", "_effects", "_groups", "_kind", "zones")

    def __init__(self, kind: ResourceType, interpretations: Sequence[Interpretation]) -> None:
        self._kind = kind
        self._groups = _Groups(kind, WILDCARD_PRINCIPAL, interpretations)
        self._coverages = [
            interpretation.coverage(kind) for interpretation in interpretations if interpretation.default_allow
        ]
        self._effects: dict[Masks, dict[Masks, AccessEffect]] = {}
        #: ``None`` for a zone that may be divided whatever a principal's own entries are.
        self.zones: dict[NameSet, _Shared | None] = {}

    def look_at(self, zone: NameSet) -> _Shared | None:
        """Find out about a zone that is not known yet."""
        self.zones[zone] = shared = None if self._is_divided(zone) else self._shared(zone)
        return shared

    def _is_divided(self, zone: NameSet) -> bool:
        # LITERAL * does not match all names that begin with an asterisk.
        if zone.text[:1] in ("", WILDCARD) or self._groups.divide(zone):
            return True
        # What no entry covers, default-allow divides by the patterns of every principal.
        return not all(coverage.covers(zone) for coverage in self._coverages)

    def _shared(self, zone: NameSet) -> _Shared:
        effects = self._effects.setdefault(self._groups.masks(zone), {})
        if zone.kind == LITERAL:
            return _Shared(ResourceSet(self._kind, zone), zone.text if has_names(self._kind, zone) else None, effects)
        return _Shared(ResourceSet(self._kind, zone), shortest_name(self._kind, zone), effects)


class UniformZones:
    """Answers for the zones of one comparison that are certainly uniform, and for no others."""

    __slots__ = ("_cluster_hosts", "_everyone", "_host", "_interpretations")

    def __init__(self, interpretations: Iterable[Interpretation], host: str) -> None:
        """``host`` stands for hosts that no entry names."""
        self._interpretations = tuple(interpretations)
        self._everyone: dict[ResourceType, _OfEveryone] = {}
        self._host = host
        self._cluster_hosts = bool(_Groups(ResourceType.CLUSTER, WILDCARD_PRINCIPAL, self._interpretations).hosts)

    def pieces(
        self, principal: str, kind: ResourceType, zones: Iterable[NameSet], effect_of: EffectOf
    ) -> Iterator[Sequence[ResourceEffect] | None]:
        """For each zone its one piece, or none where it has no possible name; ``None`` if it is not uniform.

        ``effect_of`` is always the same, and depends on nothing but the interpretations.
        """
        if not self._may_have_any(principal, kind):
            yield from (None for _ in zones)
            return
        everyone = self._everyone.get(kind)
        if everyone is None:
            everyone = self._everyone[kind] = _OfEveryone(kind, self._interpretations)
        of_everyone = everyone.zones
        own = _Groups(kind, principal, self._interpretations)
        for zone in zones:
            shared = of_everyone[zone] if zone in of_everyone else everyone.look_at(zone)
            if shared is None or ((own.hosts or zone.kind != LITERAL) and own.divide(zone)):
                yield None
            elif shared.name is None:
                yield ()
            else:
                masks = own.masks(zone)
                effect = shared.effects.get(masks)
                if effect is None:
                    effect = shared.effects[masks] = effect_of(principal, self._host, kind, zone)
                yield (_new(ResourceEffect, (ANY_HOST, shared.resources, effect, self._host, shared.name)),)

    def _may_have_any(self, principal: str, kind: ResourceType) -> bool:
        # Rights on CLUSTER count on topics as well, and the other way round: who has any is compared in full.
        if kind is not ResourceType.TOPIC:
            return kind is not ResourceType.CLUSTER
        of = (
            interpretation.index.bindings(ResourceType.CLUSTER, principal) for interpretation in self._interpretations
        )
        return not self._cluster_hosts and not any(of)


class _Groups:
    """One principal's bindings on one resource type in each interpretation: as a rule the same group in all."""

    __slots__ = ("_distinct", "_only_table", "_tables", "hosts")

    def __init__(self, kind: ResourceType, principal: str, interpretations: Sequence[Interpretation]) -> None:
        groups = [interpretation.index.group(kind, principal) for interpretation in interpretations]
        self._distinct = [group for group in dict.fromkeys(groups) if group is not None]
        #: The groups with entries for some hosts only.
        self.hosts = [group for group in self._distinct if group.hosts() is not None]
        self._tables = [None if group is None else group.tables.get(WILDCARD) for group in groups]
        self._only_table = self._tables[0] if len(set(self._tables)) == 1 else None

    def divide(self, zone: NameSet) -> bool:
        """Whether entries distinguish hosts or names of a zone."""
        for group in self.hosts:
            if group.hosts_on(zone):
                return True
        if zone.kind != LITERAL:
            for group in self._distinct:
                inner = inside(group.ordered, zone)
                if len(inner) > 1 or (inner and inner[0] != zone):
                    return True
        return False

    def masks(self, zone: NameSet) -> Masks:
        """What entries for any host say on the names of a zone that are in no narrower set."""
        if self._only_table is not None:
            return self._only_table.at_names(zone)
        return tuple([0 if table is None else table.at_names(zone) for table in self._tables])


#: So many classes of hosts are worth finding out which names each has entries on.
_MANY_CLASSES: Final = 3


class AccessComparison:
    """Two interpretations; ``before=None`` stands for a cluster on which nobody may do anything."""

    __slots__ = (
        "_asked",
        "_asker",
        "_classes",
        "_hosts",
        "_possible",
        "_uniform",
        "after",
        "before",
        "interpretations",
        "supported",
        "unnamed",
        "version",
        "work",
    )

    def __init__(
        self,
        before: Interpretation | None,
        after: Interpretation,
        unnamed: str,
        only: int = EVERY,
        work: Work | None = None,
    ) -> None:
        """``unnamed`` is a principal that neither interpretation names: it stands for everybody else.

        ``only`` limits the comparison to some operations, as bits.
        """
        self.before = before
        self.after = after
        self.unnamed = unnamed
        self.interpretations: tuple[Interpretation, ...] = (after,) if before is None else (before, after)
        self.version: KafkaVersion = after.index.version
        self.work = Work() if work is None else work
        self.supported = {
            kind: only & bits(supported(kind, self.version)) for kind in ResourceType if kind >= ResourceType.TOPIC
        }
        self._classes: dict[frozenset[str], list[HostClass]] = {}
        # By the identity of a list of classes, which all are kept.
        self._hosts: dict[tuple[int, tuple[int, ...]], Hosts | None] = {}
        # Caches of the last principal: callers ask many questions about one principal before the next one.
        self._asker: str | None = None
        self._asked: dict[ResourceType, list[BindingGroup]] = {}
        self._possible: dict[tuple[ResourceType, NameSet], bool] = {}
        self._uniform: UniformZones | None = None

    def effect(
        self, principal: str, host: str, resource_type: ResourceType, key: NameSet, on_cluster: str | None = None
    ) -> AccessEffect:
        """What changes on the names of ``key`` that are in no narrower set; see :func:`permitted_by_api`."""
        kept = self.supported[resource_type]
        asked = (principal, host, resource_type, key, on_cluster)
        new = permitted_by_api(self.after, *asked) & kept
        old = 0 if self.before is None else permitted_by_api(self.before, *asked) & kept
        # The same object for no effect, so that callers can compare by identity.
        return NO_EFFECT if old == new else AccessEffect(new & ~old, old & ~new)

    def groups(self, principal: str, resource_type: ResourceType) -> list[BindingGroup]:
        """The compiled bindings of one principal and of ``User:*`` on one type, in both interpretations."""
        if self._asker != principal:
            self._asker, self._asked = principal, {}
        groups = self._asked.get(resource_type)
        if groups is None:
            who = dict.fromkeys((principal, WILDCARD_PRINCIPAL))
            compiled = (
                interpretation.index.group(resource_type, name)
                for interpretation in self.interpretations
                for name in who
            )
            groups = self._asked[resource_type] = list(dict.fromkeys(group for group in compiled if group is not None))
        return groups

    def classes(self, texts: frozenset[str]) -> list[HostClass]:
        """The classes of hosts that these host texts distinguish."""
        if texts not in self._classes:
            self._classes[texts] = host_classes(texts, self.version)
        return self._classes[texts]

    def hosts(self, principal: str, resource_type: ResourceType, zone: NameSet) -> list[HostClass]:
        """The classes of hosts that rules on names of ``zone`` distinguish."""
        groups = self.groups(principal, resource_type)
        texts = {text for group in groups if group.hosts() is not None for text in group.hosts_on(zone)}
        # Access to topics also depends on ACLs on CLUSTER, and IDEMPOTENT_WRITE on CLUSTER on ACLs on topics.
        if resource_type in (ResourceType.TOPIC, ResourceType.CLUSTER):
            for kind in (ResourceType.TOPIC, ResourceType.CLUSTER):
                if kind is ResourceType.CLUSTER or resource_type is ResourceType.CLUSTER:
                    texts.update(text for group in self.groups(principal, kind) for text in group.tables)
        return self.classes(frozenset(texts - {WILDCARD}))

    def nodes(self, principal: str, resource_type: ResourceType, zone: NameSet) -> list[NameSet]:
        """``zone`` and the sets inside it on which access may differ, outer ones first."""
        # Nothing is inside a single name, so there is nothing to divide.
        if zone.literal:
            return [zone] if self._is_possible(resource_type, zone) else []
        nodes = {zone, ASTERISK_NAMES, literal(WILDCARD)} if zone.contains(ASTERISK_NAMES) else {zone}
        for group in self.groups(principal, resource_type):
            nodes.update(inside(group.ordered, zone))
        # Under default-allow the patterns of other principals matter too: they cover names, the outermost all of them.
        for interpretation in self.interpretations:
            if interpretation.default_allow:
                nodes.update(interpretation.coverage(resource_type).edges_within(zone))
        return sorted(key for key in nodes if self._is_possible(resource_type, key))

    def _is_possible(self, resource_type: ResourceType, key: NameSet) -> bool:
        asked = (resource_type, key)
        possible = self._possible.get(asked)
        if possible is None:
            possible = self._possible[asked] = has_names(resource_type, key)
        return possible

    def pieces(
        self,
        principal: str,
        resource_type: ResourceType,
        zone: NameSet,
        *,
        unchanged: bool = False,
        hosts: Sequence[HostClass] | None = None,
    ) -> list[ResourceEffect]:
        """Resource sets of ``zone`` with an effect, and with ``unchanged`` also those without; disjoint for each host.

        ``hosts`` limits the comparison to some hosts; without it, it covers every possible host.
        """
        nodes = self.nodes(principal, resource_type, zone)
        # Without names in the zone itself (an impossible topic name, for example) there are none in its parts.
        if not nodes:
            return []
        classes = self.hosts(principal, resource_type, zone) if hosts is None else hosts
        resource_sets = self._spread(principal, resource_type, nodes, classes, unchanged=unchanged)
        return list(self._with_hosts(resource_sets, classes, recurring=hosts is None))

    def by_other_type(self, principal: str, resource_type: ResourceType) -> list[ResourceEffect]:
        """What rights on CLUSTER permit on every topic, or WRITE on any topic on CLUSTER; of the state after."""
        of_topics = resource_type is ResourceType.TOPIC
        resources = ResourceSet(resource_type, ALL_NAMES if of_topics else CLUSTER_NAMES)
        rights = ON_EVERY_TOPIC if of_topics else IDEMPOTENT
        classes = self.hosts(principal, ResourceType.CLUSTER, CLUSTER_NAMES)
        resource_sets = ResourceClasses[AccessEffect](lambda effect: bool(effect.gained))
        for number, host in enumerate(classes):
            held = permitted_by_api(self.after, principal, host.sample, ResourceType.CLUSTER, CLUSTER_NAMES)
            resource_sets.add([(resources, AccessEffect(held & rights, 0))], number)
        return list(self._with_hosts(resource_sets, classes, recurring=True))

    def _with_hosts(
        self, resource_sets: ResourceClasses[AccessEffect], classes: Sequence[HostClass], *, recurring: bool
    ) -> Iterator[ResourceEffect]:
        for (resources, effect), where in resource_sets.items():
            self.work.spend(ROW + len(resources.cuts))
            # A resource set that the cuts use up holds no name, so nothing changes on it.
            # A single name is one that a resource can have: nodes hold no others.
            name = resources.names.text if resources.names.literal else self._shortest(resources)
            if name is not None and (alike := self._alike(where, classes, recurring=recurring)) is not None:
                yield ResourceEffect(alike, resources, effect, where.example(classes), name)

    def pieces_of_zones(
        self, principal: str, resource_type: ResourceType, zones: Sequence[tuple[NameSet, bool]]
    ) -> Iterator[ResourceEffect]:
        """The ``pieces`` of several zones, each with what is ``unchanged``; quick where many principals are asked."""
        if self._uniform is None:
            host = self.classes(frozenset())[0].sample
            self._uniform = UniformZones(self.interpretations, host)
        uniform = self._uniform.pieces(principal, resource_type, [zone for zone, _ in zones], self.effect)
        for (zone, unchanged), pieces in zip(zones, uniform, strict=True):
            if pieces is None:
                yield from self.pieces(principal, resource_type, zone, unchanged=unchanged)
                continue
            for piece in pieces:
                shown = unchanged or piece.effect is not NO_EFFECT
                self.work.spend(1 + ROW if shown else 1)
                if shown:
                    yield piece

    @staticmethod
    def _shortest(resources: ResourceSet) -> str | None:
        return shortest_name(resources.resource_type, resources.names, resources.cuts)

    def _alike(self, where: ClassSet, classes: Sequence[HostClass], *, recurring: bool) -> Hosts | None:
        """The hosts of these classes; for ``recurring`` classes the same few come again and again."""
        if where.usual or not recurring:
            return where.hosts(classes, self.version)
        asked = id(classes), tuple(where.members)
        if asked not in self._hosts:
            self._hosts[asked] = where.hosts(classes, self.version)
        return self._hosts[asked]

    def _spread(
        self,
        principal: str,
        resource_type: ResourceType,
        nodes: Sequence[NameSet],
        classes: Sequence[HostClass],
        *,
        unchanged: bool,
    ) -> ResourceClasses[AccessEffect]:
        """Each resource set with its effect, and for which classes it is one."""
        spread = ResourceClasses[AccessEffect](lambda effect: unchanged or effect is not NO_EFFECT)
        if len(nodes) == 1:  # as in most changes
            self.work.spend(len(classes))
            for number, host in enumerate(classes):
                effect = self.effect(principal, host.sample, resource_type, nodes[0])
                spread.add([(ResourceSet(resource_type, nodes[0]), effect)], number)
            return spread
        tree = NodeTree(nodes)
        # On CLUSTER, entries on topics decide too (IDEMPOTENT_WRITE), and it never has more than a few nodes.
        many = len(classes) >= _MANY_CLASSES and resource_type is not ResourceType.CLUSTER
        if not many or classes[0].label != WILDCARD:
            for number, host in enumerate(classes):
                spread.add(self._resource_sets(principal, host, host, resource_type, tree).all(), number)
            return spread
        self._spread_touched(spread, principal, resource_type, tree, classes)
        return spread

    def _spread_touched(
        self,
        spread: ResourceClasses[AccessEffect],
        principal: str,
        resource_type: ResourceType,
        tree: NodeTree,
        classes: Sequence[HostClass],
    ) -> None:
        """Hosts with the same rights on CLUSTER differ only where their own entries match."""
        touched = self._touched(principal, resource_type, tree.nodes)
        rights = [self._cluster_rights(principal, host, resource_type) for host in classes]
        usual: dict[tuple[int, ...], ResourceSets[AccessEffect]] = {}
        for number, host in enumerate(classes):
            if rights[number] not in usual:
                usual[rights[number]] = self._resource_sets(principal, classes[0], host, resource_type, tree)
            resource_sets = usual[rights[number]]
            own = sorted({node for text in self._labels(principal, resource_type, host) for node in touched[text]})
            effect = self._effect_at(principal, host, host, resource_type, tree)
            lacking, instead = resource_sets.replaced(tree.spans(own), effect, wanted=spread.wanted)
            if rights[number] == rights[0]:
                spread.lack(lacking, number)
            else:
                self.work.spend(len(tree.nodes))
                gone = set(lacking)
                spread.add((item for item in resource_sets.all() if item not in gone), number)
            spread.add(instead, number)
        spread.usual(usual[rights[0]].all(), {number for number, right in enumerate(rights) if right != rights[0]})

    def _resource_sets(
        self, principal: str, host: HostClass, on_cluster: HostClass, resource_type: ResourceType, tree: NodeTree
    ) -> ResourceSets[AccessEffect]:
        effect = self._effect_at(principal, host, on_cluster, resource_type, tree)
        return ResourceSets(resource_type, tree, effect, self.work)

    def _effect_at(
        self, principal: str, host: HostClass, on_cluster: HostClass, resource_type: ResourceType, tree: NodeTree
    ) -> EffectAt[AccessEffect]:
        return lambda node: self.effect(principal, host.sample, resource_type, tree.nodes[node], on_cluster.sample)

    def _touched(
        self, principal: str, resource_type: ResourceType, nodes: Sequence[NameSet]
    ) -> defaultdict[str, list[int]]:
        """The nodes that the entries of each host text match."""
        touched: defaultdict[str, list[int]] = defaultdict(list)
        indexes = [index for group in self.groups(principal, resource_type) if (index := group.hosts()) is not None]
        for number, key in enumerate(nodes):
            for text in {text for index in indexes for text in index.at(key)}:
                touched[text].append(number)
        return touched

    def _labels(self, principal: str, resource_type: ResourceType, host: HostClass) -> set[str]:
        return {text for group in self.groups(principal, resource_type) for text in group.labels(host.sample)}

    def _cluster_rights(self, principal: str, host: HostClass, resource_type: ResourceType) -> tuple[int, ...]:
        """What CLUSTER grants on every topic."""
        if resource_type is not ResourceType.TOPIC:
            return ()
        asked = (principal, host.sample, ResourceType.CLUSTER, CLUSTER_NAMES)
        return tuple(interpretation.access(*asked) & ON_EVERY_TOPIC for interpretation in self.interpretations)
