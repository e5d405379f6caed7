"""Replicas that move while an apply waits: told truly, resumed, never started on top of another move, undone."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from reconciler.apply.environment import Outcome, Progress, Result
from reconciler.apply.moves import CANCELLED_SECONDS, STALLED_SECONDS
from reconciler.apply.performing import perform
from reconciler.apply.preflight import StalePlanError, check
from reconciler.apply.records import PastRun
from reconciler.apply.run import ApplyEnvironment
from reconciler.apply.undo import performed_steps, revert_steps
from reconciler.model.desired import DesiredState, DesiredTopic, Origin
from reconciler.model.listing import Impossible, Update
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import MoveLimits, Topic, TopicReplicas
from reconciler.plan.difference import SkipReason
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.proposal import Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.plan.replicas import topics_to_place
from reconciler.ports import ClusterError, ReadRequest
from tests.property.clock import StillClock
from tests.property.transitions import DAY
from tests.slow_moves import MIB, SlowMoves

PLACE = Origin("t.yaml", 1, 1)
EVERY = ReadRequest()
USUAL = MoveLimits()


def topic(name: str, *assignments: tuple[int, ...], **configs: str) -> Topic:
    return Topic(name, len(assignments), len(assignments[0]), configs, f"id-{name}", assignments)


def wish(*topics: Topic) -> DesiredState:
    return DesiredState({}, {one.name: DesiredTopic(one, PLACE) for one in topics})


def seen(cluster: SlowMoves, wanted: DesiredState) -> ClusterState:
    """A state as a plan is made of."""
    live = cluster.read(EVERY)
    names = topics_to_place(wanted, live)
    return replace(live, layout=cluster.read(replace(EVERY, layout=names)).layout) if names else live


def plan(cluster: SlowMoves, wanted: DesiredState, *accept: AcceptedGuard) -> Plan:
    request = Request(DAY, accepted=accept)
    return propose(wanted, seen(cluster, wanted), Terms("c", default_allow=False), request)


class Told(Progress):
    """Keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.bytes_left: list[int] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def moving(self, text: str, left: int) -> None:
        self.notes.append(text)
        self.bytes_left.append(left)


def apply(
    made: Plan,
    cluster: SlowMoves,
    told: Told | None = None,
    interrupted: Callable[[], bool] = lambda: False,
    limits: MoveLimits = USUAL,
) -> tuple[Result, StillClock]:
    clock = StillClock()
    live = cluster.read(replace(EVERY, layout=[step.change.after.name for step in made.steps]))  # type: ignore[union-attr]
    environment = ApplyEnvironment(cluster, clock, told or Told(), interrupted, move_limits=limits)
    return perform(made, live, check(made, live, made.terms), environment), clock


def outcomes(result: Result) -> list[tuple[Outcome, str]]:
    return [(item.outcome, item.code) for item in result.outcomes]


def test_a_factor_is_reached_while_the_apply_tells_what_is_left() -> None:
    cluster, told = SlowMoves(topic("t", (1,), (2,), (3,))), Told()
    made = plan(cluster, wish(Topic("t", replication_factor=2)))
    assert [step.action for step in made.steps] == ["MoveReplicas"]
    assert parse_plan(plan_text(made)) == made
    result, _ = apply(made, cluster, told)
    assert outcomes(result) == [(Outcome.DONE, "")]
    assert result.verified
    assert not result.differences
    assert "move replicas of topic t: 3 partitions left, 3.0 MiB to copy" in told.notes
    assert told.bytes_left == [3 * MIB]
    assert plan(cluster, wish(Topic("t", replication_factor=2))).steps == ()


def test_a_stopped_apply_says_that_brokers_go_on_and_the_next_one_waits_for_them() -> None:
    cluster = SlowMoves(topic("t", (1,), (2,)), readings=8)
    made = plan(cluster, wish(Topic("t", replication_factor=2)))
    result, _ = apply(made, cluster, interrupted=lambda: bool(cluster.sent))
    assert outcomes(result) == [(Outcome.UNKNOWN, "unfinished")]
    assert "apply the same plan again" in result.outcomes[0].message
    # Meanwhile nothing is planned on top of it, and drift says what is going on.
    (left,) = plan(cluster, wish(Topic("t", replication_factor=3))).skipped
    assert left.reason is SkipReason.UNFINISHED
    assert left.subject == "topic t: the reassignment of 2 partitions is unfinished"
    result, _ = apply(made, cluster)
    assert outcomes(result) == [(Outcome.DONE, "")]
    assert cluster.sent == ["t"]


def test_a_move_that_does_not_move_is_given_up_and_the_run_ends() -> None:
    cluster = SlowMoves(topic("t", (1,)), topic("u", (1,)), readings=None)
    made = plan(cluster, wish(Topic("t", replication_factor=2), Topic("u", replication_factor=2)))
    result, clock = apply(made, cluster)
    assert outcomes(result) == [(Outcome.UNKNOWN, "stalled"), (Outcome.NOT_ATTEMPTED, "")]
    assert STALLED_SECONDS <= clock.seconds < 2 * STALLED_SECONDS
    assert cluster.sent == ["t"]
    assert "nothing moved for 10 minutes" in result.stopped


def test_a_move_that_somebody_cancels_has_failed_and_is_not_waited_for() -> None:
    cluster = SlowMoves(topic("t", (1,), (2,)), readings=None)
    made = plan(cluster, wish(Topic("t", replication_factor=2)))

    def cancelled() -> bool:
        cluster.moving.clear()
        return False

    result, clock = apply(made, cluster, interrupted=cancelled)
    assert outcomes(result) == [(Outcome.FAILED, "cancelled")]
    assert clock.seconds < 2 * CANCELLED_SECONDS
    # Nothing has happened: the same plan begins anew.
    cluster.readings = 2
    result, _ = apply(made, cluster)
    assert outcomes(result) == [(Outcome.DONE, "")]


def test_a_move_of_somebody_else_is_never_replaced() -> None:
    cluster = SlowMoves(topic("t", (1,)), topic("u", (1,)))
    made = plan(cluster, wish(Topic("t", replication_factor=2), Topic("u", replication_factor=2)))
    other = Update(TopicReplicas("u", ((1,),)), TopicReplicas("u", ((3, 1),)))

    def late() -> bool:
        if cluster.sent == ["t"] and "u" not in cluster.moving:
            cluster.begin(other)
        return False

    result, _ = apply(made, cluster, interrupted=late)
    assert outcomes(result) == [(Outcome.DONE, ""), (Outcome.FAILED, "changed_meanwhile")]
    assert cluster.sent == ["t"]
    with pytest.raises(StalePlanError) as stale:
        apply(made, cluster)
    assert [one.found for one in stale.value.findings if one.found] == ["partition 0 on brokers 3, 1"]


def test_what_was_moved_is_moved_back() -> None:
    start = topic("t", (1, 2), (2, 3))
    cluster = SlowMoves(start)
    made = plan(cluster, wish(replace(start, replica_assignments=((3, 1), (1, 2)))))
    result, _ = apply(made, cluster)
    live = cluster.read(EVERY)
    steps: dict[str, Outcome | None] = {item.step.id: item.outcome for item in result.outcomes}
    run = PastRun("r", "p", "c", "o", None, "t", steps, ended=True)
    done = performed_steps(made, [run], replace(live, layout=cluster.read(replace(EVERY, layout=["t"])).layout))
    back = revert_steps(done, live, Scope(), DesiredState(), PLACE)
    assert back.kept == ()
    result, _ = apply(plan(cluster, back.desired), cluster)
    assert cluster.read(EVERY).topics["t"].replica_assignments == start.replica_assignments
    # Nor is anything moved back that somebody has moved on.
    (kept,) = revert_steps(done, cluster.read(EVERY), Scope(), DesiredState(), PLACE).kept
    assert "somebody has moved them since" in kept


def test_many_bytes_need_a_word_and_a_plan_keeps_its_id_while_records_come_in() -> None:
    cluster = SlowMoves(topic("t", (1,), (2,)), size=9 * 1024 * MIB)
    wanted = wish(Topic("t", replication_factor=2))
    made = plan(cluster, wanted)
    assert [(one.guard, one.object) for one in made.refusals] == [(Guard.REPLICA_MOVE, "t")]
    assert "copies up to 32 GiB" in made.refusals[0].message
    cluster.size += 100 * MIB
    assert plan(cluster, wanted).steps == made.steps
    word = AcceptedGuard(Guard.REPLICA_MOVE, "t")
    accepted = plan(cluster, wanted, word)
    assert accepted.refusals == ()
    # What a plan says of bytes is held against what there is.
    cluster.size *= 10
    with pytest.raises(StalePlanError, match="changed since"):
        apply(accepted, cluster)


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (Topic("t", replication_factor=4), "4 replicas need as many brokers, and the cluster has 3"),
        (Topic("t", 4, 3), "plan again once they are added"),
        (Topic("t", 2, 2, replica_assignments=((9, 1), (2, 3))), "no broker 9 is in the cluster"),
    ],
)
def test_replicas_that_have_to_stay_say_why(wanted: Topic, reason: str) -> None:
    cluster = SlowMoves(topic("t", (1, 2), (2, 3), **{"min.insync.replicas": "2"}))
    made = plan(cluster, wish(replace(wanted, configs={"min.insync.replicas": "2"})))
    assert "MoveReplicas" not in [step.action for step in made.steps]
    left = [one for one in made.skipped if isinstance(one.change, Impossible)]
    assert any(reason in one.detail for one in left), made.skipped


def test_nothing_moves_while_a_replica_is_missing() -> None:
    cluster = SlowMoves(topic("t", (1, 2), (2, 3)))
    wanted = wish(Topic("t", replication_factor=3))
    made = plan(cluster, wanted)
    cluster.offline = {2}
    (left,) = plan(cluster, wanted).skipped
    assert left.detail.startswith("the replica of partition 0 on broker 2 is offline or out of sync, and 1 more")
    with pytest.raises(StalePlanError) as stale:
        apply(made, cluster)
    assert [one.found for one in stale.value.findings if one.found] == ["the replica of partition 0 on broker 2 is not"]


@pytest.mark.parametrize("finished", [True, False])
def test_a_topic_that_somebody_moved_while_another_one_moved_is_not_moved_again(finished: bool) -> None:
    """The first move may take hours: what the plan found of the second is old by then."""
    cluster, told = SlowMoves(topic("t", (1,)), topic("u", (1,)), readings=6), Told()
    made = plan(cluster, wish(topic("t", (2,)), topic("u", (2,))))

    def by_hand() -> bool:
        if cluster.sent == ["t"] and "u" not in cluster.left:
            cluster.begin(Update(TopicReplicas("u", ((1,),)), TopicReplicas("u", ((2 if finished else 3,),))))
            cluster.left["u"] = 0
        return False

    result, _ = apply(made, cluster, told, interrupted=by_hand)
    second = (Outcome.ALREADY, "") if finished else (Outcome.FAILED, "changed_meanwhile")
    assert outcomes(result) == [(Outcome.DONE, ""), second]
    assert result.stopped == "", "the run goes on to its end"
    assert cluster.sent == ["t"]
    if not finished:
        assert "expected partition 0 on brokers 1, found partition 0 on brokers 3" in result.outcomes[1].message


def test_a_move_that_somebody_turns_elsewhere_has_failed_at_once() -> None:
    cluster = SlowMoves(topic("t", (1,)), readings=None)
    made = plan(cluster, wish(topic("t", (2,))))

    def elsewhere() -> bool:
        if cluster.sent:
            cluster.begin(Update(TopicReplicas("t", ((1,),)), TopicReplicas("t", ((3,),))))
        return False

    result, clock = apply(made, cluster, interrupted=elsewhere)
    assert outcomes(result) == [(Outcome.FAILED, "changed_meanwhile")]
    assert "partition 0 moving to brokers 3" in result.outcomes[0].message
    assert clock.seconds < 2


def test_while_the_cluster_cannot_be_read_nobody_knows_how_much_is_left() -> None:
    class Unread(SlowMoves):
        """Twice in a row a reading fails while replicas move, however often it is tried."""

        failing = 0

        def read(self, request: ReadRequest) -> ClusterState:
            if self.sent and self.failing < 12:
                self.failing += 1
                raise ClusterError("TIMED_OUT", "no answer")
            return super().read(request)

    cluster, told = Unread(topic("t", (1,)), readings=6), Told()
    made = plan(cluster, wish(topic("t", (2,))))
    result, _ = apply(made, cluster, told)
    assert outcomes(result) == [(Outcome.DONE, "")]
    waiting = [left for text, left in zip(told.notes, told.bytes_left, strict=False) if text.startswith("waiting; ")]
    assert waiting
    assert set(waiting) == {0}
    assert MIB in told.bytes_left


class Hidden(SlowMoves):
    """After the move has begun, ``hidden`` readings do not show where its replicas are; ``None``: none does."""

    def __init__(self, *topics: Topic, hidden: int | None, readings: int | None = 3) -> None:
        super().__init__(*topics, readings=readings)
        self.hidden = hidden

    def read(self, request: ReadRequest) -> ClusterState:
        found = super().read(request)
        if not self.sent or not request.layout or self.hidden == 0:
            return found
        self.hidden = None if self.hidden is None else self.hidden - 1
        return replace(found, layout=None, layout_gap="not authorized")


def test_a_reading_without_the_replicas_of_a_move_tells_nothing() -> None:
    cluster, told = Hidden(topic("t", (1,)), hidden=2), Told()
    made = plan(cluster, wish(topic("t", (2,))))
    result, _ = apply(made, cluster, told)
    assert outcomes(result) == [(Outcome.DONE, "")]
    assert cluster.sent == ["t"]
    assert any(note.startswith("waiting; ") for note in told.notes)


def test_of_a_move_that_nobody_may_see_any_more_nobody_knows_the_end() -> None:
    cluster, told = Hidden(topic("t", (1,)), hidden=None), Told()
    made = plan(cluster, wish(topic("t", (2,))))
    result, clock = apply(made, cluster, told)
    ((outcome, code),) = outcomes(result)
    assert (outcome, code) == (Outcome.UNKNOWN, "stalled")
    assert clock.seconds >= STALLED_SECONDS
    assert "apply the same plan again" in result.outcomes[0].message
