"""Sweeping: what is on reserved names goes, whoever left it, and nothing else does."""

import datetime
from collections.abc import Sequence

import pytest

from reconciler.apply.barrier import barrier_name, deny_probe_acls, start_probe_acls
from reconciler.apply.cleanup import clean_up, leftovers
from reconciler.apply.lease import marker
from reconciler.model.listing import Change
from reconciler.model.markers import bridge_on, marker_of
from reconciler.model.state import ClusterState
from reconciler.ports import Answer, AnswerStatus, ClusterError
from reconciler.snapshot.file import MemoryCluster
from tests.contract.faults import Effect, Fault, FaultyCluster
from tests.property.clock import StillClock
from tests.worlds import acl

OLD = (
    *start_probe_acls("20260101T000000Z-a", "User:p"),
    *deny_probe_acls(barrier_name("20260101T000000Z-a", 1), "User:p"),
)
NEW = start_probe_acls("20260102T000000Z-b", "User:p")
OTHERS = {acl("__consumer", "User:x"), acl("x", "User:p"), acl("__kr", "User:p")}
LIVE = ClusterState("cluster", frozenset({*OLD, *NEW, *OTHERS}))


def test_leftovers_are_told_apart_by_run() -> None:
    found = leftovers(LIVE)
    assert [leftover.run for leftover in found] == ["20260101T000000Z-a", "20260102T000000Z-b"]
    assert [set(leftover.bindings) for leftover in found] == [set(OLD), set(NEW)]


def test_only_what_was_asked_for_goes() -> None:
    cluster = MemoryCluster(LIVE)
    assert clean_up(cluster, leftovers(LIVE)[:1], StillClock()) == ()
    assert cluster.state.bindings == {*NEW, *OTHERS}


def test_what_could_not_be_removed_is_told_and_what_was_unknown_is_read_again() -> None:
    never = Answer(AnswerStatus.FAILED, "CLUSTER_AUTHORIZATION_FAILED", "no")
    faults = [Fault("DeleteAcl", OLD[0], never, times=99), Fault("DeleteAcl", OLD[1], effect=Effect.NOW)]
    cluster = MemoryCluster(LIVE)
    assert clean_up(FaultyCluster(cluster, faults), leftovers(LIVE), StillClock()) == (OLD[0],)
    assert cluster.state.bindings == {OLD[0], *OTHERS}


def test_a_bridge_goes_only_where_its_marker_stands_and_no_other_run_needs_it() -> None:
    own, shared, meant = (acl(name, "").pattern for name in ("own", "shared", "meant"))
    marks = {marker_of("a", own), marker_of("a", shared), marker_of("a", acl("gone", "").pattern)}
    other = marker_of("b", shared)
    bridges = {bridge_on(pattern) for pattern in (own, shared, meant)}
    cluster = MemoryCluster(ClusterState("cluster", frozenset({*marks, other, *bridges})))
    found = leftovers(cluster.state)
    assert [(leftover.run, leftover.bridges) for leftover in found] == [("a", (bridge_on(own),)), ("b", ())]
    assert clean_up(cluster, found[:1], StillClock()) == ()
    assert cluster.state.bindings == {other, bridge_on(shared), bridge_on(meant)}


def test_a_marker_stays_as_long_as_its_bridge_does() -> None:
    pattern = acl("x", "").pattern
    live = ClusterState("cluster", frozenset({marker_of("a", pattern), bridge_on(pattern)}))
    never = Answer(AnswerStatus.FAILED, "CLUSTER_AUTHORIZATION_FAILED", "no")
    cluster = MemoryCluster(live)
    faults = [Fault("DeleteAcl", bridge_on(pattern), never, times=99)]
    assert set(clean_up(FaultyCluster(cluster, faults), leftovers(live), StillClock())) == live.bindings
    assert cluster.state == live


@pytest.mark.parametrize("stuck", [True, False])
def test_what_is_told_to_be_left_is_of_the_runs_that_were_asked_for(stuck: bool) -> None:
    """Another run's bridges and markers stay, and are nothing that could not be removed."""
    own, other = acl("own", "").pattern, acl("other", "").pattern
    of_other = {marker_of("b", other), bridge_on(other)}
    ours = {marker_of("a", own), bridge_on(own)}
    live = ClusterState("cluster", frozenset({*ours, *of_other, *OTHERS}))
    cluster = MemoryCluster(live)
    never = Answer(AnswerStatus.FAILED, "CLUSTER_AUTHORIZATION_FAILED", "no")
    faults = [Fault("DeleteAcl", one, never, times=99) for one in ours] if stuck else []
    found = [leftover for leftover in leftovers(live) if leftover.run == "a"]
    assert clean_up(FaultyCluster(cluster, faults), found, StillClock()) == (tuple(sorted(ours)) if stuck else ())
    assert cluster.state.bindings == {*of_other, *OTHERS, *(ours if stuck else ())}


def test_only_the_marker_of_a_bridge_that_stays_stays_with_it() -> None:
    stuck, free = acl("stuck", "").pattern, acl("free", "").pattern
    stay = {marker_of("a", stuck), bridge_on(stuck)}
    live = ClusterState("cluster", frozenset({*stay, marker_of("a", free), bridge_on(free), *OTHERS}))
    never = Answer(AnswerStatus.FAILED, "CLUSTER_AUTHORIZATION_FAILED", "no")
    cluster = MemoryCluster(live)
    faults = [Fault("DeleteAcl", bridge_on(stuck), never, times=99)]
    assert set(clean_up(FaultyCluster(cluster, faults), leftovers(live), StillClock())) == stay
    assert cluster.state.bindings == {*stay, *OTHERS}


def test_a_request_that_fails_as_a_whole_is_repeated() -> None:
    class Flaky(MemoryCluster):
        failures = 2

        def send(self, changes: Sequence[Change]) -> list[Answer]:
            if self.failures:
                self.failures -= 1
                raise ClusterError("_TRANSPORT", "gone")
            return super().send(changes)

    assert clean_up(Flaky(LIVE), leftovers(LIVE), StillClock()) == ()


def test_a_run_that_holds_the_lease_is_told_apart_until_it_expires() -> None:
    began = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    kept = (marker("dana@x.y", "20260101T000000Z-a", began + datetime.timedelta(minutes=3)), *OLD)
    live = ClusterState("cluster", frozenset({*kept, *NEW}))
    first, second = leftovers(live)
    assert set(first.bindings) == set(kept)
    assert first.going_on(began)
    assert first.going_on(began + datetime.timedelta(minutes=3))
    assert not first.going_on(began + datetime.timedelta(hours=1))
    assert not second.going_on(began), "a run does not begin tomorrow"
    assert second.going_on(began + datetime.timedelta(days=1, minutes=5))
    assert not second.going_on(began + datetime.timedelta(days=1, minutes=11))
