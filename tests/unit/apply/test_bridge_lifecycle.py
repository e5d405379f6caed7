"""The bridges of a run by themselves: requests that create them, when they are looked at, what is written and said."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from reconciler.apply import bridges as lifecycle
from reconciler.apply.bridges import BridgeLifecycle
from reconciler.apply.environment import Identity, LeaseRequest, Progress
from reconciler.apply.run import ApplyEnvironment, Run, StoppedError
from reconciler.model.acl import AclBinding
from reconciler.model.listing import Change
from reconciler.model.markers import bridge_on, marker_of
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Plan
from reconciler.plan.step import Bridge, Bridges, Means, Side, Unbridged
from reconciler.ports import Answer, AnswerStatus, ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock
from tests.unit.apply.bridge_stage import CLOSED, DENY, OPEN, Stage
from tests.verbs import creations, deletions
from tests.worlds import acl

X, Y = acl("x", "").pattern, acl("y", "").pattern


class Watched(MemoryCluster):
    """Counts readings, keeps requests, and keeps ``stuck`` bindings."""

    def __init__(self, state: ClusterState) -> None:
        super().__init__(state)
        self.readings = 0
        self.requests: list[Sequence[Change]] = []
        self.stuck: set[AclBinding] = set()

    def read(self, request: ReadRequest) -> ClusterState:
        self.readings += 1
        return super().read(request)

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        self.requests.append(changes)
        if not self.stuck & {*deleted_bindings(changes)}:
            return super().send(changes)
        return [
            Answer(AnswerStatus.FAILED, "NO", "no")
            if change.before in self.stuck
            else super(Watched, self).send([change])[0]
            for change in changes
        ]


class Told(Progress):
    """Keeps notes and records; ``fails`` says which record cannot be written."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.records: list[Mapping[str, Any]] = []
        self.fails: Callable[[Mapping[str, Any]], bool] = lambda record: False

    def note(self, text: str) -> None:
        """Keep it."""
        self.notes.append(text)

    def write(self, *records: Mapping[str, Any]) -> None:
        """Keep them, or fail."""
        for record in records:
            if self.fails(record):
                raise TypeError("disk full")
            self.records.append(record)

    @property
    def actions(self) -> list[tuple[str, str]]:
        """What was written of bridges, and why."""
        return [(record["action"], record["reason"]) for record in self.records if record["record"] == "bridges"]


class Play:
    """Bridges of a run, on a cluster in memory."""

    def __init__(
        self,
        live: frozenset[AclBinding] = OPEN,
        wanted: frozenset[AclBinding] = CLOSED,
        planned: Bridges | None = None,
        **environment: Any,
    ) -> None:
        self.plan: Plan = Stage(live, wanted).plan()
        self.cluster, self.clock, self.told = Watched(ClusterState("cluster", live)), StillClock(), Told()
        world = ApplyEnvironment(
            self.cluster, self.clock, self.told, identity=Identity("run"), journal=self.told, **environment
        )
        self.run = Run(self.plan, world, self.cluster.state, True)
        self.bridges = BridgeLifecycle(self.run, planned if planned is not None else self.plan.bridges)

    def others(self, *bindings: AclBinding) -> None:
        """Somebody else creates them."""
        MemoryCluster.send(self.cluster, creations(list(bindings)))


def wanted(*names: str) -> Bridges:
    return Bridges(tuple(Bridge(acl(name, "").pattern, Side.CLOSING, Means.BRIDGE) for name in names))


@pytest.mark.parametrize(("max_batch", "most"), [(None, 3), (99, 3), (5, 2), (4, 2), (3, 1), (2, 1), (1, 1)])
def test_a_request_holds_bridges_with_their_markers_as_many_as_it_may(
    max_batch: int | None, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "MAX_BINDINGS", 6)
    names = [f"t{number}" for number in range(7)]
    play = Play(planned=wanted(*names), max_batch=max_batch)
    play.bridges.build()
    sent = [created_bindings(changes) for changes in play.cluster.requests]
    parts = [names[start : start + most] for start in range(0, 7, most)]
    assert sent == [
        [one for name in part for one in (marker_of("run", acl(name, "").pattern), bridge_on(acl(name, "").pattern))]
        for part in parts
    ]
    assert play.told.actions == [("create", ""), ("created", "")] * len(parts)


@pytest.mark.parametrize("lease", [None, LeaseRequest("me")])
def test_others_are_said_to_see_a_long_run_s_bridges_unless_it_holds_the_lease(lease: LeaseRequest | None) -> None:
    play = Play(lease_request=lease)
    play.bridges.build()
    (note,) = play.told.notes
    assert note.startswith("1 bridges exist until the ACLs of the plan are in force")
    assert ("without --lease" in note) is (lease is None)


def test_bridges_are_looked_at_once_a_second_while_there_are_any() -> None:
    play = Play()
    play.clock.seconds = 100.0
    play.bridges.build()
    for quarter in range(1, 21):
        play.run.environment.clock.sleep(0.25)
        assert play.cluster.readings == quarter // 4
    play.others(acl("x", "User:c"))
    play.run.environment.clock.sleep(1.0)
    assert not play.bridges.live
    assert any(note.endswith(f"the bridge on {X} is removed at once") for note in play.told.notes)
    before = play.cluster.readings
    play.run.environment.clock.sleep(5.0)
    assert play.cluster.readings == before
    nothing = Play(planned=Bridges())
    nothing.bridges.build()
    nothing.bridges.take_over(nothing.cluster.state)
    nothing.run.environment.clock.sleep(5.0)
    assert nothing.bridges.end() == ()
    assert nothing.cluster.readings == 0
    assert nothing.told.actions == []


def test_a_check_looks_too_if_it_is_time() -> None:
    play = Play()
    play.bridges.build()
    play.others(acl("x", "User:d"), acl("x", "User:c"))
    play.clock.seconds += 0.5
    play.bridges.check()
    play.clock.seconds += 0.5
    with pytest.raises(StoppedError, match="somebody else changed what a bridge keeps open: User:c ALLOW"):
        play.bridges.check()


def test_bridges_of_an_earlier_run_are_taken_over_and_written_down() -> None:
    bridge, mark = bridge_on(X), marker_of("dead", X)
    play = Play(planned=wanted("y"))
    play.others(bridge, mark)
    play.bridges.take_over(play.cluster.state)
    assert play.told.actions == [("taken over", "")]
    assert play.bridges.live == {bridge: {mark}}
    play.bridges.build()
    assert play.bridges.live.keys() == {bridge, bridge_on(Y)}
    # One clock that polls, however often it was begun: each look is one reading.
    play.run.environment.clock.sleep(1.0)
    assert play.cluster.readings == 1
    assert type(play.run.environment.clock._inner) is StillClock  # type: ignore[attr-defined]


def test_without_bridges_the_steps_are_performed_in_their_own_order() -> None:
    play = Play(planned=Bridges())
    steps = play.plan.steps
    phases = [*dict.fromkeys(step.phase for step in steps)]
    assert play.bridges.stages() == [(phase, [step for step in steps if step.phase is phase]) for phase in phases]
    play = Play()
    play.bridges.build()
    stages = play.bridges.stages()
    assert [phase for phase, _ in stages] == sorted([Phase.CREATE_FIRST, *phases, Phase.DELETE_LAST])
    assert [step for _, several in stages for step in several] == [*steps]


def test_bridges_and_bindings_of_other_runs_and_what_was_there_before_disturb_nobody() -> None:
    """A run that is resumed has deleted some already: a broker that lags may list them once more."""
    gone, kept = acl("x", "User:a"), acl("x", "User:b")
    play = Play(OPEN | {kept, gone}, OPEN)
    MemoryCluster.send(play.cluster, deletions([gone]))
    play.run.start = play.cluster.state
    play.bridges.build()
    around = acl("*", "").pattern
    play.others(gone, bridge_on(around), marker_of("other", around))
    play.run.environment.clock.sleep(2.0)
    assert play.bridges.alarm == ""
    play.others(acl("x", "User:c"))
    play.run.environment.clock.sleep(2.0)
    assert play.bridges.alarm


@pytest.mark.parametrize("done", [True, False])
def test_a_resumed_run_keeps_a_bridge_for_those_whose_binding_went_before_it_began(done: bool) -> None:
    """Of two who had access one has lost it already, and both will have it again once the last binding is gone."""
    first, second = acl("x", "User:a"), acl("x", "User:b")
    play = Play(OPEN | {first, second}, OPEN)
    MemoryCluster.send(play.cluster, deletions([first]))
    play.run.start = play.cluster.state
    play.bridges.build()
    if done:
        MemoryCluster.send(play.cluster, deletions([second]))
    told = play.bridges.end()
    assert (bridge_on(X) in play.cluster.state.bindings) is not done
    assert [text.startswith(f"the bridge on {X} is still there (without it principals") for text in told] == (
        [] if done else [True]
    )
    assert [action for action, _ in play.told.actions] == [
        "create",
        "created",
        *(("remove", "removed") if done else ("left",)),
    ]


@pytest.mark.parametrize(("stays", "why"), [(False, "the ACLs of the plan are in force"), (True, "it protects nobody")])
def test_why_a_bridge_goes_is_written_down(stays: bool, why: str) -> None:
    """If all go the plan is performed; while another one stays, it merely protects nobody."""
    gone, left = acl("x", "User:a"), acl("y", "User:b")
    play = Play(OPEN | {gone, left, acl("y", "User:c")}, OPEN)
    play.bridges.build()
    MemoryCluster.send(play.cluster, deletions([gone, acl("y", "User:c"), *([] if stays else [left])]))
    assert len(play.bridges.end()) == stays
    assert ("remove", why) in play.told.actions
    assert (bridge_on(Y) in play.cluster.state.bindings) is stays
    # What stays is looked at to the end of the run.
    before = play.cluster.readings
    play.run.environment.clock.sleep(2.0)
    assert play.cluster.readings > before or not stays


def test_a_bridge_whose_marker_cannot_be_removed_is_named() -> None:
    play = Play(OPEN | {acl("x", "User:a")}, OPEN)
    play.bridges.build()
    play.cluster.stuck = {marker_of("run", X)}
    MemoryCluster.send(play.cluster, deletions([acl("x", "User:a")]))
    (told,) = play.bridges.end()
    assert told.startswith(f"the bridge on {X} is still there (it could not be removed)")
    assert bridge_on(X) not in play.cluster.state.bindings
    assert [action for action, _ in play.told.actions] == ["create", "created", "remove", "left"]


def test_a_binding_that_the_plan_wants_stays_and_loses_its_marker() -> None:
    own = bridge_on(X)
    stage = Stage(OPEN, OPEN | {own, acl("x", "User:b", permission=DENY)})
    plan = stage.plan()
    MemoryCluster.send(stage.cluster, creations([own, marker_of("dead", X)]))
    result = stage.apply(plan)
    assert (result.stopped, result.differences) == ("", ())
    assert stage.bindings == stage.wanted


@pytest.mark.parametrize("built", [True, False])
def test_whom_no_bridge_keeps_in_is_said_pattern_by_pattern(built: bool) -> None:
    first = Unbridged(X, Side.CLOSING, "never bridged", ("User:a", "User:b"))
    nobody = Unbridged(Y, Side.CLOSING, "never bridged", ())
    bridge = Bridge(acl("z", "").pattern, Side.OPENING, Means.BRIDGE, ("User:c",))
    idle = Bridge(acl("zz", "").pattern, Side.OPENING, Means.BRIDGE, ())
    play = Play(planned=Bridges((bridge, idle), (nobody, first)))
    play.bridges.built = built
    told = play.bridges.interruptions()
    assert told[0] == f"{X}: User:a, User:b may have been refused for a moment: never bridged"
    assert [text.split(" may ")[0] for text in told[1:]] == ([] if built else ["TOPIC z: User:c"])


@pytest.mark.parametrize("action", ["create", "created", "remove", "removed"])
def test_a_record_that_cannot_be_written_keeps_a_bridge_from_being_created_and_not_from_going(action: str) -> None:
    play = Play(OPEN | {acl("x", "User:a")}, OPEN)
    play.told.fails = lambda record: record.get("action") == action
    if action == "create":
        with pytest.raises(Exception, match="disk full"):
            play.bridges.build()
        assert play.cluster.requests == []
        return
    play.bridges.build()
    assert bridge_on(X) in play.cluster.state.bindings
    MemoryCluster.send(play.cluster, deletions([acl("x", "User:a")]))
    assert play.bridges.end() == ()
    assert play.cluster.state.bindings == OPEN
    assert "disk full" in play.run.stopped
