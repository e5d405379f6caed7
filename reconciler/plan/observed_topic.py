"""A live topic against what a step on it expects to find."""

from collections.abc import Mapping

from reconciler.model import Topic, TopicConfigs, effective, normal_form
from reconciler.model.flavor import between
from reconciler.plan.observed import DONE, PENDING, Observed, StepState


def observed_creation(wanted: Topic, topic: Topic) -> Observed:
    """A topic that appeared meanwhile is the one wanted if it is as declared in every respect."""
    partitions = wanted.num_partitions in (None, topic.num_partitions)
    replicas = wanted.replication_factor in (None, topic.replication_factor)
    mine = {key: normal_form(key, value) for key, value in wanted.configs.items()}
    theirs = {key: normal_form(key, value) for key, value in topic.configs.items()}
    assigned = wanted.replica_assignments is None or topic.replica_assignments in (None, wanted.replica_assignments)
    if partitions and replicas and assigned and mine == theirs:
        return DONE
    return Observed(StepState.STALE, f"topic {topic.name}", "absent", f"exists with {_shape(topic)}")


def observed_id(topic_id: str | None, topic: Topic) -> Observed:
    """A topic that was deleted and created again has another id; ``None``: not known, and no reason to stop."""
    if topic_id and topic.topic_id and topic_id != topic.topic_id:
        found = f"another topic of that name, id {topic.topic_id}"
        return Observed(StepState.STALE, f"topic {topic.name}", f"id {topic_id}", found)
    return PENDING


def observed_partitions(before: int, after: int, topic_id: str | None, topic: Topic | None, name: str) -> Observed:
    """The number of partitions, expected to be ``before`` and wanted to be ``after``."""
    if topic is None:
        return Observed(StepState.STALE, f"topic {name}", f"{before} partitions", "no such topic")
    if (other := observed_id(topic_id, topic)) is not PENDING:
        return other
    if topic.num_partitions == after:
        return DONE
    if topic.num_partitions == before:
        return PENDING
    return Observed(StepState.STALE, f"topic {name}", f"{before} partitions", f"{topic.num_partitions} partitions")


def observed_configs(
    before: TopicConfigs, after: TopicConfigs, topic: Topic | None, defaults: Mapping[str, str]
) -> Observed:
    """The configs that the step sets: each as before, already as wanted, or at a value that a flavor needs between.

    What it loses was judged by the brokers' defaults of then: others, or none that can be read, are not expected.
    """
    if topic is None:
        return Observed(StepState.STALE, f"topic {before.name}", "exists", "no such topic")
    if (other := observed_id(before.topic_id, topic)) is not PENDING:
        return other
    wanted = after.configs
    halfway = {key: normal_form(key, value) for key, value in between(before.configs, wanted).items()}
    stale = [key for key in wanted if _value(topic, key) not in (_old(before, key), wanted[key], halfway.get(key, ""))]
    if stale:
        expected = ", ".join(f"{key}={_old(before, key) or 'unset'}" for key in stale)
        found = ", ".join(f"{key}={_value(topic, key) or 'unset'}" for key in stale)
        return Observed(StepState.STALE, f"topic {before.name}", expected, found)
    if all(_value(topic, key) == wanted[key] for key in wanted):
        return DONE
    for side in (before, after):
        now = effective({**topic.configs, **side.configs}, side.configs, defaults)
        for key, value in side.effective.items():
            if (found := now.get(key, "not known")) != value:
                return Observed(StepState.STALE, f"default of {key} for topic {before.name}", value, found)
    return PENDING


def _value(topic: Topic, key: str) -> str | None:
    value = topic.configs.get(key)
    return None if value is None else normal_form(key, value)


def _old(before: TopicConfigs, key: str) -> str | None:
    value = before.configs[key]
    return None if value is None else normal_form(key, value)


def _shape(topic: Topic) -> str:
    configs = "".join(f", {key}={value}" for key, value in topic.configs.items())
    return f"{topic.num_partitions} partitions, replication factor {topic.replication_factor}{configs}"
