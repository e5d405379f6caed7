"""The two answers that a snapshot gives: a file is changed or it is not."""

from typing import Final

from reconciler.ports import Answer, AnswerStatus

DONE: Final = Answer(AnswerStatus.DONE)


def failed(code: str, message: str) -> Answer:
    """A refusal under Kafka's name for the error; nothing was applied."""
    return Answer(AnswerStatus.FAILED, code, message)
