"""A declared topic as rules see it: known values, values left to the broker, unknown values."""

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model import TOPIC_CONFIGS, UNLIMITED_CONFIGS, ConfigType, DesiredTopic, FrozenMap, Origin, Topic

_NO_LIMIT: Final = -1
#: A local limit with this value equals the limit without ``local.`` (KIP-405).
_AS_THE_OTHER: Final = -2
_LOCAL: Final = "local."
#: The broker configs that apply to a new topic without a declared value.
_DEFAULTS: Final = {"partitions": "num.partitions", "replicationFactor": "default.replication.factor"}


@dataclass(frozen=True, slots=True)
class ClusterContext:
    """What is known about the cluster: name, number of brokers, existing topics, broker defaults.

    ``brokers`` is ``None`` if unknown. What a declaration leaves to the broker, an existing topic keeps and a new topic
    takes from ``defaults`` (configs, ``num.partitions``, ``default.replication.factor``). Whether the ``unreadable``
    topics exist is unknown. ``ignored`` are configs that an existing topic keeps.
    """

    cluster: str = ""
    brokers: int | None = None
    live: Mapping[str, Topic] = field(default_factory=FrozenMap)
    defaults: Mapping[str, str] = field(default_factory=FrozenMap)
    unreadable: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic with its numbers, if known, and its declared configs.

    ``chosen`` are the numbers that the declaration leaves to the broker, ``defaults`` the broker's defaults.
    """

    name: str
    origin: Origin
    cluster: str
    partitions: int | None
    replication_factor: int | None
    brokers: int | None
    configs: Mapping[str, str]
    labels: Mapping[str, str]
    chosen: frozenset[str] = frozenset()
    defaults: Mapping[str, str] = field(default_factory=FrozenMap)

    def count(self, name: str) -> int | None:
        """``partitions``, ``replicationFactor`` or ``brokers``, named as in manifests."""
        known = {
            "partitions": self.partitions,
            "replicationFactor": self.replication_factor,
            "brokers": self.brokers,
        }
        return known[name]

    def setting(self, name: str) -> str | None:
        """The declared value of a config, else the broker's default; ``None`` if unknown."""
        return self.configs.get(name, self.defaults.get(name))

    def setting_number(self, name: str) -> float | None:
        """A config as a number, infinite for no limit; ``None`` if it is unknown or not a number."""
        text = self.setting(name)
        if text is None:
            return None
        try:
            number = float(text) if TOPIC_CONFIGS.get(name) is ConfigType.DOUBLE else int(text)
        except ValueError:
            return None
        if name in UNLIMITED_CONFIGS and number == _AS_THE_OTHER and name.startswith(_LOCAL):
            return self.setting_number(name.removeprefix(_LOCAL))
        return math.inf if name in UNLIMITED_CONFIGS and number <= _NO_LIMIT else number


def facts_of(wanted: DesiredTopic, around: ClusterContext) -> TopicFacts:
    """The facts of a declared topic on a cluster; explicit replica assignments determine its numbers."""
    topic, live = wanted.topic, around.live.get(wanted.topic.name)
    declared = {"partitions": topic.num_partitions, "replicationFactor": topic.replication_factor}
    if topic.replica_assignments:
        declared["partitions"] = len(topic.replica_assignments)
        # The least replicated partition counts: rules demand a minimum.
        declared["replicationFactor"] = min(map(len, topic.replica_assignments))
    defaults = {} if topic.name in around.unreadable else around.defaults
    kept = {name: _default(defaults, default) for name, default in _DEFAULTS.items()}
    if live is not None:
        defaults = {**defaults, **{name: text for name, text in live.configs.items() if name in around.ignored}}
        kept = {"partitions": live.num_partitions, "replicationFactor": live.replication_factor}
    numbers = {name: kept[name] if number is None else number for name, number in declared.items()}
    return TopicFacts(
        topic.name,
        wanted.origin,
        around.cluster,
        numbers["partitions"],
        numbers["replicationFactor"],
        around.brokers,
        topic.configs,
        wanted.all_labels,
        frozenset(name for name, number in declared.items() if number is None),
        defaults,
    )


def _default(defaults: Mapping[str, str], name: str) -> int | None:
    text = defaults.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None
