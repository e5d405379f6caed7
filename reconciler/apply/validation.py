"""What a cluster would say to a plan's steps on topics: asked step by step, in batches, nothing done (KIP-108).

A refusal is the cluster's word about one step. Everything else (a time-out, a controller that failed, a policy
plug-in that threw something else than ``PolicyViolationException``) is no word about any step: it is kept as it came.
Where it befalls a whole request nothing more is asked: such a plug-in makes the controller resign each time (seen on
3.9; on 4.3 it befalls its topic alone).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from reconciler.access import Authorizer
from reconciler.apply.batches import topic_batches
from reconciler.apply.sending import answered
from reconciler.model import (
    CLUSTER_NAME,
    AclOperation,
    ClusterState,
    Create,
    ResourceType,
    Topic,
    TopicConfigs,
    TopicPartitions,
    Update,
)
from reconciler.plan import (
    BrokerAnswer,
    Plan,
    Ruling,
    Step,
    Validation,
    created_topics,
    describe,
    touched_topics,
    transition,
)
from reconciler.ports import Answer, AnswerStatus, Clock, TopicValidator

#: An address that documentation keeps for itself (RFC 5737): a host that no binding names.
_ANY_HOST: Final = "192.0.2.1"
_KINDS: Final = ("CreateTopic", "CreatePartitions", "AlterConfigs")
_NEEDS: Final = {
    "CreateTopic": AclOperation.CREATE,
    "CreatePartitions": AclOperation.ALTER,
    "AlterConfigs": AclOperation.ALTER_CONFIGS,
}
_NO_RIGHT: Final = frozenset({"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"})
#: Refusals that tell of the client or the broker's age, not of the step.
_NO_WORD: Final = frozenset({"UNSUPPORTED_VERSION"})
_NOT_ASKED: Final = Answer(
    AnswerStatus.UNKNOWN, "not_asked", "not asked, because the cluster gave no answer about the steps before"
)


def validate(plan: Plan, live: ClusterState, cluster: TopicValidator, clock: Clock) -> Validation:
    """Ask about every step that creates a topic, adds partitions or alters settings; others cannot be asked about."""
    now = clock.now()
    asked = [step for step in plan.steps if step.action in _KINDS]
    answers: dict[Step, Answer] = {}
    lost = False
    for kind in _KINDS:
        for batch in topic_batches([step for step in asked if step.action == kind]):
            told = [_NOT_ASKED] * len(batch) if lost else answered(lambda some: _ask(cluster, some), batch, clock)
            answers.update(zip(batch, told, strict=True))
            lost = lost or all(answer.status is AnswerStatus.UNKNOWN for answer in told)
    return Validation(now, tuple(_rulings(plan, live, ((step, answers[step]) for step in asked))))


def _ask(cluster: TopicValidator, steps: Sequence[Step]) -> list[Answer]:
    changes = [step.change for step in steps]
    match changes[0]:
        case Create(Topic()):
            return cluster.validate_topics(created_topics(changes))
        case Update(_, TopicPartitions()):
            return cluster.validate_partitions([change for change in changes if isinstance(change, Update)])
        case Update(_, TopicConfigs()):
            return cluster.validate_configs([change for change in changes if isinstance(change, Update)])
    raise TypeError(f"nobody can be asked about {type(changes[0]).__name__}")


def _rulings(plan: Plan, live: ClusterState, told: Iterable[tuple[Step, Answer]]) -> Iterator[BrokerAnswer]:
    found = list(told)
    lacking = any(answer.code in _NO_RIGHT for _, answer in found)
    after = _afterwards(plan, live) if lacking else None
    for step, answer in found:
        ruling = _ruling(answer)
        if ruling is Ruling.REFUSED and answer.code in _NO_RIGHT and _granted(step, plan, after):
            ruling = Ruling.AFTER_GRANT
        yield BrokerAnswer(step.id, describe(step.change), ruling, answer.code, answer.message, step.origin)


def _ruling(answer: Answer) -> Ruling:
    if answer.status in (AnswerStatus.DONE, AnswerStatus.ALREADY):
        return Ruling.ACCEPTED
    # librdkafka's own errors begin with an underscore.
    of_itself = answer.code.startswith("_") or answer.code in _NO_WORD or answer.retriable
    return Ruling.UNKNOWN if answer.status is AnswerStatus.UNKNOWN or of_itself else Ruling.REFUSED


def _afterwards(plan: Plan, live: ClusterState) -> Authorizer | None:
    found = transition(live, plan.steps, plan.terms.facts, default_allow=plan.terms.default_allow)
    return found.after if found else None


def _granted(step: Step, plan: Plan, after: Authorizer | None) -> bool:
    """Whether the plan itself gives us the right that is missing now; ACLs come before topics."""
    principal = plan.terms.facts.principal
    if after is None or principal is None:
        return False
    operation = _NEEDS[step.action]
    places = [(ResourceType.TOPIC, name) for name in touched_topics((step,))]
    if step.action == "CreateTopic":
        places.append((ResourceType.CLUSTER, CLUSTER_NAME))
    return any(after.authorize(principal, _ANY_HOST, operation, *place).allowed is True for place in places)
