"""Search one interpretation for a permitted request that must not be: the shortest name, a principal and a host.

A violation needs an ALLOW, or default-allow and an uncovered name. Grants are tried by the length of their names, and
one try each is enough: for ``User:*`` an unnamed principal, for host ``*`` a host that no entry names. Every other
principal or host meets at least the same DENYs.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reconciler.access.api_rights import CLUSTER_NAMES, ON_EVERY_TOPIC
from reconciler.access.assertion import Via
from reconciler.access.by_resource_type import may_on_some_resource
from reconciler.access.evidence import host_matches
from reconciler.access.grants import OperationGrant, OperationGrants
from reconciler.access.hosts import HostClass, host_classes
from reconciler.access.interpretation import Interpretation
from reconciler.access.name_set import ALL_NAMES, ASTERISK_NAMES, NameSet, literal, names_of
from reconciler.access.names import shortest_name
from reconciler.access.nested_names import inside
from reconciler.access.operations import DENIED
from reconciler.access.principal_selection import PrincipalSelection
from reconciler.model import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    ResourcePattern,
    ResourceType,
)


class Counterexample(NamedTuple):
    """A connection, a resource name, and what permits the operation there."""

    name: str
    principal: str
    host: str
    via: Via


_CLUSTER = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)


class CounterexampleSearch:
    """The search in one interpretation; caches the grants of each operation."""

    __slots__ = ("_classes", "_grants", "_interpretation", "_unnamed")

    def __init__(self, interpretation: Interpretation, unnamed: str) -> None:
        """``unnamed`` is a principal that no binding names."""
        self._interpretation = interpretation
        self._unnamed = unnamed
        self._grants: dict[tuple[ResourceType, AclOperation], OperationGrants] = {}
        self._classes: dict[frozenset[str], list[HostClass]] = {}

    def shortest(
        self,
        operation: AclOperation,
        pattern: ResourcePattern,
        selection: PrincipalSelection,
        hosts: Sequence[str] | None,
    ) -> Counterexample | None:
        """The shortest name of ``pattern`` on which a selected principal may do ``operation``, by any API rule."""
        kind, names = pattern.resource_type, names_of(pattern)
        found = self._granted(operation, kind, names, selection, hosts)
        opened = self._opened(kind, names, selection, hosts)
        best = min((one for one in (found, opened) if one is not None), key=lambda one: len(one.name), default=None)
        name = shortest_name(kind, names)
        # Rights on other resources apply to any name, so they give the shortest one; skip them if it is found already.
        if name is None or (best is not None and len(best.name) <= len(name)):
            return best
        return self._elsewhere(operation, kind, name, selection, hosts) or best

    def _elsewhere(
        self,
        operation: AclOperation,
        kind: ResourceType,
        name: str,
        selection: PrincipalSelection,
        hosts: Sequence[str] | None,
    ) -> Counterexample | None:
        """A principal with a right that the API accepts in place of the operation, for any name and so for ``name``."""
        if kind is ResourceType.TOPIC and 1 << operation & ON_EVERY_TOPIC:
            other = self.shortest(operation, _CLUSTER, selection, hosts)
            return None if other is None else other._replace(name=name, via=Via.OTHER_RESOURCE)
        if kind is ResourceType.CLUSTER and operation is AclOperation.IDEMPOTENT_WRITE:
            return self._writes_somewhere(selection, hosts)
        return None

    def cluster_alter(self, selection: PrincipalSelection, hosts: Sequence[str] | None) -> Counterexample | None:
        """A selected principal that may change the ACLs themselves."""
        found = self.shortest(AclOperation.ALTER, _CLUSTER, selection, hosts)
        return None if found is None else found._replace(via=Via.CLUSTER_ALTER)

    def _grants_of(self, kind: ResourceType, operation: AclOperation) -> OperationGrants:
        found = self._grants.get((kind, operation))
        if found is None:
            found = self._grants[kind, operation] = OperationGrants(self._interpretation.index, kind, operation)
        return found

    def _granted(
        self,
        operation: AclOperation,
        kind: ResourceType,
        names: NameSet,
        selection: PrincipalSelection,
        hosts: Sequence[str] | None,
    ) -> Counterexample | None:
        grants = self._grants_of(kind, operation)
        # Two quick answers for the usual case of assertions that hold.
        if self._denied_to_all(operation, kind, names) or grants.principals <= selection.exempt:
            return None
        best: Counterexample | None = None
        for grant in grants.meeting(names):
            zone = grant.zone(names)
            if zone is None or (grant.principal != WILDCARD_PRINCIPAL and not selection.includes(grant.principal)):
                continue
            # Grants come by length, so a later one cannot have a shorter name.
            if best is not None and len(zone[0].text) >= len(best.name):
                if grant.names.kind == names.kind or names.contains(grant.names):
                    break
                continue
            for principal in self._askers(grant, selection):
                found = self._undenied(grant, zone, operation, kind, principal, hosts)
                if found is not None and (best is None or len(found.name) < len(best.name)):
                    best = found
        return best

    def _denied_to_all(self, operation: AclOperation, kind: ResourceType, names: NameSet) -> bool:
        """Whether one DENY of ``User:*`` for any host covers all names: then no grant matters."""
        group = self._interpretation.index.group(kind, WILDCARD_PRINCIPAL)
        table = None if group is None else group.tables.get(WILDCARD)
        if table is None or not table.at_names(names) >> operation + DENIED & 1:
            return False
        if kind is ResourceType.TOPIC or not names.contains(ASTERISK_NAMES):
            return True
        return bool(table.at_names(ASTERISK_NAMES) >> operation + DENIED & 1)

    def _askers(self, grant: OperationGrant, selection: PrincipalSelection) -> Iterable[str]:
        if grant.principal != WILDCARD_PRINCIPAL:
            return (grant.principal,)
        return (self._unnamed,) if selection.named is None else sorted(selection.named)

    def _undenied(
        self,
        grant: OperationGrant,
        zone: tuple[NameSet, tuple[NameSet, ...]],
        operation: AclOperation,
        kind: ResourceType,
        principal: str,
        hosts: Sequence[str] | None,
    ) -> Counterexample | None:
        """The shortest name of a grant that no DENY covers."""
        key, cuts = zone
        best: Counterexample | None = None
        for host in self._hosts(grant.host, kind, principal, hosts):
            denied = self._denied(operation, kind, principal, host, key)
            if denied is None:
                continue
            name = shortest_name(kind, key, [*cuts, *denied])
            if name is not None and (best is None or len(name) < len(best.name)):
                best = Counterexample(name, principal, host, Via.BINDING)
        return best

    def _denied(
        self, operation: AclOperation, kind: ResourceType, principal: str, host: str, zone: NameSet
    ) -> list[NameSet] | None:
        """The sets inside ``zone`` that are denied to a connection; ``None`` if all of it is."""
        bit = 1 << operation + DENIED
        found: list[NameSet] = []
        for table in self._interpretation.index.view(kind, principal, host):
            if table.at_names(zone) & bit:
                return None
            # LITERAL * denies the name * inside PREFIXED *, and no other name there.
            if zone.text == WILDCARD and table.at(WILDCARD) & bit:
                found.append(literal(WILDCARD))
        for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL)):
            group = self._interpretation.index.group(kind, who)
            if group is None:
                continue
            for text, rules in group.rules.items():
                if text == WILDCARD or host_matches(text, host, self._interpretation.index.version):
                    found.extend(key for key in inside(group.ordered, zone) if rules.get(key, 0) & bit)
        return found

    def _hosts(self, text: str, kind: ResourceType, principal: str, hosts: Sequence[str] | None) -> Iterator[str]:
        """Hosts that match an entry's host text, one for each class of hosts that DENYs distinguish."""
        version = self._interpretation.index.version
        if hosts is not None:
            yield from (host for host in hosts if host_matches(text, host, version))
            return
        groups = (self._interpretation.index.group(kind, who) for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL)))
        texts = frozenset(host for group in groups if group is not None for host in group.tables) - {WILDCARD}
        if texts not in self._classes:
            self._classes[texts] = host_classes(texts, version)
        for found in self._classes[texts]:
            if host_matches(text, found.sample, version):
                yield found.sample
                # A host that no entry names meets the fewest DENYs, so no other host can do better.
                if text == WILDCARD and found.label == WILDCARD:
                    return

    def _opened(
        self, kind: ResourceType, names: NameSet, selection: PrincipalSelection, hosts: Sequence[str] | None
    ) -> Counterexample | None:
        """The shortest uncovered name, which default-allow opens to everybody."""
        # Without default-allow an uncovered name is denied to everybody.
        if not self._interpretation.default_allow:
            return None
        principal = self._unnamed if selection.named is None else min(selection.named, default=None)
        coverage = self._interpretation.coverage(kind)
        zones = [zone for zone in (names, ASTERISK_NAMES) if names.contains(zone) and not coverage.covers(zone)]
        starred = [literal(WILDCARD)] if coverage.covers_name(WILDCARD) else []
        found = [shortest_name(kind, zone, [*coverage.within(zone), *starred]) for zone in zones]
        shortest = min((name for name in found if name is not None), key=lambda name: (len(name), name), default=None)
        if principal is None or shortest is None:
            return None
        return Counterexample(shortest, principal, (hosts or ["192.0.2.0"])[0], Via.DEFAULT_ALLOW)

    def _writes_somewhere(self, selection: PrincipalSelection, hosts: Sequence[str] | None) -> Counterexample | None:
        """A selected principal that may start an idempotent producer through WRITE on some topic."""
        index = self._interpretation.index
        known = index.principals(ResourceType.TOPIC).meeting([ALL_NAMES])
        everyone = known | {self._unnamed} if selection.named is None else selection.named
        for principal in sorted(filter(selection.includes, everyone - {WILDCARD_PRINCIPAL})):
            for host in self._hosts_of(principal, hosts):
                if may_on_some_resource(self._interpretation, principal, host, AclOperation.WRITE, ResourceType.TOPIC):
                    return Counterexample(CLUSTER_NAMES.text, principal, host, Via.OTHER_RESOURCE)
        return None

    def _hosts_of(self, principal: str, hosts: Sequence[str] | None) -> Iterable[str]:
        if hosts is not None:
            return hosts
        index = self._interpretation.index
        groups = (index.group(ResourceType.TOPIC, who) for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL)))
        texts = {host for group in groups if group is not None for host in group.tables}
        return [found.sample for found in host_classes(texts, index.version)]
