"""Bridges of an apply that fails, is interrupted or is killed: removed, or named and finished by another run."""

import pytest

from reconciler.apply.cleanup import clean_up, leftovers
from reconciler.model.acl import AclBinding
from reconciler.model.markers import bridge_on, standing_bridges
from reconciler.model.scope import is_reserved
from tests.contract.faults import Fault
from tests.property.clock import StillClock
from tests.unit.apply.bridge_stage import CLOSED, NO, OPEN, Stage, asks
from tests.worlds import acl


def test_a_bridge_that_keeps_somebody_in_stays_and_is_named_and_cleanup_finishes() -> None:
    stage = Stage(OPEN, CLOSED, faults=[Fault("CreateAcl", acl("x", "User:b"), NO)])
    result = stage.apply()
    assert not result.succeeded
    assert any("the bridge on TOPIC x is still there" in text and "cleanup" in text for text in result.differences)
    assert standing_bridges(stage.bindings) == {bridge_on(acl("x", "").pattern)}
    assert stage.violations(asks("x")) == []
    found = leftovers(stage.cluster.state)
    assert [leftover.run for leftover in found] == ["run"]
    assert found[0].bridges == (bridge_on(acl("x", "").pattern),)
    assert clean_up(stage.cluster, found, StillClock()) == ()
    assert stage.bindings == CLOSED - {acl("x", "User:b")}


def test_a_bridge_that_keeps_nobody_in_goes_after_a_failure() -> None:
    elsewhere = acl("y", "User:a")
    stage = Stage(OPEN, CLOSED | {elsewhere}, faults=[Fault("CreateAcl", elsewhere, NO)])
    result = stage.apply()
    assert not result.succeeded
    assert not any("bridge" in text for text in result.differences)
    assert stage.bindings == CLOSED


@pytest.mark.parametrize(("after", "stands"), [(0, False), (4, True)])
def test_an_interruption_leaves_a_bridge_only_where_it_keeps_somebody_in(after: int, stands: bool) -> None:
    stage = Stage(OPEN, CLOSED | {acl("x", f"User:{number}") for number in range(9)})

    asked_to_stop = False

    def interrupted() -> bool:
        nonlocal asked_to_stop
        begun = bool(standing_bridges(stage.bindings)) and len(stage.bindings & stage.wanted - stage.live) >= after
        asked_to_stop = asked_to_stop or begun
        return asked_to_stop

    stage.interrupted = interrupted
    result = stage.apply()
    assert result.interrupted
    assert bool(standing_bridges(stage.bindings)) is stands
    assert any("is still there" in text for text in result.differences) is stands
    assert [kind for kind, _ in stage.violations(asks("x"))] == []


def test_a_bridge_that_cannot_be_created_stops_the_run_before_its_first_step() -> None:
    bridge = bridge_on(acl("x", "").pattern)
    stage = Stage(OPEN, CLOSED, faults=[Fault("CreateAcl", bridge, NO, times=99)])
    result = stage.apply()
    assert "bridges could not be created" in result.stopped
    assert stage.bindings == OPEN


class _Killed(BaseException):
    """What no handler of the product catches."""


def _kill_points(live: frozenset[AclBinding], wanted: frozenset[AclBinding]) -> int:
    stage = Stage(live, wanted)
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    stage.cluster.between = count
    assert stage.apply().succeeded
    return calls


@pytest.mark.parametrize("way", ["apply", "cleanup"])
@pytest.mark.parametrize(("live", "wanted"), [(OPEN, CLOSED), (CLOSED, OPEN)])
def test_killed_behind_any_request_another_machine_finishes(
    live: frozenset[AclBinding], wanted: frozenset[AclBinding], way: str
) -> None:
    points = _kill_points(live, wanted)
    assert points > 8
    for point in range(points):
        stage = Stage(live, wanted)
        plan = stage.plan()
        left = [point]

        def kill(left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise _Killed

        stage.cluster.between = kill
        with pytest.raises(_Killed):
            stage.apply(plan)
        stage.cluster.between = lambda: None
        if way == "cleanup":
            assert clean_up(stage.cluster, leftovers(stage.cluster.state), StillClock()) == ()
            assert not any(is_reserved(binding.pattern.name) for binding in stage.bindings)
            assert not standing_bridges(stage.bindings)
            assert stage.bindings <= live | wanted
        stage.run = "second"
        result = stage.apply(plan)
        assert result.succeeded, (point, result.stopped, result.differences)
        assert standing_bridges(stage.bindings) == set(), point
        assert {b for b in stage.bindings if not is_reserved(b.pattern.name)} == wanted, point
        assert {kind for kind, _ in stage.violations(asks("x"))} <= ({"cut"} if way == "cleanup" else set()), point


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize(("live", "wanted"), [(OPEN, CLOSED), (CLOSED, OPEN)])
def test_broken_behind_any_request_a_run_removes_its_bridges_or_names_them(
    live: frozenset[AclBinding], wanted: frozenset[AclBinding], lasting: bool
) -> None:
    for point in range(_kill_points(live, wanted)):
        stage = Stage(live, wanted)
        plan = stage.plan()
        calls = 0

        def broken(point: int = point) -> None:
            nonlocal calls
            calls += 1
            if calls == point + 1 or (lasting and calls > point):
                raise TypeError("broken")

        stage.cluster.between = broken
        try:
            result = stage.apply(plan)
        except TypeError:
            assert {b for b in stage.bindings if not is_reserved(b.pattern.name)} == live, point
        else:
            assert result.stopped or result.differences or not lasting, point
            assert not result.succeeded or stage.bindings == wanted, point
            named = any("is still there" in text for text in result.differences)
            assert named or not standing_bridges(stage.bindings), point
        assert lasting or not {b for b in stage.bindings if is_reserved(b.pattern.name)} or named, point
        assert stage.journal[-1]["record"] == "end", point
        stage.cluster.between, stage.run = lambda: None, "second"
        result = stage.apply(plan)
        assert result.succeeded, (point, result.stopped, result.differences)
        assert {kind for kind, _ in stage.violations(asks("x"))} == set(), point
