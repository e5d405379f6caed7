"""The copy of the audit log in a topic: all in-sync replicas acknowledge a line before the run continues."""

import time
from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from reconciler.apply.audit import TopicCopy
from reconciler.kafka.settings import ClientSettings
from reconciler.ports import ClusterError, RecordError

#: How long a run waits for its records to be acknowledged.
_SECONDS: Final = 30.0
_REFUSED: Final = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED)


class AuditTopic:
    """Keeps a copy of an audit log's lines."""

    def __init__(self, settings: ClientSettings, topic: str) -> None:
        """Nothing is sent yet; raises :class:`RecordError` if the client refuses a setting."""
        self._settings, self._topic = settings, topic
        config: dict[str, Any] = {
            **settings.config,
            "log_level": 0,
            "acks": "all",
            "enable.idempotence": True,
            "delivery.timeout.ms": int(_SECONDS * 1000),
            "topic.metadata.propagation.max.ms": 5_000,  # how long a topic may look missing before that is an error
            "allow.auto.create.topics": False,
        }
        config |= _bearer(settings)
        try:
            self._producer = Producer(config)
        except KafkaException as error:
            raise RecordError(f"topic {topic}: {settings.redact(str(error))}") from None

    def send(self, key: str, lines: Sequence[bytes]) -> None:
        """Send lines in their order, all with the run as key; an unacknowledged one counts as not kept."""
        failed: list[str] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failed.append(self._settings.redact(f"{error.name()}: {error.str()}"))

        try:
            for line in lines:
                self._producer.produce(self._topic, line, key=key, on_delivery=delivered)
                self._producer.poll(0)
        except (BufferError, KafkaException) as error:
            failed.append(self._settings.redact(str(error)))
        unsent = self._producer.flush(_SECONDS + 5)
        if failed or unsent:
            raise RecordError(f"topic {self._topic}: {failed[0] if failed else 'not acknowledged in time'}")


def read_copy(settings: ClientSettings, topic: str) -> TopicCopy:
    """Every line that a topic holds now; raises :class:`ClusterError` if one of them cannot be read."""
    config: dict[str, Any] = {
        **settings.config,
        "log_level": 0,
        "group.id": "kafka-reconciler-audit",  # the client demands one; no group is joined and nothing is committed
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "allow.auto.create.topics": False,
        **_bearer(settings),
    }
    try:
        consumer = Consumer(config)
        try:
            return _copy(consumer, topic, settings)
        finally:
            consumer.close()
    except KafkaException as error:
        raise _unreadable(settings, topic, error.args[0]) from None


def _copy(consumer: Consumer, topic: str, settings: ClientSettings) -> TopicCopy:
    metadata = consumer.list_topics(topic, timeout=_SECONDS)
    settings.check_brokers(broker.host for broker in metadata.brokers.values())
    topic_metadata = metadata.topics[topic]
    if topic_metadata.error is not None:
        raise KafkaException(topic_metadata.error)
    ranges = {
        number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=_SECONDS)
        for number in sorted(topic_metadata.partitions)
    }
    lines: dict[int, list[bytes]] = {number: [] for number in ranges}
    unread = {number for number, (low, high) in ranges.items() if low < high}
    consumer.assign([TopicPartition(topic, number, ranges[number][0]) for number in unread])
    until = time.monotonic() + _SECONDS
    while unread:
        message = consumer.poll(1.0)
        # No message is no end: only the broker's end-of-partition event says that everything was read.
        if message is None:
            if time.monotonic() > until:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "not read to its end in time"))
            continue
        until = time.monotonic() + _SECONDS
        number = message.partition() or 0
        if (error := message.error()) is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                unread.discard(number)
                continue
            raise KafkaException(error)
        value = message.value()
        lines[number].append(value if isinstance(value, bytes) else b"")
    trimmed = any(low for low, _ in ranges.values())
    return TopicCopy(tuple(tuple(lines[number]) for number in sorted(lines)), trimmed)


def _unreadable(settings: ClientSettings, topic: str, error: KafkaError) -> ClusterError:
    advice = "Grant the principal of this tool READ on the topic." if error.code() in _REFUSED else ""
    text = settings.redact(f"{error.name()}: {error.str()}")
    return ClusterError("audit_topic_unreadable", f"topic {topic} cannot be read: {text}", advice)


def _bearer(settings: ClientSettings) -> dict[str, Any]:
    bearer = settings.bearer
    return {} if bearer is None else {"oauth_cb": lambda _: tuple(bearer.token())}
