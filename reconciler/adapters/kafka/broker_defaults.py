"""The brokers' defaults of new topics: partitions, replication factor, automatic creation."""

from collections.abc import Collection
from typing import Final

from confluent_kafka.admin import ConfigResource, ResourceType

from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.codes import ClientFailure

_NAMES: Final = ("auto.create.topics.enable", "default.replication.factor", "num.partitions")


def broker_defaults(connection: AdminConnection, brokers: Collection[int]) -> dict[str, str]:
    """The defaults of one broker; empty if it refuses (it needs DESCRIBE_CONFIGS on CLUSTER)."""
    if not brokers:
        return {}
    resource = ConfigResource(ResourceType.BROKER, str(min(brokers)))
    timeout = connection.settings.request_timeout
    told = connection.outcome(connection.admin.describe_configs([resource], request_timeout=timeout)[resource])
    if isinstance(told, ClientFailure):
        return {}
    return {name: told[name].value for name in _NAMES if name in told and told[name].value is not None}
