"""What each step on a topic says of every live topic that differs from what it expects in any small way."""

from dataclasses import replace
from itertools import product
from typing import Any, Final, get_type_hints

import pytest

from reconciler.model.listing import Change, Create, Delete, Update
from reconciler.model.state import ClusterState
from reconciler.model.topic import (
    TOPIC_ATTRIBUTES,
    Layout,
    PartitionLayout,
    Topic,
    TopicConfigs,
    TopicPartitions,
    TopicReplicas,
)
from reconciler.plan.observed import MOST_COPIED, StepState
from reconciler.plan.phase import Phase
from reconciler.plan.step import Step

IDS: Final = (None, "A", "B")
VALUES: Final = (None, "1", "2")


def part(*replicas: int, size: int = 0) -> PartitionLayout:
    """A partition at rest, in sync."""
    return PartitionLayout(replicas, frozenset(replicas), {replicas[0]: size})


def state_of(change: Change, topic: Topic | None, *, layout: Layout | None = None) -> StepState:
    """The state of a step; where it is stale, what it says is about the topic and not empty."""
    topics = {} if topic is None else {topic.name: topic}
    found = Step(Phase.CREATE_TOPIC, change).observed(ClusterState("c", topics=topics, layout=layout))
    if found.state in (StepState.STALE, StepState.UNREADABLE):
        assert found.subject == "topic t"
        assert found.expected
        assert found.found
        assert found.expected != found.found
    return found.state


def state(stale: bool, done: bool) -> StepState:
    return StepState.STALE if stale else StepState.DONE if done else StepState.PENDING


def test_a_created_topic_is_done_only_where_the_one_there_is_as_declared() -> None:
    for count, factor, config, assigned in product((None, 1, 2), (None, 1), (None, "1"), (None, ((1,),))):
        configs = {} if config is None else {"retention.ms": config}
        wanted = Create(Topic("t", count, factor, configs, replica_assignments=assigned))
        assert state_of(wanted, None) is StepState.PENDING
        for there, copies, value, places in product((1, 2), (1, 2), VALUES, (None, ((1,),), ((2,),))):
            topic = Topic("t", there, copies, {} if value is None else {"retention.ms": value}, "A", places)
            same = count in (None, there) and factor in (None, copies) and config == value
            same = same and (assigned is None or places in (None, assigned))
            assert state_of(wanted, topic) is (StepState.DONE if same else StepState.STALE)


def test_no_count_that_can_be_declared_of_a_topic_is_left_out_where_topics_are_compared() -> None:
    """Else an export would lack it, and a topic with another one would be taken for that which a run created."""
    counts = {name for name, kind in get_type_hints(Topic).items() if kind == int | None}
    assert counts == set(TOPIC_ATTRIBUTES.values())
    ones: dict[str, Any] = dict.fromkeys(counts, 1)
    like = Topic("t", **ones)
    for name in counts:
        stated: dict[str, Any] = {name: 2}
        unsaid: dict[str, Any] = {name: None}
        other = replace(like, **stated)
        assert state_of(Create(like), other) is StepState.STALE
        assert state_of(Create(replace(other, **unsaid)), other) is StepState.DONE


def test_a_deleted_topic_is_gone_or_the_one_that_was_meant() -> None:
    for meant in IDS:
        gone = Delete(Topic("t", 1, 1, topic_id=meant))
        assert state_of(gone, None) is StepState.DONE
        for there in IDS:
            other = None not in (meant, there) and meant != there
            assert state_of(gone, Topic("t", 1, 1, topic_id=there)) is state(other, done=False)


def test_partitions_are_as_many_as_before_or_as_wanted() -> None:
    for before, after, meant in product((1, 2), (2, 3), IDS):
        grown = Update(TopicPartitions("t", before, meant), TopicPartitions("t", after, meant))
        assert state_of(grown, None) is StepState.STALE
        for there, now in product(IDS, (1, 2, 3, 4)):
            other = None not in (meant, there) and meant != there
            stale = other or now not in (before, after)
            assert state_of(grown, Topic("t", now, 1, topic_id=there)) is state(stale, now == after)


def test_each_config_is_as_before_or_as_wanted() -> None:
    keys = ("retention.ms", "segment.ms")
    for old, new, now in product(product(VALUES, repeat=2), product(VALUES, repeat=2), product(VALUES, repeat=2)):
        before, after = dict(zip(keys, old, strict=True)), dict(zip(keys, new, strict=True))
        changed = Update(TopicConfigs("t", before, "A"), TopicConfigs("t", after, "A"))
        there = {key: value for key, value in zip(keys, now, strict=True) if value is not None}
        stale = any(one not in pair for one, *pair in zip(now, old, new, strict=True))
        assert state_of(changed, Topic("t", 1, 1, there, "A")) is state(stale, now == new), (old, new, now)
        assert state_of(changed, Topic("t", 1, 1, there, "B")) is StepState.STALE
        assert state_of(changed, None) is StepState.STALE


def test_a_config_that_is_stale_is_named_with_what_was_expected_and_what_is_there() -> None:
    before = TopicConfigs("t", {"retention.ms": "1", "segment.ms": None, "flush.ms": "1"})
    step = Step(
        Phase.ALTER_CONFIGS,
        Update(before, TopicConfigs("t", {"retention.ms": None, "segment.ms": "1", "flush.ms": "2"})),
    )
    there = Topic("t", 1, 1, {"retention.ms": "5", "segment.ms": "7", "flush.ms": "1"})
    found = step.observed(ClusterState("c", topics={"t": there}))
    assert found.expected == "retention.ms=1, segment.ms=unset"
    assert found.found == "retention.ms=5, segment.ms=7"


PLACES: Final = ((1, 2), (2, 1), (3, 2), (3, 4))


def test_replicas_are_where_they_were_on_their_way_or_where_they_are_wanted() -> None:
    old, new = (1, 2), (3, 2)
    change = Update(TopicReplicas("t", (old,), "A"), TopicReplicas("t", (new,), "A", 1))
    topic = Topic("t", 1, 2, topic_id="A")
    for there in PLACES:
        resting = part(*there)
        # In another order they are the same replicas.
        stale = there not in (old, new, (2, 1))
        assert state_of(change, topic, layout=Layout({}, {"t": (resting,)})) is state(stale, there == new), there
        for to in PLACES:
            adding = tuple(one for one in to if one not in there)
            removing = tuple(one for one in there if one not in to)
            one = PartitionLayout((*to, *removing), frozenset(there), {}, adding, removing)
            if one.is_moving:
                found = state_of(change, topic, layout=Layout({}, {"t": (one,)}))
                assert found is state(to != new, done=False), (there, to)
    assert state_of(change, topic) is StepState.UNREADABLE
    assert state_of(change, topic, layout=Layout({}, {"u": (part(*old),)})) is StepState.UNREADABLE
    assert state_of(change, topic, layout=Layout({}, {"t": (part(*old),) * 2})) is StepState.STALE
    assert state_of(change, None) is StepState.STALE
    other = Topic("t", 1, 2, topic_id="B")
    assert state_of(change, other, layout=Layout({}, {"t": (part(*old),)})) is StepState.STALE


@pytest.mark.parametrize("reviewed", [0, MOST_COPIED // 2, MOST_COPIED])
def test_a_move_begins_only_in_sync_and_copies_at_most_twice_what_was_reviewed(reviewed: int) -> None:
    change = Update(TopicReplicas("t", ((1,), (1,))), TopicReplicas("t", ((2,), (2, 3)), copied=reviewed))
    topic, most = Topic("t", 2, 1), max(2 * reviewed, MOST_COPIED)

    def found(*parts: PartitionLayout) -> StepState:
        return state_of(change, topic, layout=Layout({}, {"t": parts}))

    # Both partitions count, each once for every broker that has no copy yet.
    assert found(part(1, size=most - 20), part(1, size=10)) is StepState.PENDING
    assert found(part(1, size=most - 19), part(1, size=10)) is StepState.STALE
    assert found(replace(part(1), in_sync=frozenset()), part(1)) is StepState.STALE
    moving = PartitionLayout((2, 1), frozenset(), {1: 2 * most}, adding=(2,), removing=(1,))
    assert found(moving, part(1, size=2 * most)) is StepState.PENDING, "what brokers have begun goes on"
