"""One batch of steps to the cluster: the call for their kind, repeated where that is safe, one answer for each.

Only answers that say "not applied, try again" are repeated. An unknown outcome is never repeated blindly: whoever
calls reads the state first.
"""

from collections.abc import Callable, Sequence
from typing import Final

from reconciler.model import AlterConfigs, CreateAcl, CreatePartitions, CreateTopic, DeleteAcl, DeleteTopic
from reconciler.plan import Step
from reconciler.ports import Answer, AnswerStatus, Clock, ClusterError, ClusterWriter

ATTEMPTS: Final = 5
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0


def send(cluster: ClusterWriter, steps: Sequence[Step], clock: Clock) -> list[Answer]:
    """One answer for each step, in order. All steps are of one kind of change."""
    return answered(lambda some: _call(cluster, some), steps, clock)


def answered(call: Callable[[Sequence[Step]], list[Answer]], steps: Sequence[Step], clock: Clock) -> list[Answer]:
    """What ``call`` says of each step, repeated for those that were not applied and may be tried again."""
    answers: dict[int, Answer] = {}
    waiting = list(range(len(steps)))
    for attempt in range(ATTEMPTS):
        answers.update(zip(waiting, _once(call, [steps[index] for index in waiting]), strict=True))
        waiting = [
            index for index in waiting if answers[index].status is AnswerStatus.FAILED and answers[index].retriable
        ]
        if not waiting or attempt == ATTEMPTS - 1:
            break
        clock.sleep(pause(attempt, clock))
    return [answers[index] for index in range(len(steps))]


def pause(attempt: int, clock: Clock) -> float:
    """Seconds before the next attempt: doubling, bounded, spread by half."""
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * float(2**attempt)) * (0.5 + clock.jitter() / 2)


def _once(call: Callable[[Sequence[Step]], list[Answer]], steps: Sequence[Step]) -> list[Answer]:
    try:
        answers = call(steps)
    except ClusterError as error:
        # Nothing says how far the request got.
        return [Answer(AnswerStatus.UNKNOWN, error.code, error.message)] * len(steps)
    if len(answers) != len(steps):
        message = f"{len(answers)} answers for {len(steps)} items"
        return [Answer(AnswerStatus.UNKNOWN, "answers_do_not_match", message)] * len(steps)
    return answers


def _call(cluster: ClusterWriter, steps: Sequence[Step]) -> list[Answer]:
    changes = [step.change for step in steps]
    match changes[0]:
        case CreateAcl():
            return cluster.create_acls([change.binding for change in changes if isinstance(change, CreateAcl)])
        case DeleteAcl():
            return cluster.delete_acls([change.binding for change in changes if isinstance(change, DeleteAcl)])
        case CreateTopic():
            return cluster.create_topics([change.topic for change in changes if isinstance(change, CreateTopic)])
        case DeleteTopic():
            return cluster.delete_topics([change.topic.name for change in changes if isinstance(change, DeleteTopic)])
        case CreatePartitions():
            return cluster.create_partitions([change for change in changes if isinstance(change, CreatePartitions)])
        case AlterConfigs():
            return cluster.alter_configs([change for change in changes if isinstance(change, AlterConfigs)])
    raise TypeError(f"{type(changes[0]).__name__} cannot be sent")
