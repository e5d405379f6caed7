"""A broken network against the run's own bindings: what may still arrive is said, and is drift once it has arrived."""

import datetime
from collections.abc import Callable, Sequence

import pytest

from reconciler.apply.cleanup import going_on, leftovers
from reconciler.apply.environment import Progress
from reconciler.model.acl import AclBinding
from reconciler.model.listing import Change, Create
from reconciler.model.markers import bridge_on, marker_of
from reconciler.model.scope import is_reserved
from reconciler.plan.kinds.acl import created_bindings
from reconciler.plan.propose import Request, propose
from reconciler.ports import Answer, AnswerStatus, ClusterError, ReadRequest
from tests.faults.scenario import DAY
from tests.property.transitions import declared
from tests.unit.apply.bridge_stage import CLOSED, OPEN, TERMS, Recording, Stage
from tests.worlds import acl

_BRIDGE = bridge_on(acl("x", "").pattern)
_RUN = "20260101T000000Z-late"


class _Late(Recording):
    """Holds the first request back that creates what ``held`` chooses; :meth:`arrive` delivers it."""

    held: Callable[[AclBinding], bool]
    waiting: Sequence[Change] = ()
    answers = False

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        if not self.waiting and any(map(self.held, created_bindings(changes))):
            self.waiting = changes
            if self.answers:
                return [Answer(AnswerStatus.UNKNOWN, "_TIMED_OUT", "timed out")] * len(changes)
            raise ClusterError("_TIMED_OUT", "no answer")
        return super().send(changes)

    def arrive(self) -> None:
        super().send([change for change in self.waiting if isinstance(change, Create)])


def _stage(held: Callable[[AclBinding], bool], *, answers: bool = False) -> tuple[Stage, _Late]:
    stage = Stage(OPEN, CLOSED, run=_RUN)
    cluster = _Late(stage.cluster.state)
    cluster.held, cluster.answers = held, answers
    stage.cluster = stage.nodes.cluster = cluster
    return stage, cluster


@pytest.mark.parametrize("answers", [False, True])
def test_a_bridge_whose_creation_got_no_answer_ends_the_run_with_a_warning(answers: bool) -> None:
    """The request that creates bridges times out and is repeated: the run does not end well, and says what may come."""
    stage, _ = _stage(lambda binding: binding == _BRIDGE, answers=answers)
    result = stage.apply()
    assert all(item.outcome == "done" for item in result.outcomes)
    assert not result.succeeded
    (said,) = result.differences
    assert "may still arrive" in said
    assert str(_BRIDGE) in said
    assert f"reconciler cleanup --cluster c --run {_RUN}" in said


def test_sentinels_without_an_answer_are_said_too() -> None:
    """They open nothing, and would be left behind all the same."""
    stage, _ = _stage(lambda binding: is_reserved(binding.pattern.name))
    result = stage.apply()
    (said,) = result.differences
    assert "may still arrive" in said
    assert "everybody" not in said


def test_a_bridge_that_comes_after_the_end_is_drift() -> None:
    """30 seconds late it reopens what the plan closed: the next drift report after the run's time is over names it."""
    stage, cluster = _stage(lambda binding: binding == _BRIDGE)
    stage.apply()
    assert cluster.state.bindings == CLOSED
    cluster.arrive()
    assert {_BRIDGE, marker_of(_RUN, _BRIDGE.pattern)} <= cluster.state.bindings
    live = cluster.read(ReadRequest())
    assert leftovers(live)
    assert not going_on(live, datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.UTC))
    plan = propose(declared(CLOSED, {}), live, TERMS, Request(DAY))
    assert next(left.subject for left in plan.skipped).startswith(str(_BRIDGE))
    assert [callout.rule for callout in plan.access.callouts] == ["left-open"]


class _Said(Progress):
    """Keeps what a run says while it is going on."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_a_run_that_others_will_take_for_drift_says_so_at_its_start() -> None:
    """A marker proves nothing for longer than ten minutes, or a forger could hide for longer: the run says it."""
    stage, _ = _stage(lambda _: False)
    stage.progress = said = _Said()
    stage.apply()
    (bridges,) = (note for note in said.notes if "bridges exist" in note)
    assert "without --lease, drift and plans of others report them once this run is ten minutes old" in bridges
