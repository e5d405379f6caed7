"""Configs of brokers, and what they show of the vendor.

The configs that brokers use now, each asked itself, and the features of the cluster.
"""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka.admin import ConfigEntry, ConfigResource, ConfigSource, ResourceType

from reconciler.kafka.client import AdminConnection
from reconciler.kafka.errors import ClientFailure
from reconciler.kafka.listing import features, no_messages
from reconciler.model.flavor import CLASS_NAME, may_tell
from reconciler.model.state import BrokerConfig, BrokerSettings, ConfigOrigin

_ORIGINS: Final = {
    ConfigSource.DYNAMIC_BROKER_CONFIG.value: ConfigOrigin.BROKER,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value: ConfigOrigin.CLUSTER,
    ConfigSource.STATIC_BROKER_CONFIG.value: ConfigOrigin.FILE,
    ConfigSource.DEFAULT_CONFIG.value: ConfigOrigin.DEFAULT,
}

#: A broker that hangs is told as silent, and is not waited for as long as a reading on which a plan depends.
_PATIENCE_SECONDS: Final = 10.0


def broker_settings(
    connection: AdminConnection, brokers: Collection[int], configs: Collection[str], *, with_features: bool
) -> BrokerSettings:
    """What each of ``brokers`` says of ``configs``: it needs DESCRIBE_CONFIGS on CLUSTER; features need no right.

    Never raises: what is not told is said. A broker answers for itself alone, so each gets a request of its own.
    """
    told = dict[int, dict[str, BrokerConfig]]()
    silent = dict[int, str]()
    if configs:
        resources = {str(broker): ConfigResource(ResourceType.BROKER, str(broker)) for broker in brokers}
        timeout = min(connection.settings.request_timeout, _PATIENCE_SECONDS)

        def ask(names: Sequence[str]) -> Mapping[str, Future[dict[str, ConfigEntry]]]:
            asked = [connection.admin.describe_configs([resources[item]], request_timeout=timeout) for item in names]
            return {item: futures[resources[item]] for item, futures in zip(names, asked, strict=True)}

        for broker, found in connection.read_each(list(resources), ask).items():
            if isinstance(found, ClientFailure):
                silent[int(broker)] = f"{found.name}: {found.message}"
            else:
                told[int(broker)] = {name: _config(found[name]) for name in configs if name in found}
    read = features(connection.settings) if with_features else None
    gap = ""
    if with_features and read is None:
        why = no_messages(connection.settings) or "could not read them"
        gap = f"the features of the cluster are read by kafka-python, which {why}"
    return BrokerSettings(told, silent, read, gap)


def _config(entry: ConfigEntry) -> BrokerConfig:
    """A config; brokers hide passwords, and all that a plug-in has (``ConfigHelper.createBrokerConfigEntry``)."""
    hidden = entry.value is None and bool(entry.is_sensitive)
    source: Any = getattr(entry.source, "value", entry.source)  # a code that the client does not know is a number
    return BrokerConfig(entry.value, _ORIGINS.get(source, ConfigOrigin.UNKNOWN), hidden)


# What a broker's configs tell of the make of its cluster and of its authorizer.

#: A broker that is silent for so long is left for another one.
_CONFIG_PATIENCE_SECONDS: Final = 5.0
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
    timeout = min(connection.settings.request_timeout, _CONFIG_PATIENCE_SECONDS)
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
