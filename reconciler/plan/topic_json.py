"""Changes of topics in JSON, by their action; both directions and the schema."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from reconciler.codec import COUNT, TEXT, Codec, Record, field, mapping, nullable, record
from reconciler.codec.changes import created, deleted, updated
from reconciler.codec.values import ASSIGNMENTS, NAME
from reconciler.model import FrozenMap, Topic, TopicConfigs, TopicPartitions, TopicReplicas

_NAME: Final = field("name", NAME, "The name.", "orders")
_ID: Final = field(
    "topicId",
    nullable(TEXT),
    "Kafka's id of the topic; null where it does not exist or is unknown.",
    "AAAAAAAAAAAAAAAAAAAAAA",
)
_ASSIGNMENTS: Final = ("replicaAssignments", ASSIGNMENTS, "The brokers of each partition, where they are asked for.")
_TOPIC: Final[Record[Topic]] = record(
    Topic,
    _NAME,
    _ID,
    field("partitions", nullable(COUNT), "How many; null where the broker decides.", 6, attr="num_partitions"),
    field("replicationFactor", nullable(COUNT), "How many replicas; null where the broker decides.", 3),
    field("configs", mapping(TEXT), "Configs of the topic itself, by name."),
    field(*_ASSIGNMENTS, default=None, omit=True),
)
_PARTITIONS: Final[Record[TopicPartitions]] = record(
    TopicPartitions,
    _NAME,
    _ID,
    field("partitions", COUNT, "How many there are.", 6, attr="count"),
    field(*_ASSIGNMENTS, attr="assignments", default=None, omit=True),
)
_CONFIGS: Final[Record[TopicConfigs]] = record(
    TopicConfigs,
    _NAME,
    _ID,
    field("configs", mapping(nullable(TEXT)), "Configs that differ, by name; null: not set on the topic."),
    field(
        "effective",
        mapping(TEXT),
        "The values that hold for those that decide what the topic keeps and are left to the broker, where known.",
        default=FrozenMap(),
        omit=True,
    ),
)
_REPLICAS: Final[Record[TopicReplicas]] = record(
    TopicReplicas,
    _NAME,
    _ID,
    field("replicaAssignments", ASSIGNMENTS, "The brokers of each partition.", attr="assignments"),
    field("copiedBytes", COUNT, "At most so many bytes are copied, rounded up to a power of two.", 0, attr="copied"),
)
_Part: TypeAlias = TopicPartitions | TopicConfigs | TopicReplicas


def _topics(before: _Part, after: _Part) -> str | None:
    if (before.name, before.topic_id) != (after.name, after.topic_id):
        return "before and after are not the same topic"
    return None


def _configs(before: TopicConfigs, after: TopicConfigs) -> str | None:
    if [*before.configs] != [*after.configs]:
        return f"before and after do not have the same configs of topic {before.name}"
    if any(side.configs.get(key) not in (None, "-2") for side in (before, after) for key in side.effective):
        return f"a config of topic {before.name} has a value, and another one in force"
    return _topics(before, after)


def _replicas(before: TopicReplicas, after: TopicReplicas) -> str | None:
    if len(before.assignments) != len(after.assignments):
        return f"before and after do not have the same partitions of topic {before.name}"
    if not all(replicas and len(set(replicas)) == len(replicas) for replicas in after.assignments):
        return f"a partition of topic {before.name} has no replica, or a broker twice"
    return _topics(before, after)


#: How a change of topics looks in JSON.
CODECS: Final[Mapping[str, Codec[Any]]] = {
    "CreateTopic": created(_TOPIC),
    "DeleteTopic": deleted(_TOPIC),
    "CreatePartitions": updated(_PARTITIONS, _topics),
    "AlterConfigs": updated(_CONFIGS, _configs),
    "MoveReplicas": updated(_REPLICAS, _replicas),
}
