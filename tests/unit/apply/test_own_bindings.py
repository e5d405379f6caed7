"""Bindings of a run's own: created until every one is answered well, removed until none is left, doubts remembered."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

import pytest

from reconciler.apply.barrier import start_probe_acls
from reconciler.apply.environment import Identity, Progress
from reconciler.apply.run import ApplyEnvironment, Run, StoppedError, create, doubts, remove
from reconciler.model.acl import AclBinding
from reconciler.model.listing import Change
from reconciler.model.markers import bridge_on
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.ports import Answer, AnswerStatus, ClusterError
from reconciler.retry import ATTEMPTS
from tests.faults.scenario import before, plan_for, wish
from tests.property.clock import StillClock
from tests.worlds import acl

PAIR: Final = (acl("x", "User:a"), acl("y", "User:a"))
REFUSED, NO_ANSWER = Answer(AnswerStatus.FAILED, "REFUSED", "no"), Answer(AnswerStatus.UNKNOWN, "TIMED_OUT", "late")
PLAN: Final = plan_for(before(1), wish(1))
#: What a request of two bindings is answered; ``None``: nothing at all.
TURNS: Final[tuple[tuple[Answer, ...] | None, ...]] = (
    None,
    (Answer(AnswerStatus.DONE), REFUSED),
    (NO_ANSWER, Answer(AnswerStatus.ALREADY)),
)


class Answering:
    """A cluster that answers as told, and well from then on."""

    def __init__(self, turns: Sequence[tuple[Answer, ...] | None]) -> None:
        self.turns: Iterator[tuple[Answer, ...] | None] = iter(turns)
        self.sent: list[Sequence[Change]] = []

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        self.sent.append(changes)
        found = next(self.turns, (Answer(AnswerStatus.DONE),) * 2)
        if found is None:
            raise ClusterError("_TRANSPORT", "gone")
        return list(found[: len(changes)])


def run_on(cluster: Answering) -> Run:
    world = ApplyEnvironment(cluster, StillClock(), Progress(), identity=Identity("run"))  # type: ignore[arg-type]
    return Run(PLAN, world, ClusterState("c"), False)


@pytest.mark.parametrize("count", range(ATTEMPTS + 1))
def test_a_creation_is_sent_until_it_is_answered_well_and_what_may_still_arrive_is_remembered(count: int) -> None:
    for turns in product(TURNS, repeat=count):
        cluster = Answering(turns)
        run = run_on(cluster)
        if count < ATTEMPTS:
            create(run, PAIR, "bridges")
        else:
            why = {None: "gone", TURNS[1]: "REFUSED: no", TURNS[2]: "TIMED_OUT: late"}[turns[-1]]
            with pytest.raises(StoppedError, match=f"^bridges could not be created: .*{why}$"):
                create(run, PAIR, "bridges")
        assert [created_bindings(changes) for changes in cluster.sent] == [list(PAIR)] * min(count + 1, ATTEMPTS)
        lost = {PAIR[0]} if TURNS[2] in turns else set()
        assert run.in_doubt.keys() == ({*PAIR} if None in turns else lost)


@pytest.mark.parametrize("count", range(ATTEMPTS + 1))
def test_a_removal_asks_again_for_what_may_still_be_there_and_raises_nothing(count: int) -> None:
    for turns in product(TURNS, repeat=count):
        cluster = Answering(turns)
        left, asked = list(PAIR), list[list[AclBinding]]()
        for turn in (*turns, (Answer(AnswerStatus.DONE),) * 2):
            if left and len(asked) < ATTEMPTS:
                asked.append(left)
                answers = turn and turn[: len(left)]
                left = left if answers is None else [b for b, one in zip(left, answers, strict=True) if not one.good]
        found = remove(run_on(cluster), PAIR)
        if len(asked) == ATTEMPTS or not left:
            assert [*found] == left
            assert [deleted_bindings(changes) for changes in cluster.sent] == asked
    nothing = Answering(())
    assert remove(run_on(nothing), ()) == ()
    assert nothing.sent == []


def test_a_bridge_that_may_still_come_is_named_among_what_may_and_a_sentinel_is_not() -> None:
    run = run_on(Answering(()))
    assert doubts(run) == ()
    sentinels = start_probe_acls("run", "User:p")
    run.in_doubt.update(dict.fromkeys(sentinels))
    (said,) = doubts(run)
    assert f"creates {len(sentinels)} bindings" in said
    assert "everybody" not in said
    bridge: AclBinding = bridge_on(PAIR[1].pattern)
    run.in_doubt[bridge] = None
    (said,) = doubts(run)
    assert f"among them {bridge}, which would let everybody do everything there" in said
    assert "--run run" in said


@pytest.mark.parametrize("count", range(2))
def test_what_a_broker_that_answers_for_too_few_leaves_out_may_still_be_there(count: int) -> None:
    few = (Answer(AnswerStatus.DONE),) * count
    cluster = Answering([few] * ATTEMPTS)
    assert remove(run_on(cluster), PAIR) == PAIR
    assert [deleted_bindings(changes) for changes in cluster.sent] == [[*PAIR]] * ATTEMPTS
    assert remove(run_on(Answering([few])), PAIR) == ()


class Miscounting(Answering):
    """A cluster that answers its first ``times`` requests with ``count`` answers, however many changes they have."""

    def __init__(self, count: int, times: int) -> None:
        super().__init__(())
        self.count, self.times = count, times

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        found = super().send(changes)
        return found if len(self.sent) > self.times else [Answer(AnswerStatus.DONE)] * self.count


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_answers_than_bindings_leaves_all_of_them_in_doubt(count: int) -> None:
    """Nobody knows whose answers they are: the creation is sent again, and the run stops where that goes on."""
    run = run_on(Miscounting(count, ATTEMPTS))
    with pytest.raises(StoppedError, match=f"could not be created: .*{count} answers for 2 bindings$"):
        create(run, PAIR, "bridges")
    assert run.in_doubt.keys() == {*PAIR}
    cluster = Miscounting(count, 1)
    run = run_on(cluster)
    create(run, PAIR, "bridges")
    assert [created_bindings(changes) for changes in cluster.sent] == [[*PAIR]] * 2
    assert run.in_doubt.keys() == {*PAIR}
