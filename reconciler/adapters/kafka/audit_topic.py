"""Audit records in a topic of the cluster; all in-sync replicas acknowledge each before the run continues."""

import json
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from reconciler.adapters.kafka.settings import ClientSettings
from reconciler.model.escape import escape_invisible_json
from reconciler.ports import RecordError

#: How long a run waits for its records to be acknowledged.
_SECONDS: Final = 30.0


class AuditTopic:
    """Implements ``reconciler.ports.Ledger``; the key of each record is its run."""

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
        if settings.bearer is not None:
            bearer = settings.bearer
            config["oauth_cb"] = lambda _: tuple(bearer.token())
        try:
            self._producer = Producer(config)
        except KafkaException as error:
            raise RecordError(f"topic {topic}: {settings.redact(str(error))}") from None

    def write(self, *records: Mapping[str, Any]) -> None:
        """See ``ports``; an unacknowledged record counts as not written."""
        failed: list[str] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failed.append(self._settings.redact(f"{error.name()}: {error.str()}"))

        try:
            for record in records:
                text = escape_invisible_json(json.dumps(record, ensure_ascii=False, separators=(",", ":"))).encode()
                self._producer.produce(self._topic, text, key=str(record.get("run", "")), on_delivery=delivered)
                self._producer.poll(0)
        except (BufferError, KafkaException) as error:
            failed.append(self._settings.redact(str(error)))
        left = self._producer.flush(_SECONDS + 5)
        if failed or left:
            raise RecordError(f"topic {self._topic}: {failed[0] if failed else 'not acknowledged in time'}")
