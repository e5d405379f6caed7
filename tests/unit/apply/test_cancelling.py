"""Moves that are cancelled: brokers go back, the throttle goes, and what cannot be cancelled is told truly."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from reconciler.apply.moves import Ending, PartitionEnd, TopicMove, brokers_of, cancel, unthrottle
from reconciler.model.listing import Update
from reconciler.model.topic import PartitionLayout, Topic, TopicReplicas
from reconciler.model.topic_configs import FOLLOWERS, LEADERS
from reconciler.ports import REPLICATION_RATES, Answer, AnswerStatus, ClusterError, ReadRequest
from tests.property.clock import StillClock
from tests.slow_moves import SlowMoves
from tests.unit.apply.test_moving import plan, topic, wish
from tests.unit.apply.test_throttle import Killed, Throttled, made, run

EVERY = ReadRequest(acls=False)
OTHERS = "that is not the throttle of this move"


def moves(cluster: SlowMoves) -> list[TopicMove]:
    live = cluster.read(EVERY).topics
    return [TopicMove(name, parts, live.get(name)) for name, parts in cluster.reassignments().topics.items()]


def begun(cluster: SlowMoves, *new: tuple[int, ...]) -> list[TopicMove]:
    """A move of topic t that has begun."""
    old = cluster.read(EVERY).topics["t"].replica_assignments or ()
    cluster.begin(Update(TopicReplicas("t", old), TopicReplicas("t", new)))
    return moves(cluster)


def told(ends: Sequence[PartitionEnd]) -> list[tuple[Ending, tuple[int, ...] | None, str]]:
    return [(one.ending, one.replicas, one.code) for one in ends]


def test_brokers_go_back_to_the_replicas_before() -> None:
    cluster = SlowMoves(topic("t", (1, 2), (2, 3)), readings=None)
    found = begun(cluster, (2, 3), (3, 1))
    assert [(number, one.target, one.reverted) for number, one in found[0].moving.items()] == [
        (0, (2, 3), (2, 1)),  # the preferred leader is the one that the move wanted
        (1, (3, 1), (3, 2)),
    ]
    assert told(cancel(cluster, found, StillClock())) == [
        (Ending.CANCELLED, (2, 1), ""),
        (Ending.CANCELLED, (3, 2), ""),
    ]
    assert cluster.reassignments().topics == {}
    # The manifests ask for the same as before, and a plan begins the move anew.
    wanted = wish(replace(topic("t", (2, 3), (3, 1)), topic_id=None))
    assert [step.action for step in plan(cluster, wanted).steps] == ["MoveReplicas"]


def test_what_is_over_is_no_cancellation() -> None:
    cluster = SlowMoves(topic("t", (1,)), readings=0)
    found = begun(cluster, (2,))
    cluster.read(replace(EVERY, layout=["t"]))
    ends = cancel(cluster, found, StillClock())
    assert told(ends) == [(Ending.OVER, (2,), "")]
    assert ends[0].message == "it had finished"
    cluster = SlowMoves(topic("t", (1,)), readings=None)
    found = begun(cluster, (2,))
    cluster.moving.clear()
    (end,) = cancel(cluster, found, StillClock())
    assert (end.ending, end.message) == (Ending.OVER, "somebody else had cancelled it")


class Answering(SlowMoves):
    """Cancels nothing, and answers each partition as told."""

    def __init__(self, answers: Mapping[int, Answer]) -> None:
        super().__init__(topic("t", (1,), (2,), (3,)), readings=None)
        self.answers = answers
        self.asked = 0
        self.silent = False

    def cancel_reassignments(self, partitions: Sequence[tuple[str, int]]) -> list[Answer]:
        self.asked += 1
        return [self.answers[number] for _, number in partitions]

    def read(self, request: ReadRequest):  # type: ignore[no-untyped-def]
        if self.silent:
            raise ClusterError("TIMED_OUT", "no answer")
        return super().read(request)


def test_each_partition_is_answered_for_itself_and_an_acceptance_is_no_proof() -> None:
    refused = Answer(AnswerStatus.FAILED, "INVALID_REPLICA_ASSIGNMENT", "unclean")
    cluster = Answering({0: refused, 1: Answer(AnswerStatus.DONE), 2: Answer(AnswerStatus.UNKNOWN, "NO_ANSWER")})
    found = begun(cluster, (2,), (3,), (1,))
    assert told(cancel(cluster, found, StillClock())) == [
        (Ending.REFUSED, (2, 1), "INVALID_REPLICA_ASSIGNMENT"),
        (Ending.UNKNOWN, (3, 2), ""),
        (Ending.UNKNOWN, (1, 3), "NO_ANSWER"),
    ]
    assert cluster.asked == 1
    # Nothing can be read: what was refused was refused, all else is unknown.
    cluster.silent = True
    assert [end for end, *_ in told(cancel(cluster, found, StillClock()))] == [
        Ending.REFUSED,
        Ending.UNKNOWN,
        Ending.UNKNOWN,
    ]


def test_the_throttle_of_a_killed_apply_goes_with_its_move() -> None:
    cluster = Throttled(readings=None)
    cluster.kill = 2
    with pytest.raises(Killed):
        run(made(cluster), cluster)
    cluster.kill = None
    found = moves(cluster)
    assert found[0].throttle == {1, 2, 3}
    assert [end for end, *_ in told(cancel(cluster, found, StillClock()))] == [Ending.CANCELLED] * 2
    assert list(unthrottle(cluster, found, ())) == []
    assert (cluster.lists, set(map(str, cluster.rates.values()))) == ({}, {"{}"})


def test_rates_that_another_move_needs_stay_and_so_does_a_throttle_of_somebody_else() -> None:
    cluster = Throttled(readings=None)
    cluster.kill = 2
    with pytest.raises(Killed):
        run(made(cluster), cluster)
    cluster.kill = None
    found, rates = moves(cluster), dict(cluster.rates)
    other = TopicMove("u", (), Topic("u", configs={LEADERS: "*"}))
    (left,) = unthrottle(cluster, found, [other])
    assert left == "the rates of brokers 1, 2, 3 stay: another topic that moves is throttled"
    assert (cluster.lists, cluster.rates) == ({}, rates)
    (left,) = unthrottle(cluster, [other], ())
    assert OTHERS in left
    (left,) = unthrottle(cluster, [TopicMove("gone", ())], ())
    assert left.startswith("whether topic gone is throttled is not known")
    # Different rates on brokers are none of ours: those of a run are all the same.
    cluster.rates[1] = {REPLICATION_RATES[0]: "7"}
    (left,) = unthrottle(cluster, found, ())
    assert "somebody else has set some of them" in left
    assert cluster.rates[1] == {REPLICATION_RATES[0]: "7"}


_MOVING = PartitionLayout((2, 3, 1), frozenset({1}), {}, (2, 3), (1,))
_THROUGH = PartitionLayout((2, 3), frozenset({2, 3}))
_WAITING = PartitionLayout((1,), frozenset({1}))


@pytest.mark.parametrize(
    ("followers", "leaders", "partitions", "fits"),
    [
        ("0:2,0:3", "0:1", [_MOVING], True),
        ("0:2", "0:1", [_MOVING], False),
        ("0:2,0:3", "0:1,0:2", [_MOVING], False),
        ("0:2,0:3", "0:1", [_THROUGH], True),
        ("0:2,0:3", "0:1", [_WAITING], True),
        ("0:2,0:3", "0:4", [_WAITING], False),
        ("0:2,0:3,1:2,1:3", "0:1,1:1", [_MOVING, _THROUGH], True),
        ("0:2,0:3,1:2,1:3", "0:1", [_MOVING, _THROUGH], False),
        ("0:2,0:3,1:2", "0:1,1:1", [_MOVING], False),
        ("*", "*", [_MOVING], False),
        ("", "", [_MOVING], False),
    ],
)
def test_a_throttle_is_of_a_move_if_it_is_about_its_replicas(
    followers: str, leaders: str, partitions: list[PartitionLayout], fits: bool
) -> None:
    assert bool(brokers_of({FOLLOWERS: followers, LEADERS: leaders}, partitions)) is fits


@pytest.mark.parametrize("message", ["", "no answer for 30 s"])
def test_what_a_broker_said_goes_before_what_we_say(message: str) -> None:
    cluster = Answering(
        {
            0: Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", message),
            1: Answer(AnswerStatus.DONE, message=message),
            2: Answer(AnswerStatus.FAILED, "INVALID_REPLICA_ASSIGNMENT", message),
        }
    )
    found = begun(cluster, (2,), (3,), (1,))
    ends = cancel(cluster, found, StillClock())
    ours = "accepted, and brokers still show it as moving"
    assert [one.message for one in ends] == [message or ours, message or ours, message]
    cluster.silent = True
    ends = cancel(cluster, found, StillClock())
    assert [one.message for one in ends] == [message or "it could not be read again: TIMED_OUT: no answer"] * 3
