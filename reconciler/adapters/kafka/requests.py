"""One write request: an answer for each item, nothing sent twice.

An item that the client cannot carry fails alone. Domain values become the client's objects at the last moment,
because the client's filters equal its bindings.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.codes import ClientFailure
from reconciler.ports import Answer, AnswerStatus

#: A KRaft controller refuses more than 10,000 records a request, and before 4.1 is damaged by it (KAFKA-19347).
MAX_ITEMS: Final = 1_000
DONE: Final = Answer(AnswerStatus.DONE)


class Item(NamedTuple):
    """One item of a request; ``identity`` is what no two share, ``answer`` what is known without sending it."""

    identity: Hashable
    answer: Answer | None
    #: Makes the client's object, which may raise for what it cannot carry.
    payload: Callable[[], Any]
    #: The client's key of the item's future; ``None``: its object itself.
    key: Hashable = None


def request(
    connection: AdminConnection, call: Callable[..., Mapping[Any, "Future[Any]"]], items: Sequence[Item]
) -> list[Answer]:
    """Send ``items`` by a method of the client; one answer for each, in order. Nothing is sent for no items."""
    _check(items)
    payloads = [item.payload() if item.answer is None else None for item in items]
    sendable = [payload for payload in payloads if payload is not None]
    futures = call(sendable, request_timeout=connection.settings.request_timeout) if sendable else {}
    return [
        item.answer or answer_of(connection, futures[item.key if item.key is not None else payload])
        for item, payload in zip(items, payloads, strict=True)
    ]


def answer_of(connection: AdminConnection, future: "Future[Any]") -> Answer:
    """What became of one item, once its future is done."""
    outcome = connection.outcome(future)
    return outcome.answer() if isinstance(outcome, ClientFailure) else DONE


def unsupported(problem: str | None) -> Answer | None:
    """An item that the client cannot carry is not sent; ``None`` where there is no problem."""
    return None if problem is None else Answer(AnswerStatus.FAILED, "UNSUPPORTED_BY_CLIENT", problem)


def _check(items: Sequence[Item]) -> None:
    """Refuse what would be cut short, or collapse, inside the client."""
    if len(items) > MAX_ITEMS:
        raise ValueError(f"at most {MAX_ITEMS} items a request, not {len(items)}")
    if len({item.identity for item in items}) != len(items):
        raise ValueError("an item was given twice in one request")
