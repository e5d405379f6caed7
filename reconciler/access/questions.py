"""``can-i`` and ``explain`` as data: one request, or a question about many names, with the reasons."""

from enum import StrEnum

from reconciler.access.api_rights import ON_EVERY_TOPIC
from reconciler.access.assertion import Assertion, AssertionKind, AssertionOutcome, PrincipalSelection
from reconciler.access.assertions import Checker
from reconciler.access.authorizer import AccessRequest, Authorizer, Decision, covers_operation, host_matches
from reconciler.access.names import matches
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    ResourcePattern,
    ResourceType,
)


class Relevance(StrEnum):
    """How a binding on the resource relates to a request."""

    DECIDES = "decides"
    APPLIES = "applies"
    OTHER_PRINCIPAL = "other principal"
    OTHER_HOST = "other host"
    OTHER_OPERATION = "other operation"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One request with everything relevant to it.

    ``decision`` is the authorizer's answer. ``considered`` are the bindings whose pattern matches the resource, each
    with its relevance. ``instead`` is the decision on what the API accepts in place of the operation: CREATE or DELETE
    on CLUSTER for topics, WRITE on some topic for an idempotent producer. ``allowed`` takes both into account.
    """

    decision: Decision
    considered: tuple[tuple[AclBinding, Relevance], ...]
    instead: Decision | None

    @property
    def allowed(self) -> bool | None:
        """Whether the API permits the request; ``None`` if a broker fails or too little is known."""
        answers = [self.decision.allowed] + ([] if self.instead is None else [self.instead.allowed])
        if True in answers:
            return True
        return None if None in answers else False


def explain(authorizer: Authorizer, request: AccessRequest) -> Explanation:
    """Why a request is allowed or not."""
    decision = authorizer.authorize(*request)
    deciding = frozenset(decision.bindings)
    considered = [
        (binding, Relevance.DECIDES if binding in deciding else _standing(binding, request, authorizer))
        for binding in sorted(authorizer.bindings)
        if binding.pattern.resource_type is request.resource_type and matches(binding.pattern, request.resource_name)
    ]
    return Explanation(decision, tuple(considered), instead(authorizer, request))


def _standing(binding: AclBinding, request: AccessRequest, authorizer: Authorizer) -> Relevance:
    entry = binding.entry
    if entry.principal not in (request.principal, WILDCARD_PRINCIPAL):
        return Relevance.OTHER_PRINCIPAL
    if not host_matches(entry.host, request.host, authorizer.kafka_version):
        return Relevance.OTHER_HOST
    if not covers_operation(entry, request.operation):
        return Relevance.OTHER_OPERATION
    return Relevance.APPLIES


def instead(authorizer: Authorizer, request: AccessRequest) -> Decision | None:
    """The decision that the API accepts in place of this request's, if there is one."""
    principal, host, operation, kind, _ = request
    if kind is ResourceType.TOPIC and 1 << operation & ON_EVERY_TOPIC:
        return authorizer.authorize(principal, host, operation, ResourceType.CLUSTER, CLUSTER_NAME)
    if kind is ResourceType.CLUSTER and operation is AclOperation.IDEMPOTENT_WRITE:
        return authorizer.authorize_by_resource_type(principal, host, AclOperation.WRITE, ResourceType.TOPIC)
    return None


@dataclass(frozen=True, slots=True)
class AccessAnswer:
    """Whether everything asked is permitted; ``None`` if undecided. ``counterexample`` is a request that is not."""

    allowed: bool | None
    counterexample: AccessRequest | None = None


def can_i(
    authorizer: Authorizer,
    principal: str,
    operation: AclOperation,
    pattern: ResourcePattern,
    host: str = WILDCARD,
) -> AccessAnswer:
    """Whether ``principal`` may do ``operation`` on every name of ``pattern``, from ``host`` or (``*``) from any.

    A LITERAL pattern asks about one name, LITERAL ``*`` about every name there could be; ``User:*`` about everybody.
    """
    claim = Assertion("can-i", AssertionKind.MUST, frozenset({operation}), (pattern,), (principal,), hosts=(host,))
    # A question has no globs: a principal such as a distinguished name may contain an asterisk.
    named = None if principal == WILDCARD_PRINCIPAL else frozenset({principal}) - authorizer.super_users
    verdict = Checker(authorizer).decide(claim, PrincipalSelection(named, authorizer.super_users))
    # A question is a must-assertion: it holds exactly if everything asked is permitted.
    answers = {AssertionOutcome.PASS: True, AssertionOutcome.FAIL: False, AssertionOutcome.UNDECIDED: None}
    return AccessAnswer(answers[verdict.outcome], verdict.witness)
