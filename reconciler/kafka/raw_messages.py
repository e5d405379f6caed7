"""Kafka's messages as kafka-python has them, sent as they are: what the message client and its questions share.

``run`` and ``_another`` are the places where a message goes beyond the library's public API.
"""

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from kafka import errors
from kafka.admin import KafkaAdminClient

from reconciler.kafka.reader_process import Reply, Task

_ATTEMPTS = 3
_BACKOFF_SECONDS = 0.2
#: Milliseconds for which a question to one broker may be without an answer, and one to any of them, which is asked of
#: another one then: a broker that stands still is named until ``broker.session.timeout.ms``, 9 s. The last attempt has
#: all the time that the user gave, as the client's first connection has.
PATIENCE_MS = 20_000
_ATTEMPTS_MS = (8_000, 16_000)
#: The same for what only the controller knows: where it stands still, no broker answers for 30 s
#: (``controller.socket.timeout.ms``).
CONTROLLER_MS = (8_000, 12_000)


class Question(NamedTuple):
    """What the message client can be asked. One that ``writes`` sends one request, never twice.

    What an answer that got lost has done is not known to it; where it could not even connect, nothing was sent.
    """

    answer: Callable[[KafkaAdminClient, Task], Reply]
    writes: bool = False


def read(
    client: KafkaAdminClient, request: Any, broker: int | None = None, patience: Sequence[int] | None = None
) -> Any:
    """The answer of any broker, or of one, to a request that only reads; repeated where the connection fails.

    What a broker does not answer is asked of another one; ``patience`` are the milliseconds for each.
    """
    if broker is not None:
        return retried(lambda: run(client, request, broker))
    *first, last = patience or (*_ATTEMPTS_MS, client.config["bootstrap_timeout_ms"])
    asked: list[int | None] = []

    def ask(milliseconds: int) -> Any:
        asked.append(_another(client, asked))
        return run(client, request, asked[-1], milliseconds)

    for milliseconds in first:
        with suppress(errors.RequestTimedOutError):
            return retried(partial(ask, milliseconds))
    return retried(partial(ask, last))


def _another(client: KafkaAdminClient, asked: Collection[int | None]) -> int | None:
    """The broker that the client prefers, or another one if that was asked already; private API, as in ``run``."""
    preferred: int | None = client._manager.least_loaded_node()
    others = [broker.node_id for broker in client._manager.cluster.brokers() if broker.node_id not in asked]
    return others[0] if preferred in asked and others else preferred


def retried(ask: Callable[[], Any]) -> Any:
    """The result of ``ask``, repeated if the connection was not ready or was lost."""
    for attempt in range(_ATTEMPTS):
        try:
            return ask()
        except (errors.NodeNotReadyError, errors.KafkaConnectionError):
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(_BACKOFF_SECONDS * 2**attempt)
    raise AssertionError("the last attempt returns or raises")


def run(client: KafkaAdminClient, request: Any, broker: int | None = None, milliseconds: int | None = None) -> Any:
    """Send one message, once, to any broker or to the one of that id.

    Private API: the client has no public method that sends a message as it is.
    """
    return client._manager.run(client._manager.send, request, broker, milliseconds)


def error_name(code: int) -> str:
    """Kafka's name of an error; empty for one that is newer than the library."""
    return getattr(errors.for_code(code), "message", "")


def outcome(answer: Any) -> tuple[int, str, str]:
    """The error of an answer, or of an item of one: its code, name and message; the code 0 for none."""
    # ListConfigResources has a code and no message.
    return answer.error_code, error_name(answer.error_code), getattr(answer, "error_message", None) or ""


def refused(answer: Any) -> Reply:
    """The reply where a broker answered with an error instead."""
    code, name, message = outcome(answer)
    return ("refused", code, name, message or name)


def unsent(error: Exception) -> Reply:
    """The reply where nothing was sent, so that the same request may be sent later."""
    return ("unsent", f"{type(error).__name__}: {error}")
