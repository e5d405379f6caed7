"""Topics: created and deleted as a whole; a live one gets partitions, or other configs."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from reconciler.codec import COUNT, TEXT, Codec, Record, field, mapping, nullable, record
from reconciler.codec.changes import created, deleted, updated
from reconciler.codec.values import ASSIGNMENTS, NAME
from reconciler.model import Change, Create, Delete, Impossible, Topic, TopicConfigs, TopicPartitions, Update, data_loss

#: Of all kinds only topics have declared states that Kafka cannot reach.
TYPES: Final = (Topic, TopicPartitions, TopicConfigs, Impossible)
_PARTS: Final = (TopicPartitions, TopicConfigs)

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
)


def _difference(before: TopicPartitions | TopicConfigs, after: TopicPartitions | TopicConfigs) -> str | None:
    if (before.name, before.topic_id) != (after.name, after.topic_id):
        return "before and after are not the same topic"
    if isinstance(before, TopicConfigs) and isinstance(after, TopicConfigs) and [*before.configs] != [*after.configs]:
        return f"before and after do not have the same configs of topic {before.name}"
    return None


CODECS: Final[Mapping[str, Codec[Any]]] = {
    "CreateTopic": created(_TOPIC),
    "DeleteTopic": deleted(_TOPIC),
    "CreatePartitions": updated(_PARTITIONS, _difference),
    "AlterConfigs": updated(_CONFIGS, _difference),
}


def action(change: Change) -> str:
    """``CreateTopic``, ``DeleteTopic``, ``CreatePartitions`` or ``AlterConfigs``; ``Impossible`` is never performed."""
    match change:
        case Create():
            return "CreateTopic"
        case Delete():
            return "DeleteTopic"
        case Update():
            return "CreatePartitions" if isinstance(change.after, TopicPartitions) else "AlterConfigs"
        case Impossible():
            return "Impossible"


def describe(change: Change) -> str:
    """``add partitions to topic payments.orders``."""
    match change:
        case Create():
            return f"create topic {change.after.name}"
        case Delete():
            return f"delete topic {change.before.name}"
        case Update(_, TopicPartitions(name)):
            return f"add partitions to topic {name}"
        case Update(_, after):
            return f"alter settings of topic {after.name}"
        case Impossible(what, name):
            return f"change {what} of {name}"


def key(change: Change) -> tuple[str, Any]:
    """By what is done, then by name."""
    return action(change), name_of(change)


def is_reversible(change: Change) -> bool:
    """Not a deleted topic, not added partitions, not records that a change of configs loses."""
    match change:
        case Delete() | Update(_, TopicPartitions()):
            return False
    return not losses(change)


def touches(change: Change) -> frozenset[object]:
    """Partitions and configs of a live topic apart; one that is created or deleted has no other step."""
    sides = _PARTS if isinstance(change.after or change.before, Topic) else (type(change.after),)
    return frozenset((name_of(change), side) for side in sides)


def name_of(change: Change) -> str:
    """The topic's name."""
    if isinstance(change, Impossible):
        return change.name
    side: Any = change.before or change.after
    return str(side.name)


def created_topics(changes: Iterable[Change]) -> list[Topic]:
    """The topics that changes create, in order."""
    return [c.after for c in changes if isinstance(c, Create) and isinstance(c.after, Topic)]


def deleted_topics(changes: Iterable[Change]) -> list[Topic]:
    """The topics that changes delete, in order."""
    return [c.before for c in changes if isinstance(c, Delete) and isinstance(c.before, Topic)]


def touched_names(changes: Iterable[Change]) -> tuple[str, ...]:
    """The names of the topics that changes touch, each once, in order of first mention."""
    names = (name_of(change) for change in changes if isinstance(change.after or change.before, TYPES))
    return tuple(dict.fromkeys(names))


def losses(change: Change) -> tuple[str, ...]:
    """Why a change of configs may lose records, one reason a config; empty for every other change."""
    match change:
        case Update(TopicConfigs(_, before), TopicConfigs(_, after)):
            found = (data_loss(key, before.get(key), after[key]) for key in after)
            return tuple(reason for reason in found if reason)
    return ()
