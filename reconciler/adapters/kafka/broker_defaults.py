"""The brokers' defaults of new topics: partitions, replication factor, automatic creation."""

from collections.abc import Collection
from typing import Final

from reconciler.adapters.kafka.broker_configs import configs_of_one
from reconciler.adapters.kafka.client import AdminConnection

_NAMES: Final = ("auto.create.topics.enable", "default.replication.factor", "num.partitions")


def broker_defaults(connection: AdminConnection, brokers: Collection[int]) -> dict[str, str]:
    """The defaults of one broker; empty if it refuses (it needs DESCRIBE_CONFIGS on CLUSTER) or none answers."""
    told = configs_of_one(connection, brokers)
    found = ((name, told[name].value) for name in _NAMES if name in told)
    return {name: value for name, value in found if value is not None}
