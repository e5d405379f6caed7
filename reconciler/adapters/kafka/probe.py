"""What single nodes enforce: each asked by its id about a topic that does not exist.

A broker decides before it looks whether the topic is there, so "unknown topic" means permitted. Brokers are asked for
the topic's configs; the active controller, which judges topics and settings by its own copy of the ACLs, by a
validate-only change that a broker forwards to it.
"""

import itertools
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)

from reconciler.adapters.kafka import codes
from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.handshake import handshake_with
from reconciler.adapters.kafka.settings import ClientSettings
from reconciler.ports import CONTROLLER, ClusterError, ProbeAnswer, Visibility

#: A node that does not answer within this is silent; whoever calls asks again.
ASK_SECONDS: Final = 3.0


class KafkaProbe:
    """Implements ``reconciler.ports.Probe`` for the principal that the settings log in as."""

    def __init__(self, settings: ClientSettings) -> None:
        """Nothing is sent yet; raises ``ClusterError`` where the client refuses a setting.

        A broker answers the requests of one connection one by one, and one that cannot reach the controller keeps a
        forwarded request waiting: the controller is asked by a connection of its own.
        """
        self._connection = AdminConnection(settings)
        self._forwarding = AdminConnection(settings)
        self._known: list[int] = []
        self._turn = itertools.count()

    def close(self) -> None:
        """Ends the connections."""
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

    def _ask_broker(self, topic: str, broker: int) -> "Future[Any]":
        resource = ConfigResource(ResourceType.TOPIC, topic)
        admin = self._connection.admin
        return admin.describe_configs([resource], request_timeout=ASK_SECONDS, broker=broker)[resource]

    def _ask_controller(self, topic: str) -> "Future[Any]":
        """By another broker each time, so that one that is cut off from the controller does not keep us waiting."""
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

    def _answer(self, future: "Future[Any]") -> ProbeAnswer:
        try:
            self._connection.wait(future)
        except KafkaException as error:
            return self._silent(error)
        return ProbeAnswer(Visibility.PERMITTED)

    def _silent(self, error: KafkaException) -> ProbeAnswer:
        failed = self._connection.failure(error)
        if failed.code == codes.UNKNOWN_TOPIC:
            return ProbeAnswer(Visibility.PERMITTED)
        if failed.code == codes.TOPIC_AUTHORIZATION_FAILED:
            return ProbeAnswer(Visibility.REFUSED)
        return ProbeAnswer(Visibility.SILENT, f"{failed.name}: {failed.message}")
