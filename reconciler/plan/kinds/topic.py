"""Topics: created and deleted as a whole; a live one gets partitions, or other configs."""

from collections.abc import Iterable
from typing import Any, Final

from reconciler.model import Change, Create, Delete, Impossible, Topic, TopicConfigs, TopicPartitions, Update, data_loss
from reconciler.plan.kinds.interface import Side

#: Of all kinds only topics have declared states that Kafka cannot reach.
TYPES: Final = (Topic, TopicPartitions, TopicConfigs, Impossible)


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


def to_json(change: Change) -> tuple[Side, Side]:
    """A whole topic, or of a live one only what changes."""
    match change:
        case Create(Topic() as topic):
            return None, topic_side(topic)
        case Delete(Topic() as topic):
            return topic_side(topic), None
        case Update(TopicPartitions() as before, TopicPartitions() as after):
            return _partitions_side(before), _partitions_side(after)
        case Update(TopicConfigs() as old, TopicConfigs() as new):
            return _configs_side(old), _configs_side(new)
        case Impossible(what, name, before_text, after_text):
            return {"name": name, what: before_text}, {"name": name, what: after_text}
    raise TypeError(f"{change!r} is not a change of a topic")


def is_reversible(change: Change) -> bool:
    """Not a deleted topic, not added partitions, not records that a change of configs loses."""
    match change:
        case Delete() | Update(_, TopicPartitions()):
            return False
    return not losses(change)


def topic_side(topic: Topic) -> dict[str, Any]:
    """A topic's fields; ``null`` where the broker's default is asked for or nothing is known."""
    return {
        "name": topic.name,
        "topicId": topic.topic_id,
        "partitions": topic.num_partitions,
        "replicationFactor": topic.replication_factor,
        "configs": dict(topic.configs),
        **_assignments_side(topic.replica_assignments),
    }


def _partitions_side(side: TopicPartitions) -> dict[str, Any]:
    return {
        "name": side.name,
        "topicId": side.topic_id,
        "partitions": side.count,
        **_assignments_side(side.assignments),
    }


def _configs_side(side: TopicConfigs) -> dict[str, Any]:
    return {"name": side.name, "topicId": side.topic_id, "configs": dict(side.configs)}


def _assignments_side(assignments: tuple[tuple[int, ...], ...] | None) -> dict[str, Any]:
    """The brokers of each partition, where they are asked for."""
    return {} if assignments is None else {"replicaAssignments": [list(replicas) for replicas in assignments]}


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
