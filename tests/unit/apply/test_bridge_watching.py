"""Bridges while an apply runs: what others write and take away meanwhile, and who looks."""

from collections.abc import Callable, Sequence

import pytest

from reconciler.apply.bridges import BridgeLifecycle
from reconciler.apply.environment import Identity, Progress
from reconciler.apply.run import ApplyEnvironment, Run, StoppedError
from reconciler.model.acl import AclBinding, AclOperation
from reconciler.model.listing import Change
from reconciler.model.markers import bridge_on, marker_of, standing_bridges
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.ports import Answer, AnswerStatus, ClusterError, ReadRequest
from reconciler.retry import ATTEMPTS
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock
from tests.unit.apply.bridge_stage import CLOSED, DENY, OPEN, Stage
from tests.verbs import creations, deletions
from tests.worlds import acl


def _appearing(stage: Stage, stranger: AclBinding) -> Callable[[], None]:
    """Somebody else writes as soon as a bridge stands, and a second passes."""

    def between() -> None:
        if standing_bridges(stage.bindings) and stranger not in stage.bindings:
            stage.clock.seconds += 1.0
            MemoryCluster.send(stage.cluster, creations([stranger]))

    return between


def test_a_strangers_binding_removes_the_bridge_at_once_and_stops_the_run() -> None:
    many = {acl("x", f"User:{number}") for number in range(9)}
    stage = Stage(OPEN, CLOSED | many)
    stranger = acl("x", "User:stranger")
    stage.cluster.between = _appearing(stage, stranger)
    result = stage.apply()
    assert not standing_bridges(stage.bindings)
    assert not any(is_reserved(binding.pattern.name) for binding in stage.bindings)
    assert "somebody else changed" in result.stopped
    assert "User:stranger" in result.stopped
    assert stage.bindings & many == set(), "no further batch was sent"


def test_a_strangers_binding_that_only_the_reading_before_a_phase_shows_removes_the_bridge_too() -> None:
    stage = Stage(OPEN, CLOSED)
    stranger = acl("x", "User:stranger")

    def between() -> None:
        if acl("x", "User:b", AclOperation.WRITE, DENY) in stage.bindings and stranger not in stage.bindings:
            MemoryCluster.send(stage.cluster, creations([stranger]))

    stage.cluster.between = between
    result = stage.apply()
    assert "somebody else changed" in result.stopped
    assert not standing_bridges(stage.bindings)


def test_a_strangers_binding_elsewhere_leaves_the_bridge() -> None:
    stage = Stage(OPEN, CLOSED)
    stage.cluster.between = _appearing(stage, acl("elsewhere", "User:stranger"))
    assert stage.apply().succeeded


def test_a_bridge_whose_marker_somebody_took_away_is_theirs() -> None:
    stage = Stage(OPEN, CLOSED)
    pattern = acl("x", "").pattern
    marker = marker_of("run", pattern)

    def take() -> None:
        if stage.bindings >= CLOSED and marker in stage.bindings:
            MemoryCluster.send(stage.cluster, deletions([marker]))

    stage.cluster.between = take
    stage.apply()
    assert bridge_on(pattern) in stage.bindings


def test_a_cluster_that_cannot_be_read_keeps_its_bridges_and_names_them() -> None:
    stage = Stage(OPEN, CLOSED)

    def cut() -> None:
        stage.cluster.readable = not stage.bindings >= CLOSED

    stage.cluster.between = cut
    result = stage.apply()
    assert any("the bridge on TOPIC x is still there" in text for text in result.differences)
    assert bridge_on(acl("x", "").pattern) in stage.bindings


class Stuck(MemoryCluster):
    """Deletes nothing, and keeps when it was asked to; a run that never ends asking gets its way."""

    def __init__(self, state: ClusterState, clock: StillClock) -> None:
        super().__init__(state)
        self.clock = clock
        self.refused: list[float] = []
        self.stuck = True

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        if deleted_bindings(changes) and self.stuck and len(self.refused) < 50:
            self.refused.append(self.clock.seconds)
            return [Answer(AnswerStatus.FAILED, "REFUSED", "no")] * len(changes)
        return super().send(changes)


@pytest.mark.parametrize("stuck", [True, False])
def test_whoever_sleeps_watches_the_bridges_and_a_removal_does_not_begin_inside_itself(stuck: bool) -> None:
    stage = Stage(OPEN, CLOSED)
    plan, clock = stage.plan(), StillClock()
    cluster = Stuck(stage.cluster.state, clock)
    cluster.stuck = stuck
    world = ApplyEnvironment(cluster, clock, Progress(), identity=Identity("run"), journal=stage)
    run = Run(plan, world, cluster.state, True)
    bridges = BridgeLifecycle(run, plan.bridges)
    bridges.build()
    bridge = bridge_on(acl("x", "").pattern)
    assert {bridge, marker_of("run", bridge.pattern)} <= cluster.state.bindings
    MemoryCluster.send(cluster, creations([acl("x", "User:stranger")]))
    run.environment.clock.sleep(0.9)
    assert bridge in cluster.state.bindings, "at most once a second"
    run.environment.clock.sleep(0.3)
    assert "User:stranger" in bridges.alarm
    # Each attempt sleeps longer than the one before, together more than a second: still it is one removal.
    assert len(cluster.refused) == (ATTEMPTS if stuck else 0)
    actions = [one["action"] for one in stage.journal if one["record"] == "bridges"]
    assert actions == ["create", "created", "remove", *(() if stuck else ("removed",))]
    assert (bridge in cluster.state.bindings) is stuck
    with pytest.raises(StoppedError, match="somebody else changed"):
        bridges.check()


class Failing(MemoryCluster):
    """Readings raise ``error`` where there is one."""

    error: Exception | None = None

    def read(self, request: ReadRequest) -> ClusterState:
        if self.error is not None:
            raise self.error
        return super().read(request)


@pytest.mark.parametrize(
    ("error", "alarm"),
    [
        (ClusterError("_TRANSPORT", "gone"), ""),
        (TypeError("bad"), "bridges could not be watched: TypeError: bad"),
        (MemoryError(), "bridges could not be watched: MemoryError"),
    ],
)
def test_a_reading_that_breaks_while_somebody_sleeps_stops_the_run_at_its_next_look(
    error: Exception, alarm: str
) -> None:
    """One that merely fails is made again before the next phase."""
    stage = Stage(OPEN, CLOSED)
    plan, cluster = stage.plan(), Failing(stage.cluster.state)
    world = ApplyEnvironment(cluster, StillClock(), Progress(), identity=Identity("run"), journal=stage)
    run = Run(plan, world, cluster.state, True)
    bridges = BridgeLifecycle(run, plan.bridges)
    bridges.build()
    cluster.error = error
    run.environment.clock.sleep(1.1)
    assert bridges.alarm == alarm
    cluster.error = TypeError("another") if alarm else None
    run.environment.clock.sleep(1.1)
    assert bridges.alarm == alarm, "the first reason counts"
    if alarm:
        with pytest.raises(StoppedError, match=alarm):
            bridges.check()
    else:
        bridges.check()
