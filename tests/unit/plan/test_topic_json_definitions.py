"""Which changes of live topics a plan file may hold: both sides are of one topic, and speak of the same of it."""

from itertools import product

import pytest

from reconciler.codec.codec import SchemaError
from reconciler.model.listing import Update
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions, TopicReplicas
from reconciler.plan.kinds.topic import CODECS

NAMES, IDS = ("t", "u"), (None, "id", "other")


@pytest.mark.parametrize("action", ["CreatePartitions", "AlterConfigs", "MoveReplicas"])
def test_both_sides_are_of_one_topic(action: str) -> None:
    codec = CODECS[action]
    for before, after in product(product(NAMES, IDS), repeat=2):
        match action:
            case "CreatePartitions":
                change: Update[object] = Update(
                    TopicPartitions(before[0], 1, before[1]), TopicPartitions(after[0], 2, after[1])
                )
            case "AlterConfigs":
                change = Update(
                    TopicConfigs(before[0], {"a": "1"}, before[1]), TopicConfigs(after[0], {"a": None}, after[1])
                )
            case _:
                change = Update(
                    TopicReplicas(before[0], ((1, 2),), before[1]), TopicReplicas(after[0], ((2, 3),), after[1], 8)
                )
        document = codec.write(change)
        if before == after:
            assert codec.read(document) == change
        else:
            with pytest.raises((SchemaError, ValueError), match="before and after are not the same topic"):
                codec.read(document)


def test_both_sides_have_the_same_configs() -> None:
    codec = CODECS["AlterConfigs"]
    sides: list[dict[str, str | None]] = [{}, {"a": "1"}, {"a": "2"}, {"a": None}, {"b": "1"}, {"a": "1", "b": "1"}]
    for old, new in product(sides, repeat=2):
        document = codec.write(Update(TopicConfigs("t", old, "id"), TopicConfigs("t", new, "id")))
        if old.keys() == new.keys():
            assert codec.read(document) == Update(TopicConfigs("t", old, "id"), TopicConfigs("t", new, "id"))
        else:
            with pytest.raises((SchemaError, ValueError), match="the same configs of topic t"):
                codec.read(document)


def test_both_sides_have_the_same_partitions_and_each_has_replicas_on_different_brokers() -> None:
    codec = CODECS["MoveReplicas"]
    sides = (((1, 2),), ((2, 1), (3,)), ((1,), ()), ((1, 2), (2, 2)), ((1,), (2, 3, 1)))
    for old, new in product(sides, repeat=2):
        document = codec.write(Update(TopicReplicas("t", old, "id"), TopicReplicas("t", new, "id", 4)))
        if len(old) != len(new):
            reason = "the same partitions of topic t"
        elif any(not brokers or len({*brokers}) < len(brokers) for brokers in new):
            reason = "a partition of topic t has no replica, or a broker twice"
        else:
            assert codec.read(document) == Update(TopicReplicas("t", old, "id"), TopicReplicas("t", new, "id", 4))
            continue
        with pytest.raises((SchemaError, ValueError), match=reason):
            codec.read(document)


def test_a_topic_reads_back_with_and_without_its_brokers() -> None:
    for topic in (Topic("t"), Topic("t", 2, 1, {"a": "1"}, "id", ((1,), (2,)))):
        document = CODECS["CreateTopic"].write(CODECS["CreateTopic"].read({"before": None, "after": _side(topic)}))
        assert document == {"before": None, "after": _side(topic)}


def _side(topic: Topic) -> dict[str, object]:
    brokers = topic.replica_assignments
    more = {} if brokers is None else {"replicaAssignments": [[*one] for one in brokers]}
    return {
        "name": topic.name,
        "topicId": topic.topic_id,
        "partitions": topic.num_partitions,
        "replicationFactor": topic.replication_factor,
        "configs": {**topic.configs},
        **more,
    }
