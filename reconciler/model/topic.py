"""Topics: names, layout of replicas, and what a topic is used for.

Topics, and Kafka's rules for their names (``org.apache.kafka.common.internals.Topic``).
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from typing import Annotated, ClassVar, Final, NamedTuple, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.model.frozen import FrozenMap
from reconciler.model.says import REQUIRED, AnyInteger, AnyText, Name, Says

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


def collision_key(name: str) -> str:
    """Names with the same key differ only in ``.`` against ``_``, or not at all (``Topic.hasCollision``)."""
    return name.replace(".", "_")


#: Settings by name, values in Kafka's text form.
Configs: TypeAlias = FrozenMap[str]
#: The brokers of each partition, the preferred leader first.
Assignments: TypeAlias = tuple[tuple[int, ...], ...]

_NAME: Final = Says("The name.", "orders")
_ASKED: Final = "The brokers of each partition, where they are asked for."


def _id(before: str) -> Says:
    words = "Kafka's id of the topic; null where it does not exist or is unknown."
    return Says(words, "AAAAAAAAAAAAAAAAAAAAAA", default=REQUIRED, before=before)


@dataclass(frozen=True, slots=True, order=True)
class Topic:
    """A topic. ``configs`` holds only what is set on the topic itself (source DYNAMIC_TOPIC_CONFIG).

    ``num_partitions`` and ``replication_factor`` are ``None`` where the broker's default is asked for;
    ``topic_id`` and ``replica_assignments`` (broker ids by partition) are ``None`` where unknown or not asked for.
    """

    KIND: ClassVar[str] = "topics"
    #: Whether Kafka's protocol can validate a creation or an update without performing it (KIP-108); no deletion.
    CAN_VALIDATE: ClassVar[bool] = True

    name: Annotated[Name, _NAME]
    num_partitions: Annotated[
        int | None, Says("How many; null where the broker decides.", 6, name="partitions", default=REQUIRED)
    ] = None
    replication_factor: Annotated[
        int | None, Says("How many replicas; null where the broker decides.", 3, default=REQUIRED)
    ] = None
    configs: Annotated[Mapping[str, str], Says("Configs of the topic itself, by name.", default=REQUIRED)] = field(
        default_factory=FrozenMap
    )
    topic_id: Annotated[str | None, _id("num_partitions")] = None
    replica_assignments: Annotated[Assignments | None, Says(_ASKED, omit=True)] = None

    def __post_init__(self) -> None:
        """Takes any mapping as ``configs`` and keeps an immutable copy."""
        if not isinstance(self.configs, FrozenMap):
            object.__setattr__(self, "configs", FrozenMap(self.configs))

    def with_configs(self, configs: Mapping[str, str]) -> "Topic":
        """The same with these configs."""
        return self.with_settings(self.num_partitions, self.replication_factor, configs)

    def with_settings(self, partitions: int | None, replicas: int | None, configs: Mapping[str, str]) -> "Topic":
        """The same with these; ``replace`` takes three times as long, which shows on thousands of topics."""
        return Topic(self.name, partitions, replicas, configs, self.topic_id, self.replica_assignments)


#: What can be declared of a topic besides its configs, one value each, in the order in which it is written: the
#: attribute by the field of manifests. What is compared, undone, kept or exported of it follows from this.
TOPIC_ATTRIBUTES: Final = {"partitions": "num_partitions", "replicationFactor": "replication_factor"}


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    """How many partitions a live topic has; ``assignments`` are the brokers of those that an update adds."""

    CAN_VALIDATE: ClassVar[bool] = True  # CreatePartitions has a field for it

    name: Annotated[Name, _NAME]
    count: Annotated[int, Says("How many there are.", 6, name="partitions")]
    topic_id: Annotated[str | None, _id("count")] = None
    assignments: Annotated[Assignments | None, Says(_ASKED, name="replicaAssignments", omit=True)] = None


@dataclass(frozen=True, slots=True)
class TopicConfigs:
    """Some configs of a live topic; ``None``: not set on the topic. Both sides of an update have the same keys.

    ``effective`` are the values that hold for those which decide what the topic keeps and which ``configs`` leave to
    the broker or to another config, where they are known: what is lost is judged by what holds.
    """

    CAN_VALIDATE: ClassVar[bool] = True  # IncrementalAlterConfigs has a field for it

    name: Annotated[Name, _NAME]
    configs: Annotated[Mapping[str, str | None], Says("Configs that differ, by name; null: not set on the topic.")]
    topic_id: Annotated[str | None, _id("configs")] = None
    effective: Annotated[
        Mapping[str, str],
        Says(
            "The values that hold for those that decide what the topic keeps and are left to the broker, where known.",
            omit=True,
        ),
    ] = field(default_factory=FrozenMap)

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

    CAN_VALIDATE: ClassVar[bool] = False  # AlterPartitionReassignments has no field for it

    name: Annotated[Name, _NAME]
    assignments: Annotated[Assignments, Says("The brokers of each partition.", name="replicaAssignments")]
    topic_id: Annotated[str | None, _id("assignments")] = None
    copied: Annotated[
        int,
        Says(
            "At most so many bytes are copied, rounded up to a power of two.", 0, name="copiedBytes", default=REQUIRED
        ),
    ] = 0


# What a topic is used for, as far as a cluster tells: what would go with it.


@dataclass(frozen=True, slots=True)
class TopicUse:
    """``None`` where it could not be read; ``gaps`` say why, a sentence each.

    ``size_bytes`` is of all replicas on the brokers' disks; ``records`` counts offsets from the first to the last one
    kept; ``last_write`` is the newest timestamp of a record, RFC 3339 in UTC, empty where there is no record;
    ``groups`` have committed offsets in the topic. ``written`` counts the offsets that were ever given, of records that
    retention has removed too.
    """

    size_bytes: Annotated[
        int | None, Says("How much it holds; null where that is unknown.", 1048576, default=REQUIRED)
    ] = None
    records: Annotated[
        AnyInteger | None, Says("How many records it holds; null where that is unknown.", 1200, default=REQUIRED)
    ] = None
    last_write: Annotated[
        str | None,
        Says("When the newest record was written; null where unknown.", "2026-11-20T08:00:00Z", default=REQUIRED),
    ] = None
    groups: Annotated[
        tuple[str, ...] | None,
        Says("Consumer groups with offsets in it; null where that is unknown.", default=REQUIRED),
    ] = None
    gaps: Annotated[tuple[AnyText, ...], Says("What could not be found out.", default=REQUIRED)] = ()
    written: Annotated[
        int | None, Says("How many records were ever written; null: unknown.", 0, omit=True, null=True)
    ] = None


# Where the replicas of topics are, how large they are, and which of them are being moved (KIP-455).


@dataclass(frozen=True, slots=True)
class PartitionLayout:
    """One partition: its replicas, those in sync, and the bytes that brokers hold of it, where they told.

    During a reassignment ``replicas`` holds both old and new ones: ``adding`` are not in sync yet, or not yet known to
    be, and ``removing`` go once they are.
    """

    replicas: tuple[int, ...]
    in_sync: frozenset[int]
    sizes: Mapping[int, int] = field(default_factory=dict)
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_moving(self) -> bool:
        """Whether a reassignment is unfinished."""
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas once nothing is moving; brokers put those that go last (``PartitionReassignmentReplicas``)."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)

    @property
    def reverted(self) -> tuple[int, ...]:
        """The replicas once the reassignment is cancelled (``PartitionReassignmentRevert``).

        Their order is the one that they have now, and so the preferred leader may be another one than at first.
        """
        return tuple(broker for broker in self.replicas if broker not in self.adding)

    @property
    def size(self) -> int:
        """The bytes of the largest replica; 0 where no broker told."""
        return max(self.sizes.values(), default=0)

    @property
    def bytes_left(self) -> int:
        """About how many bytes the new replicas lack."""
        new = set(self.adding) - self.in_sync
        return sum(max(0, self.size - self.sizes.get(broker, 0)) for broker in new)

    @property
    def behind(self) -> tuple[int, ...]:
        """Replicas that are out of sync, or whose broker is offline, though nobody is adding them."""
        return tuple(replica for replica in self.replicas if replica not in self.in_sync and replica not in self.adding)


class MoveLimits(NamedTuple):
    """How much of a topic may move at a time; a partition that is larger than ``size`` bytes moves alone.

    Enough to keep brokers busy, and little enough to be over soon where somebody stops an apply.
    """

    partitions: int = 50
    size: int = 50 * 2**30


@dataclass(frozen=True, slots=True)
class Layout:
    """The brokers with their racks, and the partitions of some topics, all read at one moment.

    ``cordoned`` are the brokers all of whose log directories are (KIP-1066): no controller places a replica there.
    """

    racks: Mapping[int, str | None]
    topics: Mapping[str, tuple[PartitionLayout, ...]] = field(default_factory=FrozenMap)
    cordoned: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        """Takes any mapping of topics and keeps it sorted and read-only."""
        object.__setattr__(self, "topics", FrozenMap(self.topics))

    def moving(self, topic: str) -> Iterator[tuple[int, PartitionLayout]]:
        """The partitions of a topic whose reassignment is unfinished, with their numbers."""
        return ((number, item) for number, item in enumerate(self.topics.get(topic, ())) if item.is_moving)
