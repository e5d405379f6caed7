"""A topic that moves a few partitions at a time: no more than permitted, resumed anywhere."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from reconciler.apply.environment import Outcome
from reconciler.apply.moves import CANCELLED_SECONDS, STALLED_SECONDS
from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.model.topic import MoveLimits, Topic, TopicConfigs
from reconciler.ports import Answer, ReadRequest
from tests.slow_moves import MIB, SlowMoves
from tests.unit.apply.test_moving import EVERY, Told, apply, outcomes, plan, topic, wish

TWO = MoveLimits(partitions=2)
OLD = topic("t", (1,), (2,), (3,), (1,), (2,))
NEW = ((1, 2), (2, 1), (3, 2), (1, 2), (2, 1))


class Batched(SlowMoves):
    """Keeps which partitions each request moves."""

    def __init__(self, start: Topic = OLD, readings: int | None = 2, size: int = MIB) -> None:
        super().__init__(start, readings=readings, size=size)
        self.batches: list[list[int]] = []
        self.lagging: list[int] = []

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        if not isinstance(changes[0].after, TopicConfigs):
            for change in changes:
                pairs = zip(change.before.assignments, change.after.assignments, strict=True)  # type: ignore[union-attr]
                self.batches.append([number for number, (old, new) in enumerate(pairs) if old != new])
        return super().send(changes)

    def read(self, request: ReadRequest) -> ClusterState:
        if self.lagging and "t" not in self.moving:
            self.offline = {self.lagging.pop()}
        else:
            self.offline = set()
        return super().read(request)


def moved(cluster: SlowMoves) -> object:
    return cluster.read(EVERY).topics["t"].replica_assignments


def planned(cluster: SlowMoves):  # type: ignore[no-untyped-def]
    return plan(cluster, wish(Topic("t", 5, 2, replica_assignments=NEW)))


@pytest.mark.parametrize(
    ("limits", "batches"),
    [
        (TWO, [[0, 1], [2, 3], [4]]),
        (MoveLimits(partitions=9), [[0, 1, 2, 3, 4]]),
        (MoveLimits(size=3 * MIB), [[0, 1, 2], [3, 4]]),
        # One that is larger than permitted moves alone.
        (MoveLimits(size=1), [[0], [1], [2], [3], [4]]),
    ],
)
def test_no_more_moves_at_a_time_than_is_permitted(limits: MoveLimits, batches: list[list[int]]) -> None:
    cluster, told = Batched(), Told()
    result, _ = apply(planned(cluster), cluster, told, limits=limits)
    assert (outcomes(result), result.verified, result.differences) == ([(Outcome.DONE, "")], True, ())
    assert cluster.batches == batches
    assert moved(cluster) == NEW
    if limits == TWO:
        assert told.notes[0] == "move replicas of topic t: 5 partitions left, of which 3 wait, 5.0 MiB to copy"
        assert told.bytes_left == [5 * MIB, 3 * MIB, MIB]


@pytest.mark.parametrize("through", [False, True])
def test_whoever_stops_between_batches_goes_on_with_the_same_plan(through: bool) -> None:
    cluster = Batched(readings=3)
    made = planned(cluster)

    def stop() -> bool:
        return len(cluster.batches) == 2 and (not through or "t" not in cluster.moving)

    result, _ = apply(made, cluster, interrupted=stop, limits=TWO)
    assert outcomes(result) == [(Outcome.UNKNOWN, "unfinished")]
    assert "apply the same plan again" in result.outcomes[0].message
    result, _ = apply(made, cluster, limits=TWO)
    assert outcomes(result) == [(Outcome.DONE, "")]
    # What moves is waited for, and nothing is sent twice.
    assert cluster.batches == [[0, 1], [2, 3], [4]]
    assert moved(cluster) == NEW


def test_a_batch_that_somebody_cancels_ends_the_step_and_the_next_does_not_begin() -> None:
    cluster = Batched(topic("t", (1, 2), (2, 3), (3, 1)), readings=None)
    made = plan(cluster, wish(Topic("t", 3, 2, replica_assignments=((2, 3), (3, 1), (1, 2)))))

    def cancelled() -> bool:
        if cluster.moving:
            cluster.cancel_reassignments([("t", 0)])
        return False

    result, clock = apply(made, cluster, interrupted=cancelled, limits=MoveLimits(partitions=1))
    assert outcomes(result) == [(Outcome.FAILED, "cancelled")]
    assert clock.seconds < 2 * CANCELLED_SECONDS
    assert cluster.batches == [[0]]
    # The brokers keep the order of the move: that is no reason to plan again.
    assert moved(cluster) == ((2, 1), (2, 3), (3, 1))
    cluster.readings = 1
    result, _ = apply(made, cluster)
    assert outcomes(result) == [(Outcome.DONE, "")]


def test_nothing_begins_while_a_replica_is_out_of_sync_and_nobody_waits_forever() -> None:
    cluster, told = Batched(), Told()
    made = planned(cluster)
    cluster.lagging = []
    began = cluster.begin

    def lagging(change: object) -> None:
        began(change)
        cluster.lagging = [2] * 4

    cluster.begin = lagging  # type: ignore[method-assign]
    result, clock = apply(made, cluster, told, limits=TWO)
    assert outcomes(result) == [(Outcome.DONE, "")]
    assert any("waiting, the replica of partition" in note for note in told.notes)
    assert clock.seconds < STALLED_SECONDS
    cluster = Batched()
    made = planned(cluster)
    began = cluster.begin

    def gone(change: object) -> None:
        began(change)
        cluster.lagging = [2] * 100_000

    cluster.begin = gone  # type: ignore[method-assign]
    result, clock = apply(made, cluster, limits=TWO)
    assert outcomes(result) == [(Outcome.FAILED, "changed_meanwhile")]
    assert "expected every replica in sync" in result.outcomes[0].message
    assert clock.seconds >= STALLED_SECONDS
    assert cluster.batches == [[0, 1]]


def test_a_move_below_min_insync_replicas_goes_on_because_brokers_count_the_smaller_of_the_two() -> None:
    cluster = Batched(topic("t", (1, 2), (2, 3), **{"min.insync.replicas": "2"}))
    made = plan(cluster, wish(replace(topic("t", (1,), (2,), **{"min.insync.replicas": "2"}), topic_id=None)))
    assert [step.action for step in made.steps] == ["MoveReplicas"]
    assert any("one broker down stops every producer with acks=all" in one for one in made.warnings)
    result, _ = apply(made, cluster)
    assert outcomes(result) == [(Outcome.DONE, "")]
