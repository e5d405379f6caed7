"""Decide assertions exactly, over every possible principal, host and name; a failure comes with a counterexample."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reconciler.access.assertion import Assertion, AssertionKind, AssertionOutcome, AssertionResult, Via
from reconciler.access.authorizer import Authorizer
from reconciler.access.broker_defects import has_unparsable_principal
from reconciler.access.comparison import AccessComparison
from reconciler.access.counterexample import Counterexample, CounterexampleSearch
from reconciler.access.decision import AccessRequest, Decision
from reconciler.access.hosts import HostClass
from reconciler.access.interpretation import Interpretation
from reconciler.access.name_set import ALL_NAMES, NameSet, names_of
from reconciler.access.names import shortest_name
from reconciler.access.operations import supported
from reconciler.access.principal_selection import Principals, PrincipalSelection
from reconciler.access.unnamed_principal import unnamed_principal
from reconciler.model import (
    CLUSTER_NAME,
    WILDCARD,
    AclBinding,
    AclOperation,
    Declaration,
    Origin,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.naming import as_name


class _Found(NamedTuple):
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
        known = {
            principal
            for interpretation in interpretations
            for _, principal in interpretation.index.group_keys()
            if ":" in principal
        }
        self._principals = Principals(known | set(principals) | authorizer.super_users | self._claimed)
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

    def check(self, assertion: Assertion) -> AssertionResult:
        """The result: undecided if only one interpretation breaks the assertion, or if a broker may fail on it."""
        # As ordinary principals they are selected like any other: what an ACL grants them is theirs.
        either_way = self._principals.selected(assertion, self._authorizer.super_users)
        if assertion.claim is not AssertionKind.MUST or not self._claimed:
            return self.decide(assertion, either_way)
        others = self._principals.selected(assertion, self._authorizer.super_users | self._claimed)
        found = self.decide(assertion, others)
        if found.outcome is not AssertionOutcome.PASS or self._met_by_claim:
            return found
        found = self.decide(assertion, either_way)
        if found.outcome is not AssertionOutcome.FAIL or found.witness is None:
            return found
        reason = f"it holds only if {as_name(found.witness.principal)} is a super user, which only the manifests say"
        return dataclasses.replace(found, outcome=AssertionOutcome.UNDECIDED, reason=reason)

    def decide(self, assertion: Assertion, selection: PrincipalSelection) -> AssertionResult:
        """The same, for principals that are already selected."""
        least, most = self._authorizer.interpretations.both
        search = self._unmet if assertion.claim is AssertionKind.MUST else self._forbidden
        # A ``must`` is easiest to meet if everything unknown permits, a ``mustNot`` if everything unknown denies. If it
        # is broken even there, it fails; if it is broken only in the other interpretation, it is undecided.
        easy, hard = (most, least) if assertion.claim is AssertionKind.MUST else (least, most)
        found = search(assertion, selection, easy)
        if found is not None:
            return self._verdict(assertion, AssertionOutcome.FAIL, found)
        found = search(assertion, selection, hard) if hard is not easy else None
        if found is not None:
            return self._verdict(assertion, AssertionOutcome.UNDECIDED, found)
        # Brokers check for super users before they read ACLs, so a defective binding cannot affect a super user.
        asked = selection.named is None or bool(selection.named)
        broken = tuple(
            b for b in self._authorizer.broker_defects.bindings if asked and _may_break(b, assertion.patterns)
        )
        if broken:
            reason = "some bindings make brokers fail on such resources"
            return AssertionResult(assertion, AssertionOutcome.UNDECIDED, bindings=broken, reason=reason)
        return AssertionResult(assertion, AssertionOutcome.PASS)

    def _verdict(self, assertion: Assertion, outcome: AssertionOutcome, found: _Found) -> AssertionResult:
        bindings = self._deciding(found).bindings
        notes = (self._authorizer.sources.notes.get(binding) for binding in bindings)
        places = tuple(note.origin if isinstance(note, Declaration) else note for note in notes if note is not None)
        reason = None
        if outcome is AssertionOutcome.UNDECIDED:
            reason = "it depends on allow.everyone.if.no.acl.found, or on entries that cannot be read"
            if self._authorizer.interpretations.doubtful:
                reason += ", or on whether a host is a range: Kafka's version is not known"
        return AssertionResult(assertion, outcome, found.request, found.via, bindings, _origins(places), reason)

    def _deciding(self, found: _Found) -> Decision:
        """The decision that explains a counterexample; what permits it may be an ACL on another resource."""
        principal, host, operation, kind, name = found.request
        authorize = self._authorizer.authorize
        if found.via is Via.CLUSTER_ALTER:
            return authorize(principal, host, AclOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
        if found.via is not Via.OTHER_RESOURCE:
            return authorize(principal, host, operation, kind, name)
        # CREATE or DELETE on CLUSTER; otherwise WRITE on some topic permits to start an idempotent producer.
        if kind is ResourceType.TOPIC:
            return authorize(principal, host, operation, ResourceType.CLUSTER, CLUSTER_NAME)
        return self._authorizer.authorize_by_resource_type(principal, host, AclOperation.WRITE, ResourceType.TOPIC)

    def _unmet(
        self, assertion: Assertion, selection: PrincipalSelection, interpretation: Interpretation
    ) -> _Found | None:
        """A request that must be permitted and is not."""
        found = [
            _Found(AccessRequest(principal, host, operation, pattern.resource_type, name), None)
            for pattern in assertion.patterns
            for principal in self._obliged(selection, pattern, interpretation)
            for operation, host, name in self._gaps(assertion, principal, pattern, interpretation)
        ]
        return min(found, key=_rank, default=None)

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
            holders |= interpretation.index.principals(kind).meeting([names])
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
    ) -> _Found | None:
        """A request that is permitted and must not be: directly if possible, else through ALTER on CLUSTER."""
        search = self._searches[id(interpretation)]
        hosts = None if WILDCARD in assertion.hosts else assertion.hosts
        asked = [(operation, pattern) for pattern in assertion.patterns for operation in sorted(assertion.operations)]
        direct = [
            _as_found(found, operation, pattern)
            for operation, pattern in asked
            if operation in supported(pattern.resource_type, self._authorizer.kafka_version)
            and (found := search.shortest(operation, pattern, selection, hosts)) is not None
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
        name, operation, pattern = min(named, key=lambda one: len(one[0]))
        # Who may change ACLs can grant itself the operation, so the assertion does not hold.
        powerful = search.cluster_alter(selection, hosts)
        if powerful is not None:
            return _as_found(powerful._replace(name=name), operation, pattern)
        if assertion.include_super_users and (super_user := self._super_user(assertion)) is not None:
            host = (hosts or ["192.0.2.0"])[0]
            return _Found(AccessRequest(super_user, host, operation, pattern.resource_type, name), Via.SUPER_USER)
        return None

    def _super_user(self, assertion: Assertion) -> str | None:
        """A super user that the assertion covers."""
        selection = self._principals.selected(assertion, frozenset())
        return min(filter(selection.includes, self._authorizer.super_users | self._claimed), default=None)


def check(assertion: Assertion, authorizer: Authorizer, principals: Iterable[str] = ()) -> AssertionResult:
    """Check one assertion; :class:`Checker` is faster for many."""
    return Checker(authorizer, principals).check(assertion)


def _may_break(binding: AclBinding, patterns: Iterable[ResourcePattern]) -> bool:
    """Whether a defective binding can affect a name of the patterns.

    A name that sorts before ``*`` affects every name that starts with the same character.
    """
    unparsable = has_unparsable_principal(binding)
    key = names_of(binding.pattern) if unparsable else NameSet(binding.pattern.name[:1])
    return any(
        pattern.resource_type is binding.pattern.resource_type and key.meets(names_of(pattern)) for pattern in patterns
    )


def _as_found(found: Counterexample, operation: AclOperation, pattern: ResourcePattern) -> _Found:
    return _Found(AccessRequest(found.principal, found.host, operation, pattern.resource_type, found.name), found.via)


def _rank(found: _Found) -> tuple[int, AccessRequest]:
    return len(found.request.resource_name), found.request


def _origins(notes: Iterable[Origin]) -> tuple[Origin, ...]:
    return tuple(dict.fromkeys(notes))
