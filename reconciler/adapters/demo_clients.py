"""A producer and a consumer of one record each, which show what the brokers permit a user."""

import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, Message, Producer

_SECONDS: Final = 20.0
#: Errors that the client reports although a broker answers; they say nothing about access.
_PASSING: Final = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN})


class Attempt(NamedTuple):
    """Whether the brokers permitted it, and the position of the record or the error of the client."""

    allowed: bool
    words: str


def write(settings: Mapping[str, str], topic: str, value: str) -> Attempt:
    """Produce one record and wait for the result."""
    attempts: list[Attempt] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        where = f"{message.topic()}, partition {message.partition()}, offset {message.offset()}"
        attempts.append(Attempt(True, f"written to {where}") if error is None else _refused(error))

    producer = Producer({**settings, "log_level": 0, "message.timeout.ms": int(_SECONDS * 1000)})
    producer.produce(topic, value.encode(), on_delivery=delivered)
    producer.flush(_SECONDS + 1)
    return attempts[0] if attempts else Attempt(False, f"no answer in {_SECONDS:g} s")


def read(settings: Mapping[str, str], topic: str, group: str) -> Attempt:
    """Consume one record of the topic as a member of the group."""
    consumer = Consumer(
        {**settings, "log_level": 0, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    try:
        consumer.subscribe([topic])
        return _first(consumer)
    finally:
        consumer.close()


def _first(consumer: Consumer) -> Attempt:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        message: Any = consumer.poll(0.2)
        if message is None:
            continue
        error = message.error()
        if error is None:
            return Attempt(True, f"read from {message.topic()}: {message.value().decode()}")
        if error.code() not in _PASSING:
            return _refused(error)
    return Attempt(False, f"nothing came in {_SECONDS:g} s")


def _refused(error: KafkaError) -> Attempt:
    return Attempt(False, f"{error.name()}: {error.str()}")
