"""One request of steps to the cluster: written down, sent, repeated where that is safe, its outcomes written down.

Only answers that say "not applied, try again" are repeated. An unknown outcome is never repeated blindly: the state is
read first.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from reconciler.apply.batches import pause_after
from reconciler.apply.outcome import Outcome, StepOutcome
from reconciler.apply.run import Run
from reconciler.apply.verification import resolve_unknown
from reconciler.model import AclBinding, Create, Delete, Topic, TopicConfigs, TopicPartitions, Update
from reconciler.plan import Phase, Step, created_bindings, created_topics, deleted_bindings, deleted_topics
from reconciler.ports import Answer, AnswerStatus, Clock, ClusterError, ClusterWriter
from reconciler.retry import attempts

T = TypeVar("T")

_OUTCOMES: Final = {
    AnswerStatus.DONE: Outcome.DONE,
    AnswerStatus.ALREADY: Outcome.ALREADY,
    AnswerStatus.FAILED: Outcome.FAILED,
    AnswerStatus.UNKNOWN: Outcome.UNKNOWN,
}


def send(run: Run, phase: Phase, batch: Sequence[Step]) -> None:
    """Send steps of one kind of change; each has an outcome then. Raises ``StoppedError``."""
    cluster, clock = run.environment.cluster, run.environment.clock
    run.lease_guard.renew()
    number = run.record_intent(phase, batch)
    began = clock.monotonic()
    answers = answered(lambda steps: _call(cluster, steps), batch, clock)
    run.record_outcomes(
        [
            StepOutcome(step, _OUTCOMES[answer.status], answer.code, answer.message)
            for step, answer in zip(batch, answers, strict=True)
        ],
        number,
    )
    run.environment.progress.sent(len(batch))
    if any(answer.status is AnswerStatus.UNKNOWN for answer in answers):
        resolve_unknown(run, batch, number)
    if seconds := pause_after(phase, clock.monotonic() - began):
        clock.sleep(seconds)


def answered(call: Callable[[Sequence[T]], list[Answer]], items: Sequence[T], clock: Clock) -> list[Answer]:
    """What ``call`` says of each item, repeated for those that were not applied and may be tried again."""
    answers: list[Answer] = [Answer(AnswerStatus.UNKNOWN)] * len(items)
    waiting = list(range(len(items)))
    for _ in attempts(clock):
        try:
            found = call([items[index] for index in waiting])
        except ClusterError as error:  # nothing says how far the request got
            found = [Answer(AnswerStatus.UNKNOWN, error.code, error.message)] * len(waiting)
        if len(found) != len(waiting):
            message = f"{len(found)} answers for {len(waiting)} items"
            found = [Answer(AnswerStatus.UNKNOWN, "answers_do_not_match", message)] * len(waiting)
        for index, answer in zip(waiting, found, strict=True):
            answers[index] = answer
        waiting = [
            index for index in waiting if answers[index].status is AnswerStatus.FAILED and answers[index].retriable
        ]
        if not waiting:
            break
    return answers


def _call(cluster: ClusterWriter, steps: Sequence[Step]) -> list[Answer]:
    changes = [step.change for step in steps]
    match changes[0]:
        case Create(AclBinding()):
            return cluster.create_acls(created_bindings(changes))
        case Delete(AclBinding()):
            return cluster.delete_acls(deleted_bindings(changes))
        case Create(Topic()):
            return cluster.create_topics(created_topics(changes))
        case Delete(Topic()):
            return cluster.delete_topics([topic.name for topic in deleted_topics(changes)])
        case Update(_, TopicPartitions()):
            return cluster.create_partitions([change for change in changes if isinstance(change, Update)])
        case Update(_, TopicConfigs()):
            return cluster.alter_configs([change for change in changes if isinstance(change, Update)])
    raise TypeError(f"{type(changes[0]).__name__} cannot be sent")
