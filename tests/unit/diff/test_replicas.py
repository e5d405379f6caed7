"""Declared replicas against live ones: what moves, what waits, and what is said of what cannot move."""

from dataclasses import replace
from itertools import product

import pytest

from reconciler.model.desired import DesiredState, DesiredTopic, Origin
from reconciler.model.listing import Change, Impossible, Update
from reconciler.model.state import ClusterState
from reconciler.model.topic import Assignments, Layout, PartitionLayout, Topic, TopicReplicas
from reconciler.plan.kinds.topic import KIND
from reconciler.plan.replicas import replica_changes, topics_to_place, unfinished, unplaceable

PLACE = Origin("t.yaml", 1, 1)
RACKS = {1: "a", 2: "b", 3: "c"}
LIVE: Assignments = ((1, 2), (2, 3))


def topic(assigned: Assignments | None = LIVE, factor: int | None = 2, **more: dict[str, str]) -> Topic:
    return Topic("t", 2, factor, topic_id="id", replica_assignments=assigned, **more)


def placed(*partitions: PartitionLayout) -> Layout:
    return Layout(RACKS, {"t": partitions})


def well(assigned: Assignments = LIVE, size: int = 0) -> tuple[PartitionLayout, ...]:
    return tuple(PartitionLayout(one, frozenset(one), dict.fromkeys(one, size)) for one in assigned)


def changes(wanted: Topic, live: Topic, layout: Layout | None, **state: str | None) -> list[Change]:
    return list(replica_changes(wanted, live, ClusterState("c", topics={"t": live}, layout=layout, **state)))  # type: ignore[arg-type]


ASSIGNED: list[Assignments | None] = [None, ((1, 2),), ((1, 2), (2, 3)), ((2, 1), (2, 3)), ((1, 2), (2, 3), (3, 1))]
LIVES: list[Assignments | None] = [None, ((1, 2), (2, 3)), ((1, 2), (3,)), ((1,), (2,))]


@pytest.mark.parametrize("declared", ASSIGNED, ids=str)
@pytest.mark.parametrize("live", LIVES, ids=str)
def test_replicas_differ_where_both_sides_name_a_partition_or_a_number_otherwise(
    declared: Assignments | None, live: Assignments | None
) -> None:
    """What one side leaves open is no difference; one that goes is not placed, and a new one where it says so."""
    for factor, known in product((None, 1, 2), (None, 1, 2)):
        wanted, found = topic(declared, factor), topic(live, known)
        if live is None:
            differs = factor is not None and known is not None and factor != known
        elif declared is not None:
            most = min(len(declared), len(live))
            differs = declared[:most] != live[:most]
        else:
            differs = factor is not None and {len(one) for one in live} != {factor}
        state = ClusterState("c", topics={"t": found})
        for absent, there in product((False, True), (state, ClusterState("c"))):
            desired = DesiredState({}, {"t": DesiredTopic(wanted, PLACE, absent=absent)})
            new = factor is not None or declared is not None
            expected = ["t"] if not absent and (differs if there is state else new) else []
            assert list(topics_to_place(desired, there)) == expected
        assert (changes(wanted, found, placed(*well())) == []) or differs
        if not differs:
            assert changes(wanted, found, None) == []


def test_a_topic_with_replicas_out_of_sync_is_looked_at_though_nothing_differs() -> None:
    state = ClusterState("c", topics={"t": topic()}, under_replicated=frozenset({"t"}))
    assert list(topics_to_place(DesiredState({}, {"t": DesiredTopic(topic(), PLACE)}), state)) == ["t"]


@pytest.mark.parametrize("moving", [1, 2])
def test_a_reassignment_that_goes_on_is_told_and_none_is_started_on_top_of_it(moving: int) -> None:
    adding = PartitionLayout((1, 2, 3), frozenset({1, 2}), adding=(3,))
    removing = PartitionLayout((2, 3), frozenset(), removing=(3,))
    layout = placed(adding, removing if moving == 2 else well()[1])
    state = ClusterState("c", topics={"t": topic()}, layout=layout)
    told = unfinished(DesiredTopic(topic(), PLACE), state)
    assert told is not None
    words = "1 partition" if moving == 1 else "2 partitions"
    assert (told.subject, told.origin) == (f"topic t: the reassignment of {words} is unfinished", PLACE)
    assert changes(topic(((3, 1), (2, 3))), topic(), layout) == []


def test_where_nothing_moves_no_reassignment_is_told() -> None:
    for layout in (None, placed(*well()), Layout(RACKS)):
        assert unfinished(DesiredTopic(topic(), PLACE), ClusterState("c", layout=layout)) is None


@pytest.mark.parametrize(("size", "copied"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (1 << 30, 1 << 30)])
def test_declared_brokers_are_the_target_and_bytes_are_rounded_up(size: int, copied: int) -> None:
    found = changes(topic(((3, 2), (2, 3))), topic(), placed(*well(size=size)))
    before, after = TopicReplicas("t", LIVE, "id"), TopicReplicas("t", ((3, 2), (2, 3)), "id", copied)
    assert found == [Update(before, after)]


def test_partitions_that_are_not_declared_yet_stay_and_those_not_there_yet_are_not_moved() -> None:
    for declared, target in ((((2, 1),), ((2, 1), (2, 3))), (((2, 1), (2, 3), (3, 1)), ((2, 1), (2, 3)))):
        (found,) = changes(topic(declared), topic(), placed(*well()))
        assert isinstance(found, Update)
        assert found.after.assignments == target


def test_what_was_half_way_when_it_was_read_first_is_no_difference() -> None:
    assert changes(topic(), topic(((2, 1), (2, 3))), placed(*well())) == []


def test_more_replicas_go_to_brokers_that_have_none_and_fewer_stay_where_they_are() -> None:
    (more,) = changes(topic(None, 3), topic(), placed(*well()))
    (fewer,) = changes(topic(None, 1), topic(), placed(*well()))
    assert isinstance(more, Update)
    assert isinstance(fewer, Update)
    assert [set(one) for one in more.after.assignments] == [{1, 2, 3}] * 2
    assert all(set(new) < set(old) for new, old in zip(fewer.after.assignments, LIVE, strict=True))


def test_of_brokers_that_are_equally_good_the_one_with_less_of_other_topics_is_taken() -> None:
    live = Topic("t", 1, 1, topic_id="id", replica_assignments=((1,),))
    for busy, free in ((2, 3), (3, 2)):
        other = Topic("o", 2, 1, replica_assignments=((busy,), (busy,)))
        state = ClusterState("c", topics={"t": live, "o": other}, layout=placed(*well(((1,),))))
        (found,) = replica_changes(Topic("t", 1, 2), live, state)
        assert isinstance(found, Update)
        assert set(found.after.assignments[0]) == {1, free}


_OUT_OF_SYNC = "the replica of partition 0 on broker 2 is offline or out of sync"
SICK = (PartitionLayout((1, 2), frozenset({1})), PartitionLayout((2, 3), frozenset()))


@pytest.mark.parametrize(
    ("wanted", "layout", "state", "reason"),
    [
        (topic(None, 3), None, {}, "plan on the cluster itself: where replicas belong depends on"),
        (topic(None, 3), None, {"layout_gap": "refused"}, "refused"),
        (topic(None, 3), Layout(RACKS), {"layout_gap": "refused"}, "refused"),
        (
            topic(None, 3),
            placed(*SICK),
            {},
            f"{_OUT_OF_SYNC}, and 2 more: ",
        ),
        (
            topic(None, 3),
            placed(SICK[0], *well()[1:]),
            {},
            f"{_OUT_OF_SYNC}: ",
        ),
        (topic(None, 4), placed(*well()), {}, "4 replicas need as many brokers, and the cluster has 3"),
        (topic(((1, 9), (2, 3))), placed(*well()), {}, "no broker 9 is in the cluster"),
        (Topic("t", 3, 3), placed(*well()), {}, "new partitions get as many replicas as the topic has"),
    ],
)
def test_why_replicas_stay_is_said(wanted: Topic, layout: Layout | None, state: dict[str, str], reason: str) -> None:
    found = changes(wanted, topic(), layout, **state)
    assert found
    for one in found:
        assert isinstance(one, Impossible)
        assert one.reason.startswith(reason)


def cordoned(*brokers: int) -> Layout:
    return replace(placed(*well()), cordoned=frozenset(brokers))


def test_no_replica_is_placed_where_every_log_directory_is_cordoned() -> None:
    """The controller refuses a partition whose replicas are to be there, also one that has been there all along."""
    closed = "all log directories of broker 3 are cordoned"
    for factor in (1, 2):
        for found in changes(topic(None, factor), topic(((1, 2), (2, 3, 1)), None), cordoned(3)):
            assert isinstance(found, Update)
            assert all(3 not in replicas for replicas in found.after.assignments)
    (none,) = changes(topic(None, 3), topic(), cordoned(3))
    assert isinstance(none, Impossible)
    assert none.reason == "3 replicas need as many brokers, and 2 of 3 have a log directory not cordoned"
    (there,) = changes(topic(((1, 3), (2, 3))), topic(), cordoned(3))
    assert isinstance(there, Impossible)
    assert there.reason.startswith(closed)
    (other,) = changes(topic(((2, 1), (2, 3))), topic(), cordoned(3))
    assert isinstance(other, Update), "what stays as it is is not asked for"
    assert unplaceable(Topic("new", replica_assignments=((1,), (3,))), cordoned(3)) is not None
    assert unplaceable(Topic("new", 1, 2), cordoned(3)) is None
    assert unplaceable(Topic("new", 1, 2), cordoned(2, 3)) is not None


def test_a_plan_says_where_nothing_is_placed() -> None:
    state = ClusterState("c", topics={"t": topic()}, layout=cordoned(3))
    move = Update(TopicReplicas("t", LIVE, "id"), TopicReplicas("t", ((1, 2), (2, 1)), "id"))
    text = "all log directories of broker 3 are cordoned: no replica is placed there, and none of a partition that"
    assert [*KIND.warnings([move], state)] == [f"{text} moves stays: t"]
    assert [*KIND.warnings([move], replace(state, layout=placed(*well())))] == []
    assert [*KIND.warnings([], state)] == []


@pytest.mark.parametrize("least", ["1", "2", "9", "many"])
def test_fewer_replicas_than_a_topic_wants_in_sync_are_possible(least: str) -> None:
    """A text that is no number is the broker's to refuse."""
    for live in ({}, {"min.insync.replicas": "9"}):
        wanted = topic(None, 1, configs={"min.insync.replicas": least})
        assert isinstance(changes(wanted, topic(configs=live), placed(*well()))[0], Update)


def test_what_cannot_move_is_named_by_its_number_or_partition_by_partition() -> None:
    def said(wanted: Topic, live: Topic) -> list[tuple[str, str, str]]:
        return [(one.what, one.before, one.after) for one in changes(wanted, live, None) if isinstance(one, Impossible)]

    assert said(topic(None, 3), topic()) == [("replication factor", "2", "3")]
    assert said(topic(((1, 2), (3, 2))), topic()) == [("replicas of partition 1", "2, 3", "3, 2")]
    more = topic(((1, 2), (3, 2), (1, 3)))  # the partition that is not there yet is no move
    assert said(more, topic()) == [("replicas of partition 1", "2, 3", "3, 2")]
    uneven = topic(((1, 2), (2, 3, 1)), None)
    assert said(topic(None, 2), uneven) == [("replication factor", "2 and 3", "2")]
