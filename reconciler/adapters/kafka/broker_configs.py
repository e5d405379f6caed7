"""What a broker's configs tell of the make of its cluster and of its authorizer."""

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Final

from confluent_kafka.admin import ConfigEntry, ConfigResource, ResourceType

from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.codes import ClientFailure
from reconciler.model.authorizers import CLASS_NAME
from reconciler.model.flavor_signs import may_tell

#: A broker that is silent for so long is left for another one.
_PATIENCE_SECONDS: Final = 5.0
_MOST_ASKED: Final = 3


def broker_configs(connection: AdminConnection, brokers: Collection[int]) -> dict[str, str | None]:
    """The telling configs of one broker; empty where :func:`configs_of_one` is.

    Brokers hide values of configs whose type they do not know, such as a plug-in's; their names show all the same
    (``ConfigHelper.createBrokerConfigEntry``).
    """
    told = configs_of_one(connection, brokers)
    return {name: entry.value for name, entry in told.items() if name == CLASS_NAME or may_tell(name)}


def configs_of_one(connection: AdminConnection, brokers: Collection[int]) -> Mapping[str, ConfigEntry]:
    """The configs of the first broker that answers, by id; empty if it refuses or a few in a row are silent.

    It needs DESCRIBE_CONFIGS on CLUSTER.
    """
    timeout = min(connection.settings.request_timeout, _PATIENCE_SECONDS)
    for broker in sorted(brokers)[:_MOST_ASKED]:
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        asked: Future[dict[str, ConfigEntry]]
        asked = connection.admin.describe_configs([resource], request_timeout=timeout)[resource]
        told = connection.outcome(asked)
        if not isinstance(told, ClientFailure):
            return told
        if not told.unanswered:
            break
    return {}
