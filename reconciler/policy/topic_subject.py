"""One declared topic as rules see it: what is known of it, what is left to the broker, what is not known at all."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from reconciler.model import TOPIC_CONFIGS, UNLIMITED_CONFIGS, ConfigType, DesiredTopic, FrozenMap, Origin, Topic

_NO_LIMIT: Final = -1
#: Of the local limits: whatever the limit without ``local.`` says.
_AS_THE_OTHER: Final = -2
_LOCAL: Final = "local."


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of the cluster: its name, how many brokers it has, and topics that it has already.

    ``brokers`` is ``None`` where nobody says. ``live`` decides what a declaration leaves to the broker: an existing
    topic keeps its numbers.
    """

    cluster: str = ""
    brokers: int | None = None
    live: Mapping[str, Topic] = field(default_factory=FrozenMap)


@dataclass(frozen=True, slots=True)
class Subject:
    """A topic with its numbers (``None``: the broker will choose) and the settings that are declared on it."""

    name: str
    origin: Origin
    cluster: str
    partitions: int | None
    replication_factor: int | None
    brokers: int | None
    configs: Mapping[str, str]
    labels: Mapping[str, str]

    def count(self, name: str) -> int | None:
        """``partitions``, ``replicationFactor`` or ``brokers``, as manifests call them."""
        known = {
            "partitions": self.partitions,
            "replicationFactor": self.replication_factor,
            "brokers": self.brokers,
        }
        return known[name]

    def setting_number(self, name: str) -> float | None:
        """A declared setting as a number: no limit is infinite; ``None`` where it is not set, or no number."""
        text = self.configs.get(name)
        if text is None:
            return None
        try:
            number = float(text) if TOPIC_CONFIGS.get(name) is ConfigType.DOUBLE else int(text)
        except ValueError:
            return None
        if name in UNLIMITED_CONFIGS and number == _AS_THE_OTHER and name.startswith(_LOCAL):
            return self.setting_number(name.removeprefix(_LOCAL))
        return math.inf if name in UNLIMITED_CONFIGS and number <= _NO_LIMIT else number


def subject(wanted: DesiredTopic, around: Surroundings) -> Subject:
    """A declared topic in its surroundings; explicit replica assignments are its numbers."""
    topic, live = wanted.topic, around.live.get(wanted.topic.name)
    partitions, factor = topic.num_partitions, topic.replication_factor
    if topic.replica_assignments:
        partitions = len(topic.replica_assignments)
        factor = min(map(len, topic.replica_assignments))
    if live is not None:
        partitions = live.num_partitions if partitions is None else partitions
        factor = live.replication_factor if factor is None else factor
    return Subject(
        topic.name, wanted.origin, around.cluster, partitions, factor, around.brokers, topic.configs, wanted.labels
    )
