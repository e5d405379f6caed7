"""``can-i`` and ``explain`` as data: one request, or a claim about many names, with the reasons."""

from dataclasses import dataclass
from enum import StrEnum

from reconciler.access.assertion import Assertion, Claim, Outcome
from reconciler.access.assertions import Checker
from reconciler.access.authorizer import Authorizer
from reconciler.access.comparison import ON_EVERY_TOPIC
from reconciler.access.decision import Decision, Request
from reconciler.access.grounds import host_matches, speaks_of
from reconciler.access.selection import Selection
from reconciler.access.table import matches
from reconciler.model import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    ResourcePattern,
    ResourceType,
)


class Standing(StrEnum):
    """How a binding on the resource stands to a request."""

    DECIDES = "decides"
    APPLIES = "applies"
    OTHER_PRINCIPAL = "other principal"
    OTHER_HOST = "other host"
    OTHER_OPERATION = "other operation"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One request with everything that bears on it.

    ``decision`` is the authorizer's answer. ``considered`` are the bindings whose pattern matches the resource, each
    with its standing: together they cover it. ``instead`` is what the API accepts in place of it: CREATE or DELETE on
    CLUSTER for topics, WRITE on some topic for an idempotent producer. ``allowed`` takes both into account.
    """

    decision: Decision
    considered: tuple[tuple[AclBinding, Standing], ...]
    instead: Decision | None

    @property
    def allowed(self) -> bool | None:
        """Whether the API permits it; ``None`` if a broker fails or too little is known."""
        answers = [self.decision.allowed] + ([] if self.instead is None else [self.instead.allowed])
        if True in answers:
            return True
        return None if None in answers else False


def explain(authorizer: Authorizer, request: Request) -> Explanation:
    """Why a request is allowed or not."""
    decision = authorizer.authorize(*request)
    deciding = frozenset(decision.bindings)
    considered = [
        (binding, Standing.DECIDES if binding in deciding else _standing(binding, request, authorizer))
        for binding in sorted(authorizer.bindings)
        if binding.pattern.resource_type is request.resource_type and matches(binding.pattern, request.resource_name)
    ]
    return Explanation(decision, tuple(considered), instead(authorizer, request))


def _standing(binding: AclBinding, request: Request, authorizer: Authorizer) -> Standing:
    entry = binding.entry
    if entry.principal not in (request.principal, WILDCARD_PRINCIPAL):
        return Standing.OTHER_PRINCIPAL
    if not host_matches(entry.host, request.host, authorizer.kafka_version):
        return Standing.OTHER_HOST
    if not speaks_of(entry, request.operation):
        return Standing.OTHER_OPERATION
    return Standing.APPLIES


def instead(authorizer: Authorizer, request: Request) -> Decision | None:
    """The answer that the API accepts in place of this request's, where there is one."""
    principal, host, operation, kind, _ = request
    if kind is ResourceType.TOPIC and 1 << operation & ON_EVERY_TOPIC:
        return authorizer.authorize(principal, host, operation, ResourceType.CLUSTER, CLUSTER_NAME)
    if kind is ResourceType.CLUSTER and operation is AclOperation.IDEMPOTENT_WRITE:
        return authorizer.authorize_by_resource_type(principal, host, AclOperation.WRITE, ResourceType.TOPIC)
    return None


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether all that was asked is permitted; ``None`` if that cannot be told. ``counterexample`` if not."""

    allowed: bool | None
    counterexample: Request | None = None


def can_i(
    authorizer: Authorizer,
    principal: str,
    operation: AclOperation,
    pattern: ResourcePattern,
    host: str = WILDCARD,
) -> Answer:
    """Whether ``principal`` may do ``operation`` on every name of ``pattern``, from ``host`` or (``*``) from any.

    A LITERAL pattern asks about one name, LITERAL ``*`` about every name there could be; ``User:*`` about everybody.
    """
    claim = Assertion("can-i", Claim.MUST, frozenset({operation}), (pattern,), (principal,), hosts=(host,))
    # Whoever is named is meant, a distinguished name with a star in it too: a question knows no globs.
    named = None if principal == WILDCARD_PRINCIPAL else frozenset({principal}) - authorizer.super_users
    verdict = Checker(authorizer).decide(claim, Selection(named, authorizer.super_users))
    answers = {Outcome.PASS: True, Outcome.FAIL: False, Outcome.UNDECIDED: None}
    return Answer(answers[verdict.outcome], verdict.witness)
