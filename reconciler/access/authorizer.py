"""Kafka's ``StandardAuthorizer`` for one set of bindings: the same answers, without a broker."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from reconciler.access.broker_defects import BrokerDefects
from reconciler.access.by_resource_type import PROBE, may_on_some_resource, on_some_resource
from reconciler.access.decision import AccessRequest, Decision, DecisionRule, Evidence
from reconciler.access.evidence import Note, Sources, host_matches
from reconciler.access.interpretation import Interpretation, Interpretations, interpret
from reconciler.access.name_set import literal
from reconciler.access.operations import ASSUMED_VERSION, DENIED, IMPLIED, permitted, supported
from reconciler.model import (
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    OpaqueBinding,
    ResourcePatternFilter,
    ResourceType,
)
from reconciler.model.kafka_release import KafkaVersion, known_release

#: Bindings, optionally with what the manifests say about each.
Bindings: TypeAlias = Iterable[AclBinding] | Mapping[AclBinding, Note]
#: Since 4.0 ``StandardAuthorizerData`` calls ``Set.of(principal, User:*)``, which throws for the principal ``User:*``.
_SET_OF_SINCE: Final = (4, 0)
_FIRST_OPERATION: Final = AclOperation.READ
_FIRST_TYPE: Final = ResourceType.TOPIC
# Builds a named tuple without its Python-level constructor, which takes a third of the time of a decision.
_new: Final = tuple.__new__


class UndecidedAccessError(Exception):
    """One of several requested operations could not be decided; ``decision`` says which and why."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"{decision.request}: {decision.rule}")
        self.decision = decision


class Authorizer:
    """Answers requests as a broker with these bindings does. Immutable; compiled tables are cached.

    ``allow_everyone_if_no_acl_found=None`` means unknown: answers that depend on it are ``undecided``, and so are
    answers that an ``opaque`` entry could change. Opaque entries whose codes are all known count as bindings.
    ``kafka_version=None`` means unknown, and so does a release after the newest that is known here: what depends on a
    host that only 4.4 takes as a range is then undecided.
    """

    __slots__ = ("_careful", "_index", "broker_defects", "interpretations", "kafka_version", "sources", "super_users")

    def __init__(
        self,
        bindings: Bindings,
        super_users: Iterable[str] = (),
        allow_everyone_if_no_acl_found: bool | None = False,
        kafka_version: KafkaVersion | None = None,
        *,
        opaque: Iterable[OpaqueBinding] = (),
        notes: Mapping[AclBinding, Note] | None = None,
    ) -> None:
        """Index the bindings: about 0.25 s for 100,000. Name tables are compiled on first use.

        ``notes`` are about some of the bindings, where ``bindings`` itself is no mapping to them.
        """
        opaque = tuple(opaque)
        known = bindings if isinstance(bindings, Mapping | frozenset) else frozenset(bindings)
        version = known_release(kafka_version)
        interpretations = interpret(known, opaque, version, allow_everyone_if_no_acl_found)
        sources = Sources(notes or (bindings if isinstance(bindings, Mapping) else {}), opaque)
        self._setup(interpretations, frozenset(super_users), sources, BrokerDefects(interpretations.bindings))

    def _setup(
        self,
        interpretations: Interpretations,
        super_users: frozenset[str],
        sources: Sources,
        broker_defects: BrokerDefects,
    ) -> None:
        self.interpretations = interpretations
        self.super_users = super_users
        self.sources = sources
        self.broker_defects = broker_defects
        self._index = interpretations.certain
        self.kafka_version = self._index.version
        # Resource types that need the slow path; an empty set on a healthy cluster without unknowns.
        self._careful = frozenset(ResourceType) if not interpretations.known else self.broker_defects.types

    def with_changes(self, added: Bindings = (), removed: Iterable[AclBinding] = ()) -> "Authorizer":
        """An authorizer without ``removed`` and with ``added``; shares everything that did not change."""
        removed = tuple(removed)
        notes = self.sources.with_changes(added)
        added = tuple(added)
        interpretations = self.interpretations.with_changes(added, removed)
        copy = Authorizer.__new__(Authorizer)
        copy._setup(
            interpretations,
            self.super_users,
            notes,
            self.broker_defects.with_changes(added, removed, interpretations.bindings),
        )
        return copy

    def doubting(self, super_users: Iterable[str] = (), *, default_allow: bool = False) -> "Authorizer":
        """The same where these are perhaps no super users, and with ``default_allow`` that setting is not known."""
        interpretations = self.interpretations.doubting_default_allow() if default_allow else self.interpretations
        copy = Authorizer.__new__(Authorizer)
        copy._setup(interpretations, self.super_users.difference(super_users), self.sources, self.broker_defects)
        return copy

    @property
    def bindings(self) -> frozenset[AclBinding]:
        """Every binding that is known for certain to exist."""
        return frozenset(self.interpretations.bindings)

    @property
    def covering_version(self) -> KafkaVersion:
        """The release by whose rules a binding covers another for certain: where it is unknown, none has ranges."""
        return self.kafka_version if self.interpretations.doubtful is None else ASSUMED_VERSION

    def authorize(
        self,
        principal: str,
        host: str,
        operation: AclOperation,
        resource_type: ResourceType,
        resource_name: str,
    ) -> Decision:
        """The answer to one request, as ``StandardAuthorizerData.authorize`` gives it.

        ``principal`` is ``Type:Name``, ``host`` what ``InetAddress.getHostAddress`` prints. Raises ``ValueError`` for
        ANY, ALL and UNKNOWN, which no request can ask for.
        """
        if operation < _FIRST_OPERATION or resource_type < _FIRST_TYPE:
            raise ValueError(f"{operation.name} on {resource_type.name} cannot be requested")
        request = _new(AccessRequest, (principal, host, operation, resource_type, resource_name))
        # StandardAuthorizerData checks super users before any ACL, even before DENYs.
        if principal in self.super_users:
            return Decision(True, DecisionRule.SUPER_USER, request, self._find_evidence)
        if resource_type in self._careful or principal == WILDCARD_PRINCIPAL:
            return self._authorize_carefully(request)
        # The fast path: everything is known and nothing is defective, so one OR over a few tables (this principal and
        # User:*, any host and this host) holds every rule that applies.
        mask = 0
        for table in self._index.view(resource_type, principal, host):
            found = table.literals.get(resource_name)
            mask |= table.under(resource_name) if found is None else found
        # DENY wins over every ALLOW, whatever is more specific (StandardAuthorizerData.checkSection).
        if mask >> operation + DENIED & 1:
            return Decision(False, DecisionRule.DENY, request, self._find_evidence)
        if mask >> operation & 1:
            return Decision(True, DecisionRule.ALLOW, request, self._find_evidence)
        if mask >> operation + IMPLIED & 1:
            return Decision(True, DecisionRule.IMPLIED_ALLOW, request, self._find_evidence)
        # Default-allow applies only to resources without any ACL: an ACL of another principal closes them too.
        if (
            mask
            or not self.interpretations.least.default_allow
            or self._index.coverage(resource_type).covers_name(resource_name)
        ):
            return Decision(False, DecisionRule.DEFAULT_DENY, request, self._find_evidence)
        return Decision(True, DecisionRule.DEFAULT_ALLOW, request, self._find_evidence)

    def permits(self, requests: Iterable[AccessRequest]) -> list[bool | None]:
        """``authorize(...).allowed`` of many requests at once, in order."""
        index, careful, super_users = self._index, self._careful, self.super_users
        default_allow = self.interpretations.least.default_allow
        answers: list[bool | None] = []
        for request in requests:
            principal, host, operation, resource_type, name = request
            if principal in super_users or resource_type in careful or principal == WILDCARD_PRINCIPAL:
                answers.append(self.authorize(*request).allowed)
                continue
            mask = 0
            for table in index.view(resource_type, principal, host):
                found = table.literals.get(name)
                mask |= table.under(name) if found is None else found
            # Any matching entry proves that the resource has ACLs, so default-allow is out.
            if mask:
                answers.append(permitted(mask) >> operation & 1 == 1)
            else:
                answers.append(default_allow and not index.coverage(resource_type).covers_name(name))
        return answers

    def _authorize_carefully(self, request: AccessRequest) -> Decision:
        """The slow path: a broker may fail on some bindings, or not everything is known."""
        search = self._find_evidence
        if self._is_named_like_the_wildcard(request.principal):
            return Decision(None, DecisionRule.BROKER_ERROR, request, search)
        if request.resource_type in self.broker_defects.types and self._breaking(request) is not None:
            return Decision(None, DecisionRule.BROKER_ERROR, request, search)
        least, most = (_rule(interpretation, request) for interpretation in self.interpretations.both)
        if (least in _ALLOWING) != (most in _ALLOWING):
            return Decision(None, DecisionRule.UNDECIDED, request, search)
        # Both interpretations agree on the outcome: report the rule that holds for certain.
        rule = most if least in (DecisionRule.DENY, DecisionRule.DEFAULT_DENY) else least
        return Decision(rule in _ALLOWING, rule, request, search)

    def _is_named_like_the_wildcard(self, principal: str) -> bool:
        return principal == WILDCARD_PRINCIPAL and self.kafka_version >= _SET_OF_SINCE

    def _breaking(self, request: AccessRequest) -> AclBinding | None:
        # A scan ends at the first DENY that applies, so only defects before it are reached.
        denies = self.sources.denies(self._index, request)
        return self.broker_defects.breaking(request.resource_type, request.resource_name, denies[0] if denies else None)

    def _find_evidence(self, decision: Decision) -> Evidence:
        """The bindings that a decision rests on."""
        if decision.rule is DecisionRule.BROKER_ERROR:
            breaking = self._breaking(decision.request)
            return self.sources.evidence(() if breaking is None else (breaking,))
        return self.sources.deciding(self._index, decision)

    def authorize_by_resource_type(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
    ) -> Decision:
        """Whether the operation is allowed on at least one resource of the type (``Authorizer``'s default method).

        Kafka first authorizes the made-up resource name ``hardcode``. The decision's ``resource_name`` is that name if
        this already allows the operation, else ``""``.
        """
        probe = self.authorize(principal, host, operation, resource_type, PROBE)
        if probe.allowed or probe.rule is DecisionRule.BROKER_ERROR:
            return probe
        request = AccessRequest(principal, host, operation, resource_type, "")
        # This method compares entries of all names, so an unparsable principal of any name can break it.
        if any(
            binding.pattern.resource_type is resource_type
            and host_matches(binding.entry.host, host, self.kafka_version)
            for binding in self.broker_defects.unparsable
        ):
            return Decision(None, DecisionRule.BROKER_ERROR, request, self._find_evidence)
        # The made-up name is denied or unknown; now look at the patterns, as the default method does.
        asked = (principal, host, operation, resource_type)
        least, most = (may_on_some_resource(interpretation, *asked) for interpretation in self.interpretations.both)
        if least != most:
            return Decision(None, DecisionRule.UNDECIDED, request, self._find_evidence)
        verdict = on_some_resource(self.interpretations.least, *asked)
        denied = DecisionRule.DENY if verdict.bindings else DecisionRule.DEFAULT_DENY
        rule = DecisionRule.ALLOW if verdict.allowed else denied
        return Decision(verdict.allowed, rule, request, lambda _: self.sources.evidence(verdict.bindings))

    def authorized_operations(
        self, principal: str, host: str, resource_type: ResourceType, resource_name: str
    ) -> frozenset[AclOperation]:
        """The supported operations that are allowed (KIP-430, ``AuthHelper.authorizedOperations``).

        DescribeCluster returns an empty set to callers without DESCRIBE on CLUSTER; this ignores that check. Raises
        :class:`UndecidedAccessError` if one answer is ``None``.
        """
        found = []
        for operation in sorted(supported(resource_type, self.kafka_version)):
            decision = self.authorize(principal, host, operation, resource_type, resource_name)
            if decision.allowed is None:
                raise UndecidedAccessError(decision)
            if decision.allowed:
                found.append(operation)
        return frozenset(found)

    def matching(self, selection: AclBindingFilter | ResourcePatternFilter) -> tuple[AclBinding, ...]:
        """The bindings that a filter selects, sorted (KIP-140, KIP-290): LITERAL, PREFIXED, ANY and MATCH."""
        if isinstance(selection, ResourcePatternFilter):
            selection = AclBindingFilter(selection)
        return tuple(sorted(binding for binding in self.bindings if selection.matches(binding)))


_ALLOWING: Final = frozenset({DecisionRule.ALLOW, DecisionRule.IMPLIED_ALLOW, DecisionRule.DEFAULT_ALLOW})


def _rule(interpretation: Interpretation, request: AccessRequest) -> DecisionRule:
    """The rule that decides in one interpretation."""
    principal, host, operation, resource_type, name = request
    mask = 0
    for table in interpretation.index.view(resource_type, principal, host):
        mask |= table.at(name)
    if mask >> operation + DENIED & 1:
        return DecisionRule.DENY
    if mask >> operation & 1:
        return DecisionRule.ALLOW
    if mask >> operation + IMPLIED & 1:
        return DecisionRule.IMPLIED_ALLOW
    # A match by a guessed binding does not prove that the name is covered; see Interpretation.access.
    covered = bool(mask) and interpretation.index is interpretation.cover
    if covered or not interpretation.default_allow or interpretation.coverage(resource_type).covers(literal(name)):
        return DecisionRule.DEFAULT_DENY
    return DecisionRule.DEFAULT_ALLOW
