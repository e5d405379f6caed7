"""What a broker's configs tell of the make of its cluster and of its authorizer."""

from collections.abc import Collection
from typing import Final

from confluent_kafka.admin import ConfigResource, ResourceType

from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.codes import ClientFailure
from reconciler.model.authorizers import CLASS_NAME
from reconciler.model.flavor_signs import may_tell

#: What a broker that cannot be reached would have told is not worth more: without it an answer is as strict as before.
_PATIENCE_SECONDS: Final = 10.0


def broker_configs(connection: AdminConnection, brokers: Collection[int]) -> dict[str, str | None]:
    """The telling configs of one broker; empty if it refuses (it needs DESCRIBE_CONFIGS on CLUSTER) or is silent.

    Brokers hide values of configs whose type they do not know, such as a plug-in's; their names show all the same
    (``ConfigHelper.createBrokerConfigEntry``).
    """
    if not brokers:
        return {}
    resource = ConfigResource(ResourceType.BROKER, str(min(brokers)))
    timeout = min(connection.settings.request_timeout, _PATIENCE_SECONDS)
    told = connection.outcome(connection.admin.describe_configs([resource], request_timeout=timeout)[resource])
    if isinstance(told, ClientFailure):
        return {}
    return {name: entry.value for name, entry in told.items() if name == CLASS_NAME or may_tell(name)}
