"""Compare two interpretations of access for one principal: every name is in one region, every host in one class.

The comparison is about what the APIs permit: a topic is also created and deleted by CREATE and DELETE on CLUSTER
(``ControllerApis``), and an idempotent producer starts with IDEMPOTENT_WRITE on CLUSTER or WRITE on any topic.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from reconciler.access.by_resource_type import may_on_some_resource
from reconciler.access.hosts import HostClass, Hosts, host_classes, is_within
from reconciler.access.index import BindingGroup, inside
from reconciler.access.interpretation import Interpretation
from reconciler.access.name_set import ASTERISK_NAMES, NameSet, literal
from reconciler.access.names import has_names, shortest_name
from reconciler.access.operations import EVERY, KafkaVersion, bits, supported
from reconciler.access.region import Region
from reconciler.model import CLUSTER_NAME, WILDCARD, WILDCARD_PRINCIPAL, AclOperation, ResourceType

CLUSTER_NAMES: Final = literal(CLUSTER_NAME)
#: What CLUSTER grants on every topic; a DENY on a topic does not limit it.
ON_EVERY_TOPIC: Final = bits([AclOperation.CREATE, AclOperation.DELETE])
_IDEMPOTENT: Final = bits([AclOperation.IDEMPOTENT_WRITE])


class AccessEffect(NamedTuple):
    """Operations gained and lost, as bits."""

    gained: int
    lost: int


NO_EFFECT: Final = AccessEffect(0, 0)


class RegionEffect(NamedTuple):
    """One region with one effect for some hosts; ``host`` and ``name`` are an example."""

    hosts: Hosts
    region: Region
    effect: AccessEffect
    host: str
    name: str


def permitted_by_api(
    interpretation: Interpretation, principal: str, host: str, resource_type: ResourceType, key: NameSet
) -> int:
    """What the APIs permit on the names of ``key`` that are in no narrower set, as bits; ignores super users."""
    found = interpretation.access(principal, host, resource_type, key)
    # ControllerApis accepts CREATE on CLUSTER in place of CREATE on the topic, and DELETE alike.
    if resource_type is ResourceType.TOPIC:
        found |= interpretation.access(principal, host, ResourceType.CLUSTER, CLUSTER_NAMES) & ON_EVERY_TOPIC
    # KafkaApis.handleInitProducerIdRequest accepts WRITE on any topic in place of IDEMPOTENT_WRITE (KIP-679).
    elif (
        resource_type is ResourceType.CLUSTER
        and not found & _IDEMPOTENT
        and may_on_some_resource(interpretation, principal, host, AclOperation.WRITE, ResourceType.TOPIC)
    ):
        found |= _IDEMPOTENT
    return found


class AccessComparison:
    """Two interpretations; ``before=None`` stands for a cluster on which nobody may do anything."""

    __slots__ = (
        "_asked",
        "_asker",
        "_classes",
        "_possible",
        "after",
        "before",
        "interpretations",
        "supported",
        "unnamed",
        "version",
    )

    def __init__(self, before: Interpretation | None, after: Interpretation, unnamed: str, only: int = EVERY) -> None:
        """``unnamed`` is a principal that neither interpretation names: it stands for everybody else.

        ``only`` limits the comparison to some operations, as bits.
        """
        self.before = before
        self.after = after
        self.unnamed = unnamed
        self.interpretations = (after,) if before is None else (before, after)
        self.version: KafkaVersion = after.index.version
        self.supported = {
            kind: only & bits(supported(kind, self.version)) for kind in ResourceType if kind >= ResourceType.TOPIC
        }
        self._classes: dict[frozenset[str], list[HostClass]] = {}
        # Caches of the last principal: callers ask many questions about one principal before the next one.
        self._asker: str | None = None
        self._asked: dict[ResourceType, list[BindingGroup]] = {}
        self._possible: dict[tuple[ResourceType, NameSet], bool] = {}

    def effect(self, principal: str, host: str, resource_type: ResourceType, key: NameSet) -> AccessEffect:
        """What changes on the names of ``key`` that are in no narrower set."""
        kept = self.supported[resource_type]
        new = permitted_by_api(self.after, principal, host, resource_type, key) & kept
        old = 0 if self.before is None else permitted_by_api(self.before, principal, host, resource_type, key) & kept
        # The same object for no effect, so that callers can compare by identity.
        return NO_EFFECT if old == new else AccessEffect(new & ~old, old & ~new)

    def groups(self, principal: str, resource_type: ResourceType) -> list[BindingGroup]:
        """The compiled bindings of one principal and of ``User:*`` on one type, in both interpretations."""
        if self._asker != principal:
            self._asker, self._asked = principal, {}
        groups = self._asked.get(resource_type)
        if groups is None:
            who = dict.fromkeys((principal, WILDCARD_PRINCIPAL))
            found = (
                interpretation.index.group(resource_type, name)
                for interpretation in self.interpretations
                for name in who
            )
            groups = self._asked[resource_type] = list(dict.fromkeys(group for group in found if group is not None))
        return groups

    def classes(self, texts: frozenset[str]) -> list[HostClass]:
        """The classes of hosts that these host texts distinguish."""
        if texts not in self._classes:
            self._classes[texts] = host_classes(texts, self.version)
        return self._classes[texts]

    def hosts(self, principal: str, resource_type: ResourceType, zone: NameSet) -> list[HostClass]:
        """The classes of hosts that rules on names of ``zone`` distinguish."""
        texts = {text for group in self.groups(principal, resource_type) for text in group.hosts_on(zone)}
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
        found = {zone, ASTERISK_NAMES, literal(WILDCARD)} if zone.contains(ASTERISK_NAMES) else {zone}
        for group in self.groups(principal, resource_type):
            found.update(inside(group.ordered, zone))
        # Under default-allow the patterns of other principals matter too: they cover names.
        for interpretation in self.interpretations:
            if interpretation.default_allow:
                found.update(interpretation.coverage(resource_type).within(zone))
        return sorted(key for key in found if self._is_possible(resource_type, key))

    def _is_possible(self, resource_type: ResourceType, key: NameSet) -> bool:
        asked = (resource_type, key)
        found = self._possible.get(asked)
        if found is None:
            found = self._possible[asked] = has_names(resource_type, key)
        return found

    def pieces(
        self,
        principal: str,
        resource_type: ResourceType,
        zone: NameSet,
        *,
        unchanged: bool = False,
        hosts: Sequence[HostClass] | None = None,
    ) -> list[RegionEffect]:
        """The regions of ``zone`` with an effect, and with ``unchanged`` also those without; disjoint for each host.

        ``hosts`` limits the comparison to some hosts; without it, it covers every possible host.
        """
        nodes = self.nodes(principal, resource_type, zone)
        # Without names in the zone itself (an impossible topic name, for example) there are none in its parts.
        if not nodes or nodes[0] != zone:
            return []
        classes = self.hosts(principal, resource_type, zone) if hosts is None else hosts
        found: dict[tuple[Region, AccessEffect], list[HostClass]] = {}
        for host in classes:
            for region, effect in self._regions(principal, host.sample, resource_type, nodes):
                if effect is not NO_EFFECT or unchanged:
                    found.setdefault((region, effect), []).append(host)
        pieces = []
        for (region, effect), alike in found.items():
            # A region that the cuts use up holds no name, so nothing changes on it.
            name = shortest_name(resource_type, region.names, region.cuts)
            if name is not None:
                pieces.append(
                    RegionEffect(_together(alike, classes, self.version), region, effect, alike[0].sample, name)
                )
        return pieces

    def _regions(
        self, principal: str, host: str, resource_type: ResourceType, nodes: Sequence[NameSet]
    ) -> list[tuple[Region, AccessEffect]]:
        """Merge each node into the node around it if both have the same effect, else cut it out of that node.

        ``nodes`` come outer ones first, so a stack of the enclosing nodes is enough.
        """
        kept: list[tuple[NameSet, AccessEffect, list[NameSet]]] = []
        around: list[int] = []
        for key in nodes:
            while around and not kept[around[-1]][0].contains(key):
                around.pop()
            effect = self.effect(principal, host, resource_type, key)
            if around:
                outer = kept[around[-1]]
                if outer[1] == effect:
                    continue
                outer[2].append(key)
            around.append(len(kept))
            kept.append((key, effect, []))
        return [(Region(resource_type, key, tuple(cuts)), effect) for key, effect, cuts in kept]


def _together(hosts: Sequence[HostClass], classes: Sequence[HostClass], version: KafkaVersion) -> Hosts:
    """Some of all classes as a set of hosts."""
    chosen = {host.label for host in hosts}
    others = tuple(host.label for host in classes if host.label not in chosen)
    if WILDCARD in chosen:
        listed = tuple(host.label for host in hosts if is_within(host.label, others, version))
        return Hosts(any_host=True, listed=listed, but=others)
    listed = tuple(host.label for host in hosts)
    return Hosts(any_host=False, listed=listed, but=tuple(o for o in others if is_within(o, listed, version)))
