"""What single nodes enforce: ask each by its id about a topic that does not exist.

A broker authorizes before it looks up the topic, so UNKNOWN_TOPIC_OR_PARTITION means permitted. Brokers are asked for
the topic's configs. The active controller authorizes topic and config changes with its own copy of the ACLs; it is
asked by a validate-only change, which a broker forwards to it (KIP-590).
"""

import itertools
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource, ResourceType

from reconciler.kafka.client import AdminConnection
from reconciler.kafka.errors import TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC
from reconciler.kafka.handshake import handshake_with
from reconciler.kafka.settings import ClientSettings
from reconciler.ports import CONTROLLER, ClusterError, ProbeAnswer, Visibility

#: A node that does not answer in this time counts as silent; callers ask again.
ASK_SECONDS: Final = 3.0


class KafkaProbe:
    """Implements ``reconciler.ports.Probe`` for the principal that the settings log in as."""

    def __init__(self, settings: ClientSettings) -> None:
        """Nothing is sent yet; raises ``ClusterError`` if the client refuses a setting.

        A broker answers the requests of one connection in order, and a broker that cannot reach the controller delays a
        forwarded request. So requests to the controller use a connection of their own.
        """
        self._connection = AdminConnection(settings)
        self._forwarding = AdminConnection(settings)
        self._known: list[int] = []
        self._turn = itertools.count()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()
        self._forwarding.close()

    def brokers(self) -> frozenset[int]:
        """See ``ports``."""
        found = frozenset(broker.id for broker in handshake_with(self._connection).brokers)
        self._known = sorted(found)
        return found

    def ask(self, topic: str, nodes: Collection[int]) -> Mapping[int, ProbeAnswer]:
        """See ``ports``; all nodes are asked at once."""
        asked: dict[int, Future[Any]] = {}
        answers: dict[int, ProbeAnswer] = {}
        for node in sorted(nodes):
            try:
                asked[node] = self._ask_controller(topic) if node == CONTROLLER else self._ask_broker(topic, node)
            except KafkaException as error:
                answers[node] = self._silent(error)
            except ClusterError as error:
                answers[node] = ProbeAnswer(Visibility.SILENT, str(error))
        answers.update((node, self._answer(future)) for node, future in asked.items())
        return answers

    def _ask_broker(self, topic: str, broker: int) -> Future[Any]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        admin = self._connection.admin
        return admin.describe_configs([resource], request_timeout=ASK_SECONDS, broker=broker)[resource]

    def _ask_controller(self, topic: str) -> Future[Any]:
        """Through another broker each time, so that one without a connection to the controller does not block us."""
        # Any valid config will do: the topic does not exist, and the request only validates.
        entry = ConfigEntry(
            "retention.ms",
            "3600000",
            source=ConfigSource.DYNAMIC_TOPIC_CONFIG,
            incremental_operation=AlterConfigOpType.SET,
        )
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        by = self._known or sorted(self.brokers())
        futures = self._forwarding.admin.incremental_alter_configs(
            [resource], validate_only=True, request_timeout=ASK_SECONDS, broker=by[next(self._turn) % len(by)]
        )
        return futures[resource]

    def _answer(self, future: Future[Any]) -> ProbeAnswer:
        try:
            self._connection.wait(future)
        except KafkaException as error:
            return self._silent(error)
        return ProbeAnswer(Visibility.PERMITTED)

    def _silent(self, error: KafkaException) -> ProbeAnswer:
        failed = self._connection.failure(error)
        if failed.code == UNKNOWN_TOPIC:
            return ProbeAnswer(Visibility.PERMITTED)
        if failed.code == TOPIC_AUTHORIZATION_FAILED:
            return ProbeAnswer(Visibility.REFUSED)
        return ProbeAnswer(Visibility.SILENT, f"{failed.name}: {failed.message}")
