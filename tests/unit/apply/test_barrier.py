"""The barrier by a probe: nothing destructive before every node enforces what was sent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from reconciler.apply.barrier import ProbeBarrier, ProbeSetup
from reconciler.apply.environment import Identity, Outcome, Progress, Result, UnprovenError
from reconciler.apply.performing import perform
from reconciler.apply.preflight import StalePlanError, check
from reconciler.apply.run import ApplyEnvironment, Run
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, Origin
from reconciler.model.listing import Change, resource_of
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Plan
from reconciler.ports import CONTROLLER, Answer, AnswerStatus, ProbeAnswer, Visibility
from reconciler.snapshot.file import MemoryCluster
from tests.faults.nodes import Nodes, NodesProbe
from tests.faults.scenario import before, plan_for, wish
from tests.property.clock import StillClock
from tests.worlds import acl

PROBE, OURS = "User:probe", "User:ours"
PLACE = Origin("team.yaml", 1, 1)


class Stage:
    """A cluster in memory, its nodes, and a plan for it."""

    def __init__(self, *, default_allow: bool = False) -> None:
        covers = {acl("*", "User:z", resource_type=kind) for kind in (ResourceType.TOPIC, ResourceType.GROUP)}
        self.default_allow, covers = default_allow, covers if default_allow else set()
        self.live = replace(before(4), bindings=before(4).bindings | covers)
        desired = wish(4)
        self.desired = replace(desired, bindings={**desired.bindings, **dict.fromkeys(covers, Declaration(PLACE))})
        self.cluster = MemoryCluster(self.live)
        self.nodes = Nodes(self.cluster, default_allow=default_allow)
        self.plan = plan_for(self.live, self.desired, default_allow=default_allow)
        self.declared = frozenset({1, 2, 3})
        self.we_are, self.own_is_super = OURS, False
        self.clock = StillClock()
        self.interrupted: Callable[[], bool] = lambda: False
        self.journal: list[Mapping[str, Any]] = []
        self.barriers: list[ProbeBarrier] = []

    def write(self, *records: Mapping[str, Any]) -> None:
        self.journal.extend(records)

    def apply(self, plan: Plan | None = None) -> Result:
        plan = plan or self.plan
        probing = ProbeSetup(
            self.nodes.as_user(PROBE),
            PROBE,
            self.nodes.as_user(self.we_are),
            OURS,
            self.own_is_super,
            self.declared,
        )

        def barrier(run: Run) -> ProbeBarrier:
            self.barriers.append(ProbeBarrier(probing, run))
            return self.barriers[-1]

        world = ApplyEnvironment(
            self.cluster,
            self.clock,
            Progress(),
            self.interrupted,
            identity=Identity("run"),
            journal=self,
            barrier=barrier,
        )
        found = check(plan, self.live, plan.terms)
        return perform(plan, self.live, found, world, lambda exact: check(plan, exact, plan.terms))

    @property
    def reserved(self) -> list[AclBinding]:
        return [binding for binding in self.cluster.state.bindings if is_reserved(binding.pattern.name)]


@pytest.mark.parametrize("default_allow", [False, True])
def test_everything_is_done_and_no_sentinel_is_left(default_allow: bool) -> None:
    stage = Stage(default_allow=default_allow)
    result = stage.apply()
    assert result.succeeded, (result.stopped, result.differences)
    assert stage.reserved == []
    assert plan_for(stage.cluster.state, stage.desired).steps == ()
    assert not any(seconds >= 1 for seconds in stage.clock.slept), "nothing waits longer than it has to"


def test_at_the_deadline_a_node_that_does_not_answer_is_not_asked_again() -> None:
    stage = Stage()
    stage.nodes.down = {2}
    probe = stage.nodes.as_user(PROBE)
    setup = ProbeSetup(probe, PROBE, stage.nodes.as_user(OURS), seconds=0.0)
    world = ApplyEnvironment(stage.cluster, stage.clock, Progress(), identity=Identity("run"))
    barrier = ProbeBarrier(setup, Run(stage.plan, world, stage.live, False))
    barrier.start()
    assert probe.asked.count(("__kr.run.start", 2)) == 1
    assert stage.clock.slept == []
    assert barrier.started == {1, 3, CONTROLLER}


@pytest.mark.parametrize("kept", [0, 1, 3])
def test_at_its_end_a_barrier_has_placed_what_could_not_be_removed(kept: int) -> None:
    """Of what is gone nothing is looked for any more, and nothing is removed twice."""
    stage = Stage()

    class KeepingCluster(MemoryCluster):
        def send(self, changes: Sequence[Change]) -> list[Answer]:
            stay = sorted(stage.barriers[-1].placed)[:kept] if deleted_bindings(changes) else []
            gone = iter(super().send([change for change in changes if resource_of(change) not in stay]))
            refused = Answer(AnswerStatus.FAILED, "REFUSED", "no")
            return [refused if resource_of(change) in stay else next(gone) for change in changes]

    stage.cluster = stage.nodes.cluster = KeepingCluster(stage.live)
    result = stage.apply()
    (barrier,) = stage.barriers
    assert sorted(barrier.placed) == sorted(stage.reserved)
    assert len(stage.reserved) == kept
    assert result.succeeded is (kept == 0)


@pytest.mark.parametrize("node", [1, 3, CONTROLLER])
@pytest.mark.parametrize("how", ["stuck", "down"])
@pytest.mark.parametrize("default_allow", [False, True])
def test_a_node_that_does_not_enforce_stops_what_relies_on_it(node: int, how: str, default_allow: bool) -> None:
    stage = Stage(default_allow=default_allow)
    if how == "down":
        stage.nodes.down.add(node)
    else:
        stage.nodes.stick(node)
    result = stage.apply()
    assert not result.succeeded
    named = "the active controller" if node == CONTROLLER else f"broker {node}"
    assert named in result.stopped
    assert {item.outcome for item in result.outcomes if item.step.phase <= Phase.CREATE_ALLOW} == {Outcome.DONE}
    assert {item.outcome for item in result.outcomes if item.step.phase > Phase.CREATE_ALLOW} == {Outcome.NOT_ATTEMPTED}
    assert stage.live.bindings <= stage.cluster.state.bindings, "nothing was deleted"
    assert stage.reserved == []


def test_a_broker_that_the_cluster_does_not_name_is_waited_for_where_it_is_declared() -> None:
    stage = Stage()
    stage.nodes.named, stage.nodes.down = {1, 2}, {3}
    assert "broker 3 (_TIMED_OUT: down)" in stage.apply().stopped
    stage.declared = frozenset()
    assert stage.apply().succeeded


def test_a_broker_that_gets_stuck_meanwhile_is_found_at_the_next_barrier() -> None:
    stage = Stage()

    class StickingCluster(MemoryCluster):
        def send(self, changes: Sequence[Change]) -> list[Answer]:
            if resource_of(changes[0]).pattern.name == "__kr.run.1":
                stage.nodes.stick(2)
            return super().send(changes)

    stage.cluster = stage.nodes.cluster = StickingCluster(stage.live)
    result = stage.apply()
    assert "broker 2 (still permitted, by ACLs of before)" in result.stopped
    assert stage.live.bindings <= stage.cluster.state.bindings


@pytest.mark.parametrize("principal", [PROBE, "User:*"])
@pytest.mark.parametrize(("name", "covers"), [("*", True), ("__k", True), ("_", True), ("__kr.x", False), ("a", False)])
def test_a_deny_that_would_answer_instead_of_ours_is_refused(principal: str, name: str, covers: bool) -> None:
    stage = Stage()
    kind = PatternType.LITERAL if name == "*" else PatternType.PREFIXED
    entry = AccessControlEntry(principal, "*", AclOperation.ALL, AclPermissionType.DENY)
    deny = AclBinding(ResourcePattern(ResourceType.TOPIC, name, kind), entry)
    stage.live = replace(stage.live, bindings=stage.live.bindings | {deny})
    stage.cluster = stage.nodes.cluster = MemoryCluster(stage.live)
    if not covers:
        assert not stage.apply(plan_for(stage.live, wish(4))).stopped
        return
    with pytest.raises(UnprovenError, match="mean nothing"):
        stage.apply(plan_for(stage.live, wish(4)))
    assert stage.reserved == []


@pytest.mark.parametrize(
    ("we_are", "declared_super", "really_super", "disproof"),
    [
        (OURS, False, False, ""),
        (OURS, True, True, ""),
        ("User:other", False, False, "an ALLOW for User:ours does not permit us anything, so we are somebody else"),
        ("User:other", False, True, "a DENY for User:ours does not refuse us"),
        (OURS, False, True, "a DENY for User:ours does not refuse us"),
        (OURS, True, False, "ACLs decide what we may do, so we are not the super user User:ours"),
    ],
)
def test_who_we_are_is_proven(we_are: str, declared_super: bool, really_super: bool, disproof: str) -> None:
    stage = Stage()
    stage.we_are, stage.own_is_super = we_are, declared_super
    if really_super:
        stage.nodes.super_users.add(we_are)
    if not disproof:
        assert stage.apply().succeeded
        return
    with pytest.raises(UnprovenError, match=f"^{disproof}"):
        stage.apply()
    assert stage.cluster.state.bindings == stage.live.bindings, "not even a sentinel is left"


def test_what_changed_while_a_person_was_asked_is_found_by_the_exact_reading() -> None:
    stage = Stage()
    topic = stage.cluster.state.topics["kept0"]
    moved = {**stage.live.topics, "kept0": replace(topic, num_partitions=7)}
    stage.cluster = MemoryCluster(replace(stage.live, topics=moved))
    stage.nodes.cluster = stage.cluster
    with pytest.raises(StalePlanError):
        stage.apply()
    assert stage.cluster.state.bindings == stage.live.bindings


def test_a_refusal_is_written_down_as_the_end_of_the_run() -> None:
    stage = Stage()
    stage.we_are = "User:other"
    with pytest.raises(UnprovenError):
        stage.apply()
    assert [record["record"] for record in stage.journal] == ["run", "end"]
    assert "somebody else" in stage.journal[-1]["stopped"]


@pytest.mark.parametrize(("seconds", "sent"), [(3, 0), (32, 1)])
def test_an_interruption_ends_the_waiting_and_says_so(seconds: int, sent: int) -> None:
    """At the start, and at the first barrier, which comes once the start has given up."""
    stage = Stage()
    stage.nodes.stick(2)
    stage.interrupted = lambda: stage.clock.seconds > seconds
    result = stage.apply()
    assert result.interrupted
    assert ("interrupted while waiting" in result.stopped) == bool(sent)
    assert bool(result.count(Outcome.DONE)) == bool(sent)
    assert stage.clock.seconds < seconds + 2
    assert stage.live.bindings <= stage.cluster.state.bindings
    assert stage.reserved == []


def test_sentinels_of_another_run_are_no_foreign_change() -> None:
    stage = Stage()
    old = acl("__kr.old.1", PROBE, AclOperation.DESCRIBE_CONFIGS, AclPermissionType.DENY)
    stage.cluster = MemoryCluster(ClusterState("cluster", stage.live.bindings | {old}, stage.live.topics))
    stage.nodes.cluster = stage.cluster
    assert stage.apply().succeeded
    assert stage.reserved == [old]


class Foreign(Nodes):
    """Another authorizer decides, whatever ACLs say: it refuses or permits everything."""

    says = Visibility.REFUSED

    def as_user(self, principal: str) -> NodesProbe:
        nodes = self

        class Deaf(NodesProbe):
            def _answer(self, topic: str, node: int) -> ProbeAnswer:
                silent = node in nodes.down
                return ProbeAnswer(Visibility.SILENT if silent else nodes.says)

        return Deaf(self, principal)


@pytest.mark.parametrize(("says", "effect"), [(Visibility.REFUSED, "an ALLOW"), (Visibility.PERMITTED, "a DENY")])
def test_where_acls_are_stored_and_do_not_decide_nothing_is_sent(says: Visibility, effect: str) -> None:
    stage = Stage()
    stage.nodes = Foreign(stage.cluster)
    stage.nodes.says = says
    with pytest.raises(UnprovenError, match=f"ACLs are stored here and do not decide: {effect} for the probe"):
        stage.apply()
    assert stage.cluster.state.bindings == stage.live.bindings, "nothing of the plan was sent, and no canary is left"


def test_a_probe_that_is_an_undeclared_super_user_proves_nothing() -> None:
    stage = Stage()
    stage.nodes.super_users.add(PROBE)
    with pytest.raises(UnprovenError, match="a DENY for the probe") as unproven:
        stage.apply()
    assert "super user" in unproven.value.advice
    assert stage.cluster.state.bindings == stage.live.bindings


def test_one_node_that_does_not_answer_is_no_proof_of_a_foreign_authorizer() -> None:
    stage = Stage()
    stage.nodes = Foreign(stage.cluster)
    stage.nodes.down.add(2)
    assert "broker 2" in stage.apply().stopped


def test_one_node_that_enforces_is_proof_that_acls_decide() -> None:
    stage = Stage()
    for node in (1, 2, CONTROLLER):
        stage.nodes.stick(node)
    assert "not every node enforces" in stage.apply().stopped
