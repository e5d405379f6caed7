"""Decide assertions exactly, over every possible principal, host and name; a failure comes with a counterexample."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reconciler.access.assertion import (
    Assertion,
    AssertionKind,
    AssertionOutcome,
    AssertionResult,
    Principals,
    PrincipalSelection,
    Via,
)
from reconciler.access.authorizer import AccessRequest, Authorizer, Decision, host_matches, may_on_some_resource
from reconciler.access.broker_defects import has_unparsable_principal
from reconciler.access.comparison import CLUSTER_NAMES, ON_EVERY_TOPIC, AccessComparison
from reconciler.access.group import DENIED, IMPLIED
from reconciler.access.hosts import EXAMPLE_HOST, HostClass, host_classes
from reconciler.access.index import Index
from reconciler.access.interpretation import Interpretation, unnamed_principal
from reconciler.access.names import ALL_NAMES, ASTERISK_NAMES, NameSet, inside, literal, names_of, shortest_name
from reconciler.model.acl import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import as_name
from reconciler.model.desired import Declaration, Origin
from reconciler.model.flavor import supported

# The ALLOWs that grant one operation on one resource type, sorted for the counterexample search.


class OperationGrant(NamedTuple):
    """An ALLOW of the operation, by name or implied."""

    names: NameSet
    principal: str
    host: str

    def zone(self, names: NameSet) -> tuple[NameSet, tuple[NameSet, ...]] | None:
        """Which of ``names`` it grants: a set of names and the sets cut out of it; ``None`` if it grants none."""
        if self.names == ALL_NAMES:
            return (
                None
                if ASTERISK_NAMES.contains(names)
                else (names, (ASTERISK_NAMES,) if names.contains(ASTERISK_NAMES) else ())
            )
        if self.names.contains(names):
            return names, ()
        return (self.names, ()) if names.contains(self.names) else None


class OperationGrants:
    """All grants of one operation on one type."""

    __slots__ = ("_by_names", "_ordered", "by_length", "principals")

    def __init__(self, index: Index, resource_type: ResourceType, operation: AclOperation) -> None:
        """Collect the ALLOWs of the operation from an index."""
        wanted = 1 << operation | 1 << operation + IMPLIED
        self._by_names: dict[NameSet, list[OperationGrant]] = {}
        self.principals: set[str] = set()
        for kind, principal in index.group_keys():
            # A principal without a colon cannot be the principal of a connection.
            group = index.group(kind, principal) if kind is resource_type and ":" in principal else None
            for host, rules in group.rules.items() if group is not None else ():
                for key, mask in rules.items():
                    if mask & wanted:
                        self._by_names.setdefault(key, []).append(OperationGrant(key, principal, host))
                        self.principals.add(principal)
        self._ordered = sorted(self._by_names)
        #: All of them, shortest names first.
        self.by_length = sorted((grant for grants in self._by_names.values() for grant in grants), key=_length)

    def meeting(self, names: NameSet) -> Iterator[OperationGrant]:
        """The grants that share a name with ``names``, those with the shortest names first."""
        if names == ALL_NAMES:
            yield from self.by_length
            return
        for length in range(len(names.text) + 1):
            outer = NameSet(names.text[:length])
            if outer != names:
                yield from self._by_names.get(outer, ())
        yield from sorted((grant for key in inside(self._ordered, names) for grant in self._by_names[key]), key=_length)


def _length(grant: OperationGrant) -> tuple[int, OperationGrant]:
    return len(grant.names.text), grant


# Search one interpretation for a permitted request that must not be: the shortest name, a principal and a host.
#
# A violation needs an ALLOW, or default-allow and an uncovered name. Grants are tried by the length of their names,
# and one try each is enough: for ``User:*`` an unnamed principal, for host ``*`` a host that no entry names. Every
# other principal or host meets at least the same DENYs.


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
        granted = self._granted(operation, kind, names, selection, hosts)
        opened = self._opened(kind, names, selection, hosts)
        best = min(
            (item for item in (granted, opened) if item is not None), key=lambda item: len(item.name), default=None
        )
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
        counterexample = self.shortest(AclOperation.ALTER, _CLUSTER, selection, hosts)
        return None if counterexample is None else counterexample._replace(via=Via.CLUSTER_ALTER)

    def _grants_of(self, kind: ResourceType, operation: AclOperation) -> OperationGrants:
        grants = self._grants.get((kind, operation))
        if grants is None:
            grants = self._grants[kind, operation] = OperationGrants(self._interpretation.index, kind, operation)
        return grants

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
                counterexample = self._undenied(grant, zone, operation, kind, principal, hosts)
                if counterexample is not None and (best is None or len(counterexample.name) < len(best.name)):
                    best = counterexample
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
        denied: list[NameSet] = []
        for table in self._interpretation.index.view(kind, principal, host):
            if table.at_names(zone) & bit:
                return None
            # LITERAL * denies the name * inside PREFIXED *, and no other name there.
            if zone.text == WILDCARD and table.at(WILDCARD) & bit:
                denied.append(literal(WILDCARD))
        for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL)):
            group = self._interpretation.index.group(kind, who)
            if group is None:
                continue
            for text, rules in group.rules.items():
                if text == WILDCARD or host_matches(text, host, self._interpretation.index.version):
                    denied.extend(key for key in inside(group.ordered, zone) if rules.get(key, 0) & bit)
        return denied

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
        for host_class in self._classes[texts]:
            if host_matches(text, host_class.sample, version):
                yield host_class.sample
                # A host that no entry names meets the fewest DENYs, so no other host can do better.
                if text == WILDCARD and host_class.label == WILDCARD:
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
        candidates = [shortest_name(kind, zone, [*coverage.within(zone), *starred]) for zone in zones]
        shortest = min(
            (name for name in candidates if name is not None), key=lambda name: (len(name), name), default=None
        )
        if principal is None or shortest is None:
            return None
        return Counterexample(shortest, principal, (hosts or [EXAMPLE_HOST])[0], Via.DEFAULT_ALLOW)

    def _writes_somewhere(self, selection: PrincipalSelection, hosts: Sequence[str] | None) -> Counterexample | None:
        """A selected principal that may start an idempotent producer through WRITE on some topic."""
        index = self._interpretation.index
        holders = index.principals(ResourceType.TOPIC, [ALL_NAMES])
        everyone = holders | {self._unnamed} if selection.named is None else selection.named
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
        return [host_class.sample for host_class in host_classes(texts, index.version)]


class _Violation(NamedTuple):
    """A request that breaks an assertion."""

    request: AccessRequest
    via: Via | None


class Checker:
    """Checks many assertions against one state; caches intermediate results."""

    __slots__ = ("_authorizer", "_claimed", "_comparisons", "_met_by_claim", "_principals", "_searches")

    def __init__(
        self,
        authorizer: Authorizer,
        principals: Iterable[str] = (),
        claimed_super_users: Iterable[str] = (),
        *,
        met_by_claim: bool = False,
    ) -> None:
        """``principals`` are known in addition to those that bindings name: globs match both.

        ``claimed_super_users`` may be super users or ordinary principals: an assertion passes only if it holds
        either way; with ``met_by_claim`` a ``must`` passes if it holds for the super users.
        """
        self._met_by_claim = met_by_claim
        self._authorizer = authorizer
        self._claimed = frozenset(claimed_super_users) - authorizer.super_users
        interpretations = dict.fromkeys(authorizer.interpretations.both)
        # The index also has groups without a principal type, which no authenticated principal can match.
        named = {
            principal
            for interpretation in interpretations
            for _, principal in interpretation.index.group_keys()
            if ":" in principal
        }
        self._principals = Principals(named | set(principals) | authorizer.super_users | self._claimed)
        unnamed = unnamed_principal(
            (interpretation.index for interpretation in interpretations), self._principals.known
        )
        self._comparisons = {
            id(interpretation): AccessComparison(None, interpretation, unnamed) for interpretation in interpretations
        }
        self._searches = {
            id(interpretation): CounterexampleSearch(interpretation, unnamed) for interpretation in interpretations
        }

    def matching(self, text: str) -> frozenset[str]:
        """The principals that one text of an assertion selects: itself, or the known ones that a glob matches."""
        return self._principals.matching(text)

    def selected(self, principals: Iterable[str], excluded: Iterable[str]) -> PrincipalSelection:
        """The principals that some texts select; super users are exempt."""
        asked = Assertion("", AssertionKind.MUST_NOT, frozenset(), (), tuple(principals), tuple(excluded))
        return self._principals.selected(asked, self._authorizer.super_users)

    def check(self, assertion: Assertion) -> AssertionResult:
        """The result: undecided if only one interpretation breaks the assertion, or if a broker may fail on it."""
        # As ordinary principals they are selected like any other: what an ACL grants them is theirs.
        either_way = self._principals.selected(assertion, self._authorizer.super_users)
        if assertion.claim is not AssertionKind.MUST or not self._claimed:
            return self.decide(assertion, either_way)
        others = self._principals.selected(assertion, self._authorizer.super_users | self._claimed)
        verdict = self.decide(assertion, others)
        if verdict.outcome is not AssertionOutcome.PASS or self._met_by_claim:
            return verdict
        verdict = self.decide(assertion, either_way)
        if verdict.outcome is not AssertionOutcome.FAIL or verdict.witness is None:
            return verdict
        reason = f"it holds only if {as_name(verdict.witness.principal)} is a super user, which only the manifests say"
        return dataclasses.replace(verdict, outcome=AssertionOutcome.UNDECIDED, reason=reason)

    def decide(self, assertion: Assertion, selection: PrincipalSelection) -> AssertionResult:
        """The same, for principals that are already selected."""
        least, most = self._authorizer.interpretations.both
        search = self._unmet if assertion.claim is AssertionKind.MUST else self._forbidden
        # A ``must`` is easiest to meet if everything unknown permits, a ``mustNot`` if everything unknown denies. If it
        # is broken even there, it fails; if it is broken only in the other interpretation, it is undecided.
        easy, hard = (most, least) if assertion.claim is AssertionKind.MUST else (least, most)
        violation = search(assertion, selection, easy)
        if violation is not None:
            return self._verdict(assertion, AssertionOutcome.FAIL, violation)
        violation = search(assertion, selection, hard) if hard is not easy else None
        if violation is not None:
            return self._verdict(assertion, AssertionOutcome.UNDECIDED, violation)
        # Brokers check for super users before they read ACLs, so a defective binding cannot affect a super user.
        asked = selection.named is None or bool(selection.named)
        broken = tuple(
            b for b in self._authorizer.broker_defects.bindings if asked and may_break(b, assertion.patterns)
        )
        if broken:
            reason = "some bindings make brokers fail on such resources"
            return AssertionResult(assertion, AssertionOutcome.UNDECIDED, bindings=broken, reason=reason)
        return AssertionResult(assertion, AssertionOutcome.PASS)

    def _verdict(self, assertion: Assertion, outcome: AssertionOutcome, violation: _Violation) -> AssertionResult:
        bindings = self._deciding(violation).bindings
        notes = (self._authorizer.sources.notes.get(binding) for binding in bindings)
        places = tuple(note.origin if isinstance(note, Declaration) else note for note in notes if note is not None)
        reason = None
        if outcome is AssertionOutcome.UNDECIDED:
            reason = "it depends on allow.everyone.if.no.acl.found, or on entries that cannot be read"
            if self._authorizer.has_members:
                reason += ", or on who is in a role or group"
            if self._authorizer.interpretations.doubtful:
                reason += ", or on whether a host is a range: Kafka's version is not known"
        return AssertionResult(assertion, outcome, violation.request, violation.via, bindings, _origins(places), reason)

    def _deciding(self, violation: _Violation) -> Decision:
        """The decision that explains a counterexample; what permits it may be an ACL on another resource."""
        principal, host, operation, kind, name = violation.request
        authorize = self._authorizer.authorize
        if violation.via is Via.CLUSTER_ALTER:
            return authorize(principal, host, AclOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
        if violation.via is not Via.OTHER_RESOURCE:
            return authorize(principal, host, operation, kind, name)
        # CREATE or DELETE on CLUSTER; otherwise WRITE on some topic permits to start an idempotent producer.
        if kind is ResourceType.TOPIC:
            return authorize(principal, host, operation, ResourceType.CLUSTER, CLUSTER_NAME)
        return self._authorizer.authorize_by_resource_type(principal, host, AclOperation.WRITE, ResourceType.TOPIC)

    def _unmet(
        self, assertion: Assertion, selection: PrincipalSelection, interpretation: Interpretation
    ) -> _Violation | None:
        """A request that must be permitted and is not."""
        unmet = [
            _Violation(AccessRequest(principal, host, operation, pattern.resource_type, name), None)
            for pattern in assertion.patterns
            for principal in self._obliged(selection, pattern, interpretation)
            for operation, host, name in self._gaps(assertion, principal, pattern, interpretation)
        ]
        return min(unmet, key=_rank, default=None)

    def _obliged(
        self, selection: PrincipalSelection, pattern: ResourcePattern, interpretation: Interpretation
    ) -> Iterator[str]:
        if selection.named is not None:
            yield from sorted(selection.named)
            return
        # Every possible principal: an unnamed one stands for all without bindings, the others are those with bindings.
        yield self._comparisons[id(interpretation)].unnamed
        kinds = {pattern.resource_type, ResourceType.CLUSTER, ResourceType.TOPIC}
        holders: set[str] = set()
        for kind in kinds:
            names = names_of(pattern) if kind is pattern.resource_type else ALL_NAMES
            holders |= interpretation.index.principals(kind, [names])
        yield from sorted(
            holder for holder in holders if selection.includes(holder) and holder in self._principals.known
        )

    def _gaps(
        self, assertion: Assertion, principal: str, pattern: ResourcePattern, interpretation: Interpretation
    ) -> Iterator[tuple[AclOperation, str, str]]:
        """Operations that are not permitted, each with a host and a name as an example."""
        hosts = None if WILDCARD in assertion.hosts else [HostClass(host, host) for host in assertion.hosts]
        pieces = self._comparisons[id(interpretation)].pieces(
            principal, pattern.resource_type, names_of(pattern), unchanged=True, hosts=hosts
        )
        for piece in pieces:
            for operation in assertion.operations:
                if not piece.effect.gained >> operation & 1:
                    yield operation, piece.host, piece.name

    def _forbidden(
        self, assertion: Assertion, selection: PrincipalSelection, interpretation: Interpretation
    ) -> _Violation | None:
        """A request that is permitted and must not be: directly if possible, else through ALTER on CLUSTER."""
        search = self._searches[id(interpretation)]
        hosts = None if WILDCARD in assertion.hosts else assertion.hosts
        asked = [(operation, pattern) for pattern in assertion.patterns for operation in sorted(assertion.operations)]
        direct = [
            _as_violation(counterexample, operation, pattern)
            for operation, pattern in asked
            if operation in supported(pattern.resource_type, self._authorizer.kafka_version)
            and (counterexample := search.shortest(operation, pattern, selection, hosts)) is not None
        ]
        if direct:
            return min(direct, key=_rank)
        named = [
            (name, operation, pattern)
            for operation, pattern in asked
            if (name := shortest_name(pattern.resource_type, names_of(pattern))) is not None
        ]
        if not named:
            return None
        name, operation, pattern = min(named, key=lambda item: len(item[0]))
        # Who may change ACLs can grant itself the operation, so the assertion does not hold.
        powerful = search.cluster_alter(selection, hosts)
        if powerful is not None:
            return _as_violation(powerful._replace(name=name), operation, pattern)
        if assertion.include_super_users and (super_user := self._super_user(assertion)) is not None:
            host = (hosts or [EXAMPLE_HOST])[0]
            return _Violation(AccessRequest(super_user, host, operation, pattern.resource_type, name), Via.SUPER_USER)
        return None

    def _super_user(self, assertion: Assertion) -> str | None:
        """A super user that the assertion covers."""
        selection = self._principals.selected(assertion, frozenset())
        return min(filter(selection.includes, self._authorizer.super_users | self._claimed), default=None)


def check(assertion: Assertion, authorizer: Authorizer, principals: Iterable[str] = ()) -> AssertionResult:
    """Check one assertion; :class:`Checker` is faster for many."""
    return Checker(authorizer, principals).check(assertion)


def may_break(binding: AclBinding, patterns: Iterable[ResourcePattern]) -> bool:
    """Whether a defective binding can affect a name of the patterns.

    A name that sorts before ``*`` affects every name that starts with the same character.
    """
    unparsable = has_unparsable_principal(binding)
    key = names_of(binding.pattern) if unparsable else NameSet(binding.pattern.name[:1])
    return any(
        pattern.resource_type is binding.pattern.resource_type and key.meets(names_of(pattern)) for pattern in patterns
    )


def _as_violation(counterexample: Counterexample, operation: AclOperation, pattern: ResourcePattern) -> _Violation:
    return _Violation(
        AccessRequest(
            counterexample.principal, counterexample.host, operation, pattern.resource_type, counterexample.name
        ),
        counterexample.via,
    )


def _rank(violation: _Violation) -> tuple[int, AccessRequest]:
    return len(violation.request.resource_name), violation.request


def _origins(notes: Iterable[Origin]) -> tuple[Origin, ...]:
    return tuple(dict.fromkeys(notes))
