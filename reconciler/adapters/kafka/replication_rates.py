"""The rates at which brokers copy throttled replicas: the only configs of brokers that are ever changed."""

from collections.abc import Sequence
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.codes import ClientFailure
from reconciler.ports import REPLICATION_RATES

#: A broker that is down is told, and not waited for as long as for an outcome that a plan depends on.
_PATIENCE_SECONDS: Final = 10.0


def set_replication_rates(connection: AdminConnection, brokers: Sequence[int], rate: int | None) -> dict[int, str]:
    """Set both rates of each broker, or with ``None`` remove them; why it failed, by the broker where it did.

    A broker takes changes of its own configs only (``ConfigAdminManager.getAndValidateBrokerId``), so each gets a
    request. Removing what is not there is no error.
    """
    operation = AlterConfigOpType.DELETE if rate is None else AlterConfigOpType.SET
    value = None if rate is None else str(rate)
    timeout = min(connection.settings.request_timeout, _PATIENCE_SECONDS)
    asked = {}
    refused: dict[int, str] = {}
    for broker in brokers:
        entries = [ConfigEntry(name, value, incremental_operation=operation) for name in REPLICATION_RATES]
        resource = ConfigResource(ResourceType.BROKER, str(broker), incremental_configs=entries)
        try:
            told = connection.admin.incremental_alter_configs([resource], request_timeout=timeout)
        except KafkaException as error:
            refused[broker] = connection.failure(error).message
            continue
        asked[broker] = told[resource]
    for broker, future in asked.items():
        outcome = connection.outcome(future)
        if isinstance(outcome, ClientFailure):
            refused[broker] = f"{outcome.name}: {outcome.message}"
    return refused
