"""Ask a cluster in advance whether it would accept a plan's steps: in batches, with nothing performed (KIP-108).

A refusal is about one step. Everything else (a time-out, a controller that failed, a policy plug-in that threw
something else than ``PolicyViolationException``) says nothing about any step: it is reported as it came. If it is the
answer to a whole request nothing more is asked: such a plug-in makes the controller resign each time (seen on 3.9; on
4.3 only its topic is affected).
"""

from collections.abc import Iterable, Iterator
from typing import Final

from reconciler.access import Authorizer
from reconciler.apply.answers import answered
from reconciler.apply.kinds import kind_of
from reconciler.model import ClusterState
from reconciler.plan import (
    BrokerAnswer,
    BrokerValidation,
    Plan,
    Ruling,
    Step,
    describe,
    transition,
)
from reconciler.ports import Answer, AnswerStatus, ChangeValidator, Clock

#: An address that documentation keeps for itself (RFC 5737): a host that no binding names.
_ANY_HOST: Final = "192.0.2.1"
_NO_RIGHT: Final = frozenset({"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"})
#: Refusals that are about the version of client or broker, not about the step.
_NO_WORD: Final = frozenset({"UNSUPPORTED_VERSION"})
_NOT_ASKED: Final = Answer(
    AnswerStatus.UNKNOWN, "not_asked", "not asked, because the cluster gave no answer about the steps before"
)


def validate(plan: Plan, live: ClusterState, cluster: ChangeValidator, clock: Clock) -> BrokerValidation:
    """Ask about every step that the cluster can be asked about."""
    now = clock.now()
    asked = [step for step in plan.steps if kind_of(step.change).right(step.change) is not None]
    answers: dict[Step, Answer] = {}
    lost = False
    # By action and not by phase: nothing is performed, so as few requests as possible do.
    by_action: dict[str, list[Step]] = {}
    for step in asked:
        by_action.setdefault(step.action, []).append(step)
    for steps in by_action.values():
        for batch in kind_of(steps[0].change).batches(steps, live):
            changes = [step.change for step in batch]
            found = [_NOT_ASKED] * len(batch) if lost else answered(cluster.validate, changes, clock)
            answers.update(zip(batch, found, strict=True))
            lost = lost or all(answer.status is AnswerStatus.UNKNOWN for answer in found)
    return BrokerValidation(now, tuple(_rulings(plan, live, ((step, answers[step]) for step in asked))))


def _rulings(plan: Plan, live: ClusterState, answers: Iterable[tuple[Step, Answer]]) -> Iterator[BrokerAnswer]:
    found = list(answers)
    lacking = any(answer.code in _NO_RIGHT for _, answer in found)
    after = _afterwards(plan, live) if lacking else None
    for step, answer in found:
        ruling = _ruling(answer)
        if ruling is Ruling.REFUSED and answer.code in _NO_RIGHT and _granted(step, plan, after):
            ruling = Ruling.AFTER_GRANT
        yield BrokerAnswer(step.id, describe(step.change), ruling, answer.code, answer.message, step.origin)


def _ruling(answer: Answer) -> Ruling:
    if answer.good:
        return Ruling.ACCEPTED
    # librdkafka's own errors begin with an underscore.
    of_itself = answer.code.startswith("_") or answer.code in _NO_WORD or answer.retriable
    return Ruling.UNKNOWN if answer.status is AnswerStatus.UNKNOWN or of_itself else Ruling.REFUSED


def _afterwards(plan: Plan, live: ClusterState) -> Authorizer | None:
    found = transition(live, plan.steps, plan.terms.facts, default_allow=plan.terms.default_allow)
    return found.after if found else None


def _granted(step: Step, plan: Plan, after: Authorizer | None) -> bool:
    """Whether the plan itself gives us the right that is missing now; ACLs come before all else."""
    principal, right = plan.terms.facts.principal, kind_of(step.change).right(step.change)
    if after is None or principal is None or right is None:
        return False
    return any(after.authorize(principal, _ANY_HOST, right.operation, *place).allowed is True for place in right.places)
