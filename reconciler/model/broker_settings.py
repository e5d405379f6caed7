"""What brokers say of their own configs, and the cluster of its features: looked at, never changed."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from reconciler.dataclass import dataclass


class ConfigOrigin(StrEnum):
    """Where the value that a broker uses comes from (``org.apache.kafka.clients.admin.ConfigEntry.ConfigSource``)."""

    BROKER = "set on this broker"
    CLUSTER = "set for all brokers"
    FILE = "from its file"
    DEFAULT = "Kafka's default"
    UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """The value that a broker uses now, ``None`` where it has none; ``hidden``: it has one and does not tell it."""

    value: str | None
    origin: ConfigOrigin = ConfigOrigin.UNKNOWN
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The configs that were asked for, by broker and name, and the finalized features of the cluster.

    A broker that told has only the configs that it has; why another one did not is in ``silent``. ``features`` is
    ``None`` where they could not be read, or nobody asked; why is in ``features_gap``. ``gap`` says why no broker could
    be asked at all.
    """

    configs: Mapping[int, Mapping[str, BrokerConfig]] = field(default_factory=dict)
    silent: Mapping[int, str] = field(default_factory=dict)
    features: Mapping[str, int] | None = None
    features_gap: str = ""
    gap: str = ""
