"""What a step expects to find, against what is there now: still to do, done by somebody already, or stale."""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from reconciler.model import (
    AclBinding,
    Change,
    ClientQuota,
    ClusterState,
    Create,
    Delete,
    Impossible,
    Topic,
    TopicConfigs,
    TopicPartitions,
    Update,
    normal_form,
    resource_of,
)
from reconciler.plan.kinds.topic import name_of, touched_names
from reconciler.plan.step import Step


class Standing(StrEnum):
    """How a step stands against a state."""

    PENDING = "pending"
    DONE = "done"
    STALE = "stale"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Finding:
    """A step's standing; ``expected`` and ``found`` are for people, and empty where all is well."""

    standing: Standing
    subject: str = ""
    expected: str = ""
    found: str = ""


_PENDING, _DONE = Finding(Standing.PENDING), Finding(Standing.DONE)


def standing(step: Step, live: ClusterState) -> Finding:
    """Hold one step against the live state. Bindings cannot be stale: they are there or they are not."""
    match step.change:
        case Create(AclBinding() as binding):
            return _DONE if binding in live.bindings else _PENDING
        case Delete(AclBinding() as binding):
            return _PENDING if binding in live.bindings else _DONE
        case Create(ClientQuota()) | Update(ClientQuota()) | Delete(ClientQuota()) as change:
            return _quota(change, live)
        case Create() | Delete() | Update() as change:
            return _topic(change, live)
        case Impossible():
            raise TypeError("an impossible change is not a step")
    assert_never(step.change)


def touched_topics(steps: tuple[Step, ...]) -> tuple[str, ...]:
    """Names of the topics that steps touch, each once, in order of first mention."""
    return touched_names(step.change for step in steps)


def _topic(change: Change, live: ClusterState) -> Finding:
    name = name_of(change)
    if reason := live.unreadable_topics.get(name):
        return Finding(Standing.UNREADABLE, f"topic {name}", "readable", reason)
    topic = live.topics.get(name)
    match change:
        case Create(Topic() as wanted):
            return _PENDING if topic is None else _created(wanted, topic)
        case Delete(Topic() as expected):
            return _DONE if topic is None else _same_topic(expected.topic_id, topic)
        case Update(TopicPartitions(_, before, topic_id), TopicPartitions(_, after)):
            return _partitions(before, after, topic_id, topic, name)
        case Update(TopicConfigs() as old, TopicConfigs() as new):
            return _configs(old, new, topic)
    raise TypeError(f"{change!r} is not a step on a topic")


def _quota(change: Change, live: ClusterState) -> Finding:
    """Whether the keys that change have the values before, or those after; other keys of the entity do not matter."""
    entity = resource_of(change).entity
    subject = f"quota of {entity}"
    if live.quotas is None:
        return Finding(Standing.UNREADABLE, subject, "readable", live.quota_gap or "the quotas were not read")
    there = next((quota.values for quota in live.quotas if quota.entity == entity), {})
    before, after = (side.values if isinstance(side, ClientQuota) else {} for side in (change.before, change.after))
    touched = sorted({*before, *after})
    now, old, new = ({key: values.get(key) for key in touched} for values in (there, before, after))
    if now == new:
        return _DONE
    return _PENDING if now == old else Finding(Standing.STALE, subject, _limits(old), _limits(now))


def _limits(values: dict[str, float | None]) -> str:
    return ", ".join(f"{key}={'unset' if value is None else f'{value:g}'}" for key, value in values.items())


def _created(wanted: Topic, topic: Topic) -> Finding:
    """A topic that appeared meanwhile is the wished one if every wish about it holds."""
    partitions = wanted.num_partitions in (None, topic.num_partitions)
    replicas = wanted.replication_factor in (None, topic.replication_factor)
    mine = {key: normal_form(key, value) for key, value in wanted.configs.items()}
    theirs = {key: normal_form(key, value) for key, value in topic.configs.items()}
    assigned = wanted.replica_assignments is None or topic.replica_assignments in (None, wanted.replica_assignments)
    if partitions and replicas and assigned and mine == theirs:
        return _DONE
    return Finding(Standing.STALE, f"topic {topic.name}", "absent", f"exists with {_shape(topic)}")


def _same_topic(topic_id: str | None, topic: Topic) -> Finding:
    if topic_id and topic.topic_id and topic_id != topic.topic_id:
        found = f"another topic of that name, id {topic.topic_id}"
        return Finding(Standing.STALE, f"topic {topic.name}", f"id {topic_id}", found)
    return _PENDING


def _partitions(before: int, after: int, topic_id: str | None, topic: Topic | None, name: str) -> Finding:
    if topic is None:
        return Finding(Standing.STALE, f"topic {name}", f"{before} partitions", "no such topic")
    if (other := _same_topic(topic_id, topic)) is not _PENDING:
        return other
    if topic.num_partitions == after:
        return _DONE
    if topic.num_partitions == before:
        return _PENDING
    return Finding(Standing.STALE, f"topic {name}", f"{before} partitions", f"{topic.num_partitions} partitions")


def _configs(before: TopicConfigs, after: TopicConfigs, topic: Topic | None) -> Finding:
    if topic is None:
        return Finding(Standing.STALE, f"topic {before.name}", "exists", "no such topic")
    if (other := _same_topic(before.topic_id, topic)) is not _PENDING:
        return other
    wanted = after.configs
    stale = [key for key in wanted if _value(topic, key) not in (_old(before, key), wanted[key])]
    if stale:
        expected = ", ".join(f"{key}={_old(before, key) or 'unset'}" for key in stale)
        found = ", ".join(f"{key}={_value(topic, key) or 'unset'}" for key in stale)
        return Finding(Standing.STALE, f"topic {before.name}", expected, found)
    return _DONE if all(_value(topic, key) == wanted[key] for key in wanted) else _PENDING


def _value(topic: Topic, key: str) -> str | None:
    value = topic.configs.get(key)
    return None if value is None else normal_form(key, value)


def _old(before: TopicConfigs, key: str) -> str | None:
    value = before.configs[key]
    return None if value is None else normal_form(key, value)


def _shape(topic: Topic) -> str:
    configs = "".join(f", {key}={value}" for key, value in topic.configs.items())
    return f"{topic.num_partitions} partitions, replication factor {topic.replication_factor}{configs}"
