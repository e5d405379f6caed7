"""What a stale step on a topic says of what it expected and of what is there."""

import pytest

from reconciler.model.listing import Change, Create, Delete, Update
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions
from reconciler.plan.observed import Observed, StepState
from reconciler.plan.phase import Phase
from reconciler.plan.step import Step

THERE = Topic("t", 3, 2, {"flush.ms": "5", "retention.ms": "7"}, "new")
PLAIN = Topic("t", 3, 2, {}, "new")
UNSET = TopicConfigs("t", {"flush.ms": None, "retention.ms": "1"}, "new")
SET = TopicConfigs("t", {"flush.ms": "9", "retention.ms": None}, "new")


def _found(change: Change, topic: Topic | None, **unreadable: str) -> Observed:
    topics = {} if topic is None else {"t": topic}
    return Step(Phase.ALTER_CONFIGS, change).observed(ClusterState("c", topics=topics, unreadable_topics=unreadable))


@pytest.mark.parametrize(
    ("change", "topic", "expected", "found"),
    [
        (Create(Topic("t", 1, 2)), PLAIN, "absent", "exists with 3 partitions, replication factor 2"),
        (
            Create(Topic("t", 3, 2)),
            THERE,
            "absent",
            "exists with 3 partitions, replication factor 2, flush.ms=5, retention.ms=7",
        ),
        (Delete(Topic("t", 3, 2, {}, "old")), PLAIN, "id old", "another topic of that name, id new"),
        (Update(TopicPartitions("t", 1, "new"), TopicPartitions("t", 2, "new")), PLAIN, "1 partitions", "3 partitions"),
        (Update(TopicPartitions("t", 1, "new"), TopicPartitions("t", 2, "new")), None, "1 partitions", "no such topic"),
        (Update(TopicPartitions("t", 1, "old"), TopicPartitions("t", 3, "old")), PLAIN, "id old", None),
        (Update(UNSET, SET), None, "exists", "no such topic"),
        (Update(UNSET, SET), THERE, "flush.ms=unset, retention.ms=1", "flush.ms=5, retention.ms=7"),
        (
            Update(TopicConfigs("t", {"flush.ms": "1"}, "new"), TopicConfigs("t", {"flush.ms": "2"}, "new")),
            PLAIN,
            "flush.ms=1",
            "flush.ms=unset",
        ),
    ],
)
def test_a_stale_step_says_what_it_expected_and_what_is_there(
    change: Change, topic: Topic | None, expected: str, found: str | None
) -> None:
    observed = _found(change, topic)
    assert (observed.state, observed.subject, observed.expected) == (StepState.STALE, "topic t", expected)
    assert found in (None, observed.found)


def test_a_topic_that_could_not_be_read_is_neither_there_nor_gone() -> None:
    for change in (Create(Topic("t")), Delete(Topic("t")), Update(UNSET, SET)):
        observed = _found(change, None, t="not authorized")
        assert observed == Observed(StepState.UNREADABLE, "topic t", "readable", "not authorized")
