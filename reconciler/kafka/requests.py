"""One write request: an answer for each item, nothing is sent twice.

An item that the client cannot carry fails alone. Our values become the client's objects at the last moment, because a
filter of the client compares equal to its binding.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from reconciler.kafka.client import AdminConnection
from reconciler.kafka.errors import ClientFailure
from reconciler.ports import Answer, AnswerStatus

#: A KRaft controller refuses more than 10,000 records in a request, and before 4.1 is damaged by it (KAFKA-19347).
MAX_ITEMS: Final = 1_000
DONE: Final = Answer(AnswerStatus.DONE)


class Item(NamedTuple):
    """One item of a request; ``identity`` is unique in it, ``answer`` is set if the item need not be sent."""

    identity: Hashable
    answer: Answer | None
    #: Creates the client's object; may raise for values that it cannot carry.
    payload: Callable[[], Any]
    #: The client's key for the item's future; ``None`` for the object itself.
    key: Hashable = None


def request(
    connection: AdminConnection, call: Callable[..., Mapping[Any, Future[Any]]], items: Sequence[Item]
) -> list[Answer]:
    """Send ``items`` with a method of the client; one answer for each, in order. Without items nothing is sent."""
    return begin_request(connection, call, items)()


def begin_request(
    connection: AdminConnection, call: Callable[..., Mapping[Any, Future[Any]]], items: Sequence[Item]
) -> Callable[[], list[Answer]]:
    """Send as :func:`request` does; what is returned waits for the answers."""
    _check(items)
    payloads = [item.payload() if item.answer is None else None for item in items]
    sendable = [payload for payload in payloads if payload is not None]
    futures = call(sendable, request_timeout=connection.settings.write_timeout) if sendable else {}
    # To hash one of the client's objects takes as long as to make one, and its keys are the very objects it was given.
    given = {id(key): future for key, future in futures.items()}

    def answer(item: Item, payload: Any) -> Answer:
        if item.answer is not None:
            return item.answer
        future = given.get(id(payload)) if item.key is None else None
        return answer_of(connection, future or futures[payload if item.key is None else item.key])

    return lambda: [answer(item, payload) for item, payload in zip(items, payloads, strict=True)]


def answer_of(connection: AdminConnection, future: Future[Any]) -> Answer:
    """The answer for one item, from its future."""
    outcome = connection.outcome(future)
    return outcome.answer() if isinstance(outcome, ClientFailure) else DONE


def unsupported(problem: str | None) -> Answer | None:
    """The answer for an item that the client cannot carry; ``None`` without a problem."""
    return None if problem is None else Answer(AnswerStatus.FAILED, "UNSUPPORTED_BY_CLIENT", problem)


def _check(items: Sequence[Item]) -> None:
    """Refuse requests that are too large, or with duplicates, which the client would merge."""
    if len(items) > MAX_ITEMS:
        raise ValueError(f"at most {MAX_ITEMS} items a request, not {len(items)}")
    if len({item.identity for item in items}) != len(items):
        raise ValueError("an item was given twice in one request")
