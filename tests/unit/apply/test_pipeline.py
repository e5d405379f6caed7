"""Creations on their way together: announced first, never too many, and each with an outcome however the run ends."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from reconciler.apply.environment import Identity, Outcome, Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.listing import Change, Create
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.ports import Answer, AnswerStatus, ClusterError, RecordError
from reconciler.snapshot.file import MemoryCluster
from tests.faults.scenario import DAY
from tests.property.clock import StillClock
from tests.property.transitions import declared
from tests.worlds import acl

LIVE = ClusterState("cluster", frozenset({acl("old", "User:a"), acl("kept", "User:a")}))
WANTED = frozenset({acl("kept", "User:a"), *(acl(f"new{number}", "User:a") for number in range(8))})
SECOND = 2


class Pipelined(MemoryCluster):
    """Performs a request when it is ``begun``, or when its answers are waited for; ``events`` says what came when."""

    def __init__(self, events: list[str], *, late: bool, wrong: Callable[[str, int], None] = lambda what, number: None):
        super().__init__(LIVE)
        self.events, self.late, self.wrong = events, late, wrong
        self.begun = 0

    def begin(self, changes: Sequence[Change]) -> Callable[[], list[Answer]]:
        self.begun += 1
        number = self.begun
        self.wrong("begin", number)
        assert all(isinstance(change, Create) for change in changes)
        self.events.append(f"begin {number}")
        told = [] if self.late else [self.send(changes)]

        def answers() -> list[Answer]:
            self.events.append(f"answer {number}")
            found = told.pop() if told else self.send(changes)
            self.wrong("answer", number)
            return found

        return answers


class Kept:
    """A journal whose records are events too; it is ``full`` from one on."""

    def __init__(self, events: list[str], full: str = "") -> None:
        self.events, self.full = events, full

    def write(self, *records: Mapping[str, Any]) -> None:
        for record in records:
            name = f"{record['record']} {record.get('batch', '')}"
            if self.full and (name == self.full or "full" in self.events):
                self.events.append("full")
                raise RecordError("full")
            self.events.append(name)


def _plan() -> Plan:
    terms = Terms("c", default_allow=False, barrier_wait=0.0)
    return propose(declared(WANTED, {}), LIVE, terms, Request(DAY, Options(allow_deletes=True)))


def _applied(cluster: Pipelined, full: str = "", interrupted: Callable[[], bool] = lambda: False) -> Result:
    plan, journal = _plan(), Kept(cluster.events, full)
    world = ApplyEnvironment(
        cluster,
        StillClock(),
        Progress(),
        interrupted,
        Identity("run"),
        journal=journal,
        max_batch=2,
        pipeline=cluster,
        prepare=lambda: cluster.events.append("prepare"),
    )
    return perform(plan, LIVE, check(plan, LIVE, plan.terms), world)


def _raise_at(event: str, at: int, error: Exception) -> Callable[[str, int], None]:
    def wrong(what: str, number: int) -> None:
        if (what, number) == (event, at):
            raise error

    return wrong


def _in_order(events: Sequence[str]) -> None:
    """No request without its intent, at most three unanswered, answers in order, outcomes after them."""
    due: list[str] = []
    for place, event in enumerate(events):
        what, _, number = event.partition(" ")
        if what == "begin":
            due.append(number)
            assert f"intent {number}" in events[:place]
        if what == "answer":
            assert number == due.pop(0)
        if what == "outcomes" and f"begin {number}" in events:
            assert f"answer {number}" in events[:place]
        assert len(due) <= 3


def _told_as_it_is(result: Result, cluster: Pipelined) -> None:
    for item in result.outcomes:
        there = touched_binding(item.step.change) in cluster.state.bindings
        assert (item.outcome in (Outcome.DONE, Outcome.ALREADY)) is (there is (item.step.change.after is not None))


@pytest.mark.parametrize("late", [False, True])
def test_creations_are_on_their_way_together(late: bool) -> None:
    cluster = Pipelined([], late=late)
    result = _applied(cluster)
    assert result.succeeded
    _in_order(cluster.events)
    assert cluster.events.index("begin 3") < cluster.events.index("answer 1")
    # What reads next loads while the broker works, and not before something was sent.
    assert cluster.events.index("begin 1") < cluster.events.index("prepare") < cluster.events.index("answer 1")
    # What is deleted waits until every creation is there.
    assert cluster.begun == 4
    assert cluster.events.index("outcomes 4") < cluster.events.index("intent 5")


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
@pytest.mark.parametrize("what", ["begin", "answer"])
def test_a_request_that_breaks_leaves_none_without_an_outcome(what: str, at: int, late: bool) -> None:
    cluster = Pipelined([], late=late, wrong=_raise_at(what, at, TypeError("bad")))
    result = _applied(cluster)
    assert (result.stopped, result.succeeded) == ("TypeError: bad", False)
    _in_order(cluster.events)
    assert not [event for event in cluster.events if event.startswith("begin") and int(event[6:]) > at + 2]
    _told_as_it_is(result, cluster)
    assert acl("old", "User:a") in cluster.state.bindings
    assert what == "answer" or cluster.begun == at, "nothing is begun after the one that broke"
    sent = sum(event.startswith("begin ") for event in cluster.events)
    assert result.count(Outcome.UNKNOWN) + result.count(Outcome.DONE) == 2 * (sent + (what == "begin"))


@pytest.mark.parametrize("at", [1, SECOND, 4])
def test_an_unknown_outcome_is_read_again_and_the_run_goes_on(at: int) -> None:
    cluster = Pipelined([], late=False, wrong=_raise_at("answer", at, ClusterError("timed_out", "lost")))
    result = _applied(cluster)
    assert result.succeeded
    _in_order(cluster.events)


def test_what_was_not_applied_is_sent_again_alone() -> None:
    class Busy(Pipelined):
        def begin(self, changes: Sequence[Change]) -> Callable[[], list[Answer]]:
            answers = super().begin(changes)
            busy = Answer(AnswerStatus.FAILED, "NOT_CONTROLLER", retriable=True)
            return (lambda: [busy] * len(changes)) if self.begun == SECOND and self.late else answers

    cluster = Busy([], late=True)
    assert _applied(cluster).succeeded
    assert cluster.state.bindings == WANTED


@pytest.mark.parametrize("full", ["intent 2", "intent 4", "outcomes 1", "outcomes 3"])
def test_a_full_journal_stops_the_run_and_no_outcome_is_lost(full: str) -> None:
    cluster = Pipelined([], late=False)
    result = _applied(cluster, full)
    assert "the journal cannot be kept" in result.stopped
    _told_as_it_is(result, cluster)
    number = int(full.partition(" ")[2])
    assert f"begin {number}" not in cluster.events or full.startswith("outcomes")
    assert cluster.begun <= number + 2


def test_whoever_asks_to_stop_gets_the_outcomes_of_what_was_sent() -> None:
    events: list[str] = []
    cluster = Pipelined(events, late=True)
    result = _applied(cluster, interrupted=lambda: "begin 2" in events)
    assert (result.interrupted, result.count(Outcome.DONE), cluster.begun) == (True, 4, 2)
    _told_as_it_is(result, cluster)
