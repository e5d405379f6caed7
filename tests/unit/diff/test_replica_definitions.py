"""What moves of a topic's replicas and what is said of what cannot, stated case by case over many small states."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Final

from reconciler.model.desired import DesiredTopic, Origin
from reconciler.model.listing import Change, Impossible, Update
from reconciler.model.state import ClusterState
from reconciler.model.topic import Assignments, Layout, PartitionLayout, Topic, TopicReplicas
from reconciler.plan.replicas import (
    PlacedPartition,
    PlacementBroker,
    copied_bytes,
    replica_changes,
    target_replicas,
    unfinished,
)

PLACE: Final = Origin("t.yaml", 1, 1)
LAYOUTS: Final[tuple[Assignments, ...]] = (((1, 2),), ((1, 2), (2, 3)), ((2, 1), (2, 3)), ((1,), (2,)), ((1, 2), (3,)))
WISHES: Final[tuple[Assignments, ...]] = (*LAYOUTS, ((1, 2), (2, 3), (3, 1)), ((3,), (1,), (2,)), ((1, 9), (2, 3)))
OTHERS: Final = (
    Topic("o", 2, 1, replica_assignments=((3,), (3,))),
    Topic("p", 1, 1, replica_assignments=((1,),)),
    Topic("hidden", 1, 1),
)
LEAST: Final = "min.insync.replicas"


def _states(count: int) -> Iterator[tuple[Topic, Topic, ClusterState]]:
    """A declared topic, the live one, and a cluster: combinations of what may be known, or stand in the way."""
    chance = random.Random(7)

    def often(share: float) -> bool:
        return chance.random() < share

    for _ in range(count):
        there = chance.choice(LAYOUTS)
        wanted = Topic(
            "t",
            chance.choice((None, 1, 2, 3)),
            chance.choice((None, 1, 2, 3, 4)),
            {LEAST: chance.choice("12x")} if often(0.2) else {},
            replica_assignments=chance.choice(WISHES) if often(0.5) else None,
        )
        live = Topic(
            "t",
            len(there),
            chance.choice((None, len(there[0]), 2)),
            {LEAST: chance.choice("12")} if often(0.3) else {},
            topic_id="id",
            # What was read first may have been half way.
            replica_assignments=(chance.choice(LAYOUTS) if often(0.2) else there) if often(0.9) else None,
        )
        partitions = tuple(
            PartitionLayout(
                one,
                frozenset(one[: -1 if often(0.1) else None]),
                dict.fromkeys(one, chance.randrange(9)),
                adding=one[1:] if often(0.07) else (),
                removing=one[:1] if often(0.07) else (),
            )
            for one in there
        )
        racks = {1: "a", 2: "b", 3: "b"} if often(0.5) else dict.fromkeys(range(1, chance.choice((3, 4, 5))))
        layout = Layout(racks, {"t": partitions} if often(0.9) else {}) if often(0.9) else None
        topics = {one.name: one for one in (live, *chance.sample(OTHERS, chance.randrange(4)))}
        yield wanted, live, ClusterState("c", topics=topics, layout=layout, layout_gap="gap" if often(0.3) else None)


def _differs(wanted: Topic, live: Topic) -> bool:
    if live.replica_assignments is None:
        known = wanted.replication_factor is not None and live.replication_factor is not None
        return known and wanted.replication_factor != live.replication_factor
    if wanted.replica_assignments is not None:
        shared = min(len(wanted.replica_assignments), len(live.replica_assignments))
        return wanted.replica_assignments[:shared] != live.replica_assignments[:shared]
    numbers = {len(one) for one in live.replica_assignments}
    return wanted.replication_factor is not None and numbers != {wanted.replication_factor}


def _obstacles(wanted: Topic, live: Topic, partitions: tuple[PartitionLayout, ...], racks: set[int]) -> Iterator[str]:
    """How each reason begins not to move anything, the one that is told first."""
    behind = [(at, broker) for at, one in enumerate(partitions) for broker in one.replicas if broker not in one.in_sync]
    if behind:
        more = "" if len(behind) == 1 else f", and {len(behind) - 1} more"
        yield f"the replica of partition {behind[0][0]} on broker {behind[0][1]} is offline or out of sync{more}: bring"
    grows = wanted.num_partitions is not None and wanted.num_partitions > len(partitions)
    # Declared brokers are as many for each partition; new partitions of another number wait for the move instead.
    if grows and (wanted.replica_assignments is None or len(wanted.replica_assignments[0]) == live.replication_factor):
        yield "new partitions get as many replicas as the topic has"
    factor = wanted.replication_factor
    declared = {broker for one in wanted.replica_assignments or () for broker in one}
    if declared - racks:
        yield f"no broker {min(declared - racks)} is in the cluster"
    if factor is not None and factor > len(racks):
        yield f"{factor} replicas need as many brokers, and the cluster has {len(racks)}"


def _target(wanted: Topic, partitions: tuple[PartitionLayout, ...], state: ClusterState) -> Assignments | str:
    there = tuple(one.replicas for one in partitions)
    if wanted.replica_assignments is not None:
        # Each declared partition that is there, and the others where they are.
        return tuple(
            wanted.replica_assignments[at] if at < len(wanted.replica_assignments) else one
            for at, one in enumerate(there)
        )
    assert wanted.replication_factor is not None
    assert state.layout is not None
    others = [one.replica_assignments for name, one in state.topics.items() if name != "t" and one.replica_assignments]
    load = Counter(broker for one in others for replicas in one for broker in replicas)
    brokers = [PlacementBroker(broker, rack) for broker, rack in state.layout.racks.items()]
    return target_replicas(_placed(partitions), wanted.replication_factor, brokers, load)


def _placed(partitions: tuple[PartitionLayout, ...]) -> list[PlacedPartition]:
    return [PlacedPartition(one.replicas, max(one.sizes.values())) for one in partitions]


def _refused(wanted: Topic, live: Topic) -> list[tuple[str, str, str]]:
    """What, before and after: by number where both are known and differ, else by partition, else by what there is."""
    old, new = live.replication_factor, wanted.replication_factor
    if old is not None and new is not None and old != new:
        return [("replication factor", str(old), str(new))]
    assert live.replica_assignments is not None
    if wanted.replica_assignments is None:
        numbers = sorted({len(one) for one in live.replica_assignments})
        return [("replication factor", " and ".join(map(str, numbers)), str(new))]
    return [
        (f"replicas of partition {at}", ", ".join(map(str, live.replica_assignments[at])), ", ".join(map(str, one)))
        for at, one in enumerate(wanted.replica_assignments)
        if at < len(live.replica_assignments) and live.replica_assignments[at] != one
    ]


def _case(wanted: Topic, live: Topic, state: ClusterState, found: list[Change]) -> str:
    """Check what was found, and say which case it is."""
    partitions = () if state.layout is None else state.layout.topics.get("t", ())
    if not _differs(wanted, live):
        assert found == []
        return "equal"
    if state.layout is None or not partitions:
        reason: str | None = state.layout_gap or "plan on the cluster itself"
    elif any(one.adding or one.removing for one in partitions):
        assert found == []
        return "moving"
    else:
        reason = next(_obstacles(wanted, live, partitions, {*state.layout.racks}), None)
    if reason is None:
        target = _target(wanted, partitions, state)
        before = tuple(one.replicas for one in partitions)
        if isinstance(target, str):
            reason = target
        elif target == before:
            assert found == []
            return "there"
        else:
            size = copied_bytes(_placed(partitions), target)
            rounded = next((1 << at for at in range(20) if 1 << at >= size), 0) if size else 0
            assert found == [Update(TopicReplicas("t", before, "id"), TopicReplicas("t", target, "id", rounded))]
            return "moves"
    refused = [one for one in found if isinstance(one, Impossible)]
    assert len(refused) == len(found)
    assert [(one.what, one.before, one.after) for one in refused] == _refused(wanted, live)
    assert all(one.name == "t" and one.reason.startswith(reason) for one in refused)
    return reason[:12]


def test_replicas_move_or_it_is_said_why_they_do_not() -> None:
    met = Counter(
        _case(wanted, live, state, list(replica_changes(wanted, live, state))) for wanted, live, state in _states(3_000)
    )
    rare = (
        "new partitio",
        "no broker 3 ",
        "no broker 9 ",
        "3 replicas n",
        "gap",
        "plan on the ",
        "the replica ",
    )
    assert {*rare, "equal", "moving", "there", "moves"} <= met.keys()


def test_a_reassignment_is_told_with_the_number_of_partitions_that_move() -> None:
    for wanted, _, state in _states(300):
        partitions = () if state.layout is None else state.layout.topics.get("t", ())
        moving = sum(bool(one.adding or one.removing) for one in partitions)
        told = unfinished(DesiredTopic(wanted, PLACE), state)
        assert (told is None) is (moving == 0)
        noun = "partition" if moving == 1 else "partitions"
        assert told is None or told.subject == f"topic t: the reassignment of {moving} {noun} is unfinished"
