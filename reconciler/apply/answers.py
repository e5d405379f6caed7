"""What a cluster answers to each item of a request, repeated where nothing was applied and a retry is safe."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from reconciler.apply.outcome import Outcome
from reconciler.ports import Answer, AnswerStatus, Clock, ClusterError
from reconciler.retry import attempts

T = TypeVar("T")

#: What an answer alone says of a step.
OUTCOMES: Final = {
    AnswerStatus.DONE: Outcome.DONE,
    AnswerStatus.ALREADY: Outcome.ALREADY,
    AnswerStatus.FAILED: Outcome.FAILED,
    AnswerStatus.UNKNOWN: Outcome.UNKNOWN,
}


def answered(call: Callable[[Sequence[T]], list[Answer]], items: Sequence[T], clock: Clock) -> list[Answer]:
    """What ``call`` says of each item, repeated for those that were not applied and may be tried again."""
    # By index and not by item: an answer belongs to a place in the request.
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
