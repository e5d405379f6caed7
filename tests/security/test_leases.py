"""Leases against whoever may write ACLs: a forged one locks nobody out for long, and names nobody else."""

import datetime

import pytest

from reconciler.apply.cleanup import leftovers
from reconciler.apply.environment import Identity, LeaseRequest, Progress
from reconciler.apply.lease import (
    GRACE,
    LONGEST,
    Lease,
    LeaseHeldError,
    active_claims,
    claims_now,
    lease_claims,
    marker,
)
from reconciler.apply.run import ApplyEnvironment, Run
from reconciler.cli.main import run
from reconciler.model.acl import AclBinding, ResourcePattern, ResourceType
from reconciler.model.state import ClusterState
from reconciler.parts.serve.cli import _options, _Records
from reconciler.snapshot.file import MemoryCluster
from tests.faults.scenario import before, plan_for, wish
from tests.property.clock import StillClock
from tests.security.test_break_glass import GIVEN, HOUR, Stage, give_now, stage

__all__ = ["stage"]

_NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def _claim(holder: str, seconds: float, run: str = "20260101T000000Z-aaaa") -> AclBinding:
    return marker(holder, run, _NOW + datetime.timedelta(seconds=seconds))


def _lease(cluster: MemoryCluster, *breaks: str) -> Lease:
    environment = ApplyEnvironment(cluster, StillClock(), Progress(), identity=Identity("own", "dana"))
    return Lease(Run(plan_for(before(1), wish(1)), environment, cluster.state, False), LeaseRequest("dana", breaks))


def _cluster(*bindings: AclBinding) -> MemoryCluster:
    return MemoryCluster(ClusterState("c", frozenset(bindings)))


def test_a_lease_until_the_year_2999_locks_nobody_out() -> None:
    """``__kr.lease.ops@ci.….29991231T000000Z``: no run writes such a lease, so an apply goes on."""
    forged = marker("ops@ci", "20260101T000000Z-aaaa", datetime.datetime(2999, 12, 31, tzinfo=datetime.UTC))
    cluster = _cluster(forged)
    assert active_claims(cluster.state, _NOW) == ()
    _lease(cluster).take()
    assert forged not in cluster.state.bindings


@pytest.mark.parametrize(("seconds", "counts"), [(LONGEST + GRACE, True), (LONGEST + GRACE + 1, False)])
def test_a_forged_lease_ends_within_the_longest_that_a_run_writes(seconds: float, counts: bool) -> None:
    """A lease counts up to the longest time that a run asks for, and never longer."""
    assert bool(active_claims(_cluster(_claim("ops", seconds)).state, _NOW)) is counts


def test_a_malformed_lease_locks_nobody_out_and_is_named_as_a_leftover() -> None:
    """``__kr.lease.x``: it names no run and no end, so it is no lease; cleanup finds it by its name."""
    name = "__kr.lease.x"
    forged = AclBinding(ResourcePattern(ResourceType.TOPIC, name), _claim("x", 1).entry)
    cluster = _cluster(forged)
    assert lease_claims(cluster.state.bindings) == ()
    _lease(cluster).take()
    found = [leftover for leftover in leftovers(cluster.state) if forged in leftover.bindings]
    assert [leftover.run for leftover in found] == [name]


def test_a_lease_of_a_principal_that_may_log_in_is_none() -> None:
    """The name of a lease on a binding of User:mallory: only the principal that nobody has can hold one."""
    true = _claim("ops", 60)
    forged = true._replace(entry=true.entry._replace(principal="User:mallory"))
    assert lease_claims([forged]) == ()


def test_several_forged_leases_are_named_at_once_and_broken_at_once() -> None:
    """Two well-formed leases of two holders: the refusal names both, and ``--break-lease`` given twice ends them."""
    cluster = _cluster(_claim("ops@ci", 60), _claim("x", 90, "20260101T000000Z-bbbb"))
    for breaks in ((), ("x",), ("ops@ci",)):
        with pytest.raises(LeaseHeldError) as refused:
            _lease(cluster, *breaks).take()
        assert {claim.holder for claim in refused.value.claims} == {"ops@ci", "x"} - set(breaks)
    _lease(cluster, "ops@ci", "x").take()
    assert [claim.holder for claim in lease_claims(cluster.state.bindings)] == ["dana"]


def test_the_time_is_asked_for_only_where_somebody_wrote_a_claim() -> None:
    """What the controller's clock decides is asked of it; a plan that finds no marker spares it the question."""
    asked = []

    class Asked(MemoryCluster):
        def controller_time(self) -> datetime.datetime | None:
            asked.append(self)
            return super().controller_time()

    cluster = Asked(_cluster().state)
    assert claims_now(cluster.state, cluster, StillClock()) == ()
    assert asked == []
    cluster = Asked(_cluster(_claim("ops", 60)).state)
    assert [claim.holder for claim in claims_now(cluster.state, cluster, StillClock())] == ["ops"]
    assert asked == [cluster]


def _held(stage: Stage, holder: str) -> AclBinding:
    held = marker(holder, "20260101T000000Z-0", datetime.datetime.now(datetime.UTC) + 2 * HOUR / 60)
    stage.write(held)
    return held


def test_a_dead_run_holds_up_no_emergency_for_long(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What takes away goes on beside its lease; what gives waits a little, and can break it as the refusal says."""
    monkeypatch.setattr("reconciler.parts.edit.cli.break_glass._GIVING", 0.1)
    monkeypatch.setattr("reconciler.parts.edit.cli.break_glass._ENDING", 0.1)
    held = _held(stage, "serve:dead")
    assert run(give_now(stage)) == 6
    assert "--break-lease serve:dead" in capsys.readouterr().err
    assert GIVEN not in stage.live()
    assert run(give_now(stage, "--break-lease", "serve:dead")) == 0
    assert GIVEN in stage.live()
    assert held not in stage.live()
    _held(stage, "serve:dead")
    where = ["--path", str(stage.manifests), "--cluster", stage.cluster]
    assert run(["break-glass", "revoke", "User:ops", "--yes", *where]) == 0
    assert GIVEN not in stage.live()


@pytest.mark.parametrize(("operator", "holder"), [("two", "serve:two"), ("serve:two", "serve:two")])
def test_a_servers_lease_has_the_name_that_its_operator_gave(operator: str, holder: str) -> None:
    options = _options("prod", _Records(True, None, operator, HOUR, None, None), None, None)
    assert options.apply.lease is not None
    assert options.apply.lease.holder == holder
    assert options.apply.lease.seconds < 60
