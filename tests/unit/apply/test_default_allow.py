"""Default-allow is observed by a difference on every broker, and a contradiction to the declaration refuses."""

from dataclasses import replace
from functools import partial

import pytest

from reconciler.apply.barrier import ProbeBarrier, ProbeSetup
from reconciler.apply.environment import Identity, Progress, Result, UnprovenError
from reconciler.apply.performing import perform
from reconciler.apply.preflight import UndeclaredDefaultError, check
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.acl import AclBinding, AclOperation, ResourceType
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.snapshot.file import MemoryCluster
from tests.faults.nodes import Nodes
from tests.faults.scenario import DAY
from tests.property.clock import StillClock
from tests.property.transitions import declared
from tests.worlds import acl

PROBE = "User:probe"
COVERED = acl("x", "User:a")


def apply(nodes: Nodes, wanted: set[AclBinding], said: bool | None) -> Result:
    cluster = nodes.cluster
    live = cluster.state
    request = Request(DAY, Options(allow_deletes=True))
    plan: Plan = propose(declared(frozenset(wanted), {}), live, Terms("c", default_allow=said), request)
    probing = ProbeSetup(nodes.as_user(PROBE), PROBE, nodes.as_user("User:ours"), seconds=1.0)
    world = ApplyEnvironment(
        cluster, StillClock(), Progress(), identity=Identity("run"), barrier=partial(ProbeBarrier, probing)
    )
    found = check(plan, live, plan.terms, observable=True)
    return perform(plan, live, found, world, lambda exact: check(plan, exact, plan.terms, observable=True))


def cluster_of(*bindings: AclBinding, default_allow: bool) -> Nodes:
    return Nodes(MemoryCluster(ClusterState("cluster", frozenset(bindings))), default_allow=default_allow)


def untouched(nodes: Nodes, *bindings: AclBinding) -> bool:
    return nodes.cluster.state.bindings == frozenset(bindings)


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("said", [True, False, None])
def test_a_declaration_is_held_against_every_broker(flag: bool, said: bool | None) -> None:
    nodes = cluster_of(COVERED, default_allow=flag)
    if said is not None and said is not flag:
        with pytest.raises(UnprovenError, match=f"allow.everyone.if.no.acl.found={str(flag).lower()}"):
            apply(nodes, {COVERED, acl("x", "User:b")}, said)
        assert untouched(nodes, COVERED)
        return
    assert apply(nodes, {COVERED, acl("x", "User:b")}, said).succeeded
    assert not any(is_reserved(binding.pattern.name) for binding in nodes.cluster.state.bindings)


def test_where_nobody_declared_it_the_observation_decides() -> None:
    closed = cluster_of(COVERED, default_allow=False)
    assert apply(closed, {COVERED, acl("y", "User:b")}, None).succeeded
    opened = cluster_of(COVERED, default_allow=True)
    with pytest.raises(UndeclaredDefaultError) as refused:
        apply(opened, {COVERED, acl("y", "User:b")}, None)
    assert refused.value.observed == "true"
    assert untouched(opened, COVERED)


@pytest.mark.parametrize(
    "hides",
    [
        acl("*", "User:a"),
        acl("*", "User:*", AclOperation.ALL),
    ],
)
@pytest.mark.parametrize("flag", [True, False])
def test_what_cannot_be_observed_is_not_guessed(hides: AclBinding, flag: bool) -> None:
    nodes = cluster_of(hides, default_allow=flag)
    for said in (True, False):
        assert apply(nodes, {hides, acl("x", "User:b")}, said).succeeded
        assert apply(nodes, {hides}, said).succeeded
    with pytest.raises(UndeclaredDefaultError) as refused:
        apply(nodes, {acl("x", "User:b"), hides, acl("g", "User:b", resource_type=ResourceType.GROUP)}, None)
    assert refused.value.observed is None


def test_brokers_that_disagree_show_nothing() -> None:
    nodes = cluster_of(COVERED, default_allow=False)
    nodes.otherwise = {2}
    with pytest.raises(UndeclaredDefaultError) as refused:
        apply(nodes, {COVERED, acl("y", "User:b")}, None)
    assert refused.value.observed is None


def test_a_probe_that_is_a_super_user_shows_nothing() -> None:
    nodes = cluster_of(COVERED, default_allow=False)
    nodes.super_users.add(PROBE)
    with pytest.raises(UnprovenError, match="a DENY for the probe"):
        apply(nodes, {COVERED, acl("x", "User:b")}, False)
    assert untouched(nodes, COVERED)


def test_a_snapshot_of_the_state_is_not_changed_by_looking() -> None:
    nodes = cluster_of(COVERED, default_allow=True)
    assert apply(nodes, {COVERED}, True).succeeded
    assert nodes.cluster.state == replace(nodes.cluster.state, bindings=frozenset({COVERED}))
