"""Topics, and Kafka's rules for their names (``org.apache.kafka.common.internals.Topic``)."""

import re
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import ClassVar, Final, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.model.frozen import FrozenMap

MAX_TOPIC_NAME_LENGTH: Final = 249
#: Kept by brokers for themselves; never deleted.
INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
#: The metadata log: it can be neither created nor described as a topic.
METADATA_TOPIC: Final = "__cluster_metadata"

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


def topic_name_problem(name: str) -> str | None:
    """Why Kafka would refuse ``name`` with INVALID_TOPIC_EXCEPTION, or ``None`` if it is legal."""
    if not name:
        return "a topic name cannot be empty"
    if name in (".", ".."):
        return f"a topic cannot be called {name!r}"
    if len(name) > MAX_TOPIC_NAME_LENGTH:
        return f"a topic name has at most {MAX_TOPIC_NAME_LENGTH} characters, this one has {len(name)}"
    if not _LEGAL.fullmatch(name):
        return "a topic name has only ASCII letters, digits, '.', '_' and '-'"
    return None


def topic_names_collide(a: str, b: str) -> bool:
    """Whether the two names differ only in ``.`` against ``_``, or not at all (``Topic.hasCollision``)."""
    return collision_key(a) == collision_key(b)


def collision_key(name: str) -> str:
    """The form in which names collide, for looking many up at once."""
    return name.replace(".", "_")


#: Settings by name, values in Kafka's text form.
Configs: TypeAlias = FrozenMap[str]


@dataclass(frozen=True, slots=True, order=True)
class Topic:
    """A topic. ``configs`` holds only what is set on the topic itself (source DYNAMIC_TOPIC_CONFIG).

    ``num_partitions`` and ``replication_factor`` are ``None`` where the broker's default is asked for;
    ``topic_id`` and ``replica_assignments`` (broker ids by partition) are ``None`` where unknown or not asked for.
    """

    KIND: ClassVar[str] = "topics"
    name: str
    num_partitions: int | None = None
    replication_factor: int | None = None
    configs: Mapping[str, str] = field(default_factory=FrozenMap)
    topic_id: str | None = None
    replica_assignments: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        """Takes any mapping as ``configs`` and keeps an immutable copy."""
        if not isinstance(self.configs, FrozenMap):
            object.__setattr__(self, "configs", FrozenMap(self.configs))

    def with_configs(self, configs: Mapping[str, str]) -> "Topic":
        """The same with these configs; ``replace`` takes three times as long, which shows on thousands of topics."""
        return Topic(
            self.name,
            self.num_partitions,
            self.replication_factor,
            configs,
            self.topic_id,
            self.replica_assignments,
        )


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    """How many partitions a live topic has; ``assignments`` are the brokers of those that an update adds."""

    name: str
    count: int
    topic_id: str | None = None
    assignments: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class TopicConfigs:
    """Some configs of a live topic; ``None``: not set on the topic. Both sides of an update have the same keys.

    ``effective`` are the values that hold for those which decide what the topic keeps and which ``configs`` leave to
    the broker or to another config, where they are known: what is lost is judged by what holds.
    """

    name: str
    configs: Mapping[str, str | None]
    topic_id: str | None = None
    effective: Mapping[str, str] = field(default_factory=FrozenMap)

    def __post_init__(self) -> None:
        """Takes any mappings and keeps immutable copies."""
        if not isinstance(self.configs, FrozenMap):
            object.__setattr__(self, "configs", FrozenMap(self.configs))
        if not isinstance(self.effective, FrozenMap):
            object.__setattr__(self, "effective", FrozenMap(self.effective))

    def holds(self, name: str) -> str | None:
        """The value that holds for one of the configs; ``None``: the broker's default, which is not known."""
        return self.effective.get(name, self.configs.get(name))

    def only(self, names: Collection[str]) -> "TopicConfigs":
        """The same of these configs alone."""
        configs = {name: value for name, value in self.configs.items() if name in names}
        held = {name: value for name, value in self.effective.items() if name in names}
        return TopicConfigs(self.name, configs, self.topic_id, held)


@dataclass(frozen=True, slots=True)
class TopicReplicas:
    """Where the replicas of a live topic are, of every partition, the preferred leader first.

    ``copied`` is at most how many bytes brokers copy to get there, rounded up to a power of two: so a plan says it and
    keeps its id while records come in. Before a change it is 0.
    """

    name: str
    assignments: tuple[tuple[int, ...], ...]
    topic_id: str | None = None
    copied: int = 0
