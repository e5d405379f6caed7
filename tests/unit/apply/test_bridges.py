"""Bridges while an apply runs: built before it, watched, taken away behind it, and whatever cuts it off, finished."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from reconciler.adapters.snapshot import MemoryCluster
from reconciler.apply import (
    ApplyEnvironment,
    Identity,
    ProbeBarrier,
    ProbeSetup,
    Progress,
    Result,
    Silent,
    check,
    perform,
)
from reconciler.apply.bridges import BridgeLifecycle
from reconciler.apply.cleanup import clean_up
from reconciler.apply.leftovers import leftovers
from reconciler.apply.run import Run, StoppedError
from reconciler.diff import SkipReason
from reconciler.model import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    Change,
    ClusterState,
    Create,
    ResourcePattern,
    ResourceType,
    Topic,
    bridge_on,
    is_reserved,
    marker_of,
    standing_bridges,
)
from reconciler.plan import Facts, GuardAcknowledgement, Options, Plan, Request, Terms, deleted_bindings, propose
from reconciler.plan.phase import Phase
from reconciler.ports import Answer, AnswerStatus, ClusterError, ReadRequest
from reconciler.retry import ATTEMPTS
from tests.contract.faults import Fault, FaultyCluster
from tests.faults.nodes import Nodes
from tests.faults.scenario import DAY, acl
from tests.property.clock import StillClock
from tests.property.naive import Ask, permitted
from tests.property.transitions import declared
from tests.verbs import creations, deletions

PROBE = "User:probe"
DENY = AclPermissionType.DENY
TERMS = Terms("c", default_allow=True, probe=PROBE)


class Recording(MemoryCluster):
    """Keeps every state that anybody could have seen, and calls ``between`` behind each of them."""

    def __init__(self, state: ClusterState) -> None:
        super().__init__(state)
        self.history = [state.bindings]
        self.between: Callable[[], None] = lambda: None
        self.readable = True

    def read(self, request: ReadRequest) -> ClusterState:
        if not self.readable:
            raise ClusterError("_TRANSPORT", "gone")
        return super().read(request)

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        answers: list[Answer] = []
        # A broker shows one creation after the other.
        for part in [[change] for change in changes] if isinstance(changes[0], Create) else [changes]:
            answers += super().send(part)
            self.history.append(self.state.bindings)
        self.between()
        return answers


@dataclass
class Stage:
    """A cluster with default-allow, what it has, and what is wanted of it."""

    live: frozenset[AclBinding]
    wanted: frozenset[AclBinding]
    topics: Collection[str] = ()
    terms: Terms = TERMS
    default_allow: bool = True
    run: str = "run"
    faults: Sequence[Fault] = ()
    clock: StillClock = field(default_factory=StillClock)
    interrupted: Callable[[], bool] = lambda: False
    progress: Progress = field(default_factory=Silent)
    journal: list[Mapping[str, Any]] = field(default_factory=list)
    cluster: Recording = field(init=False)
    nodes: Nodes = field(init=False)

    def __post_init__(self) -> None:
        topics = {name: Topic(name, 1, 1) for name in self.topics}
        self.cluster = Recording(ClusterState("cluster", self.live, topics))
        self.nodes = Nodes(self.cluster, default_allow=self.default_allow)

    def write(self, *records: Mapping[str, Any]) -> None:
        self.journal.extend(records)

    def plan(self) -> Plan:
        """The plan, with everything acknowledged that a guard asks about."""
        state, request = self.cluster.read(ReadRequest()), Request(DAY, Options(allow_deletes=True))
        asked = propose(declared(self.wanted, {}), state, self.terms, request).refusals
        words = tuple(GuardAcknowledgement(refusal.guard, refusal.object) for refusal in asked)
        return propose(declared(self.wanted, {}), state, self.terms, replace(request, acknowledgements=words))

    def apply(self, plan: Plan | None = None) -> Result:
        made = plan or self.plan()
        live = self.cluster.read(ReadRequest())
        probing = ProbeSetup(self.nodes.as_user(PROBE), PROBE, self.nodes.as_user("User:ours"), seconds=1.0)
        world = ApplyEnvironment(
            FaultyCluster(self.cluster, self.faults),
            self.clock,
            self.progress,
            self.interrupted,
            identity=Identity(self.run),
            journal=self,
            barrier=partial(ProbeBarrier, probing),
            max_batch=2,
        )
        found = check(made, live, self.terms, observable=True)
        return perform(made, live, found, world, lambda exact: check(made, exact, self.terms, observable=True))

    @property
    def bindings(self) -> frozenset[AclBinding]:
        return self.cluster.state.bindings

    def violations(self, asks: Collection[Ask]) -> list[tuple[str, Ask]]:
        """What some state on the way permitted although neither end does, or refused although both permit it."""
        found = []
        before, after = self.live, self.wanted
        for ask in asks:
            ends = [permitted(side, ask, default_allow=self.default_allow) for side in (before, after)]
            for state in self.cluster.history:
                now = permitted(state, ask, default_allow=self.default_allow)
                if now not in ends:
                    found.append(("leak" if now else "cut", ask))
        return found


def asks(*names: str, resource_type: ResourceType = ResourceType.TOPIC) -> list[Ask]:
    return [
        Ask(f"User:{user}", "10.0.0.1", operation, resource_type, name)
        for user in ("a", "b", "stranger")
        for operation in (AclOperation.READ, AclOperation.WRITE)
        for name in names
    ]


CLOSED = frozenset(
    {acl("x", "User:a"), acl("x", "User:b"), acl("x", "User:b", AclOperation.WRITE, DENY), acl("other", "User:z")}
)
OPEN = frozenset({acl("other", "User:z")})


@pytest.mark.parametrize(("live", "wanted"), [(OPEN, CLOSED), (CLOSED, OPEN)])
def test_closing_and_opening_a_resource_refuse_nobody_whom_both_states_permit(
    live: frozenset[AclBinding], wanted: frozenset[AclBinding]
) -> None:
    stage = Stage(live, wanted)
    result = stage.apply()
    assert result.succeeded, (result.stopped, result.differences)
    assert result.notes == ()
    assert stage.bindings == wanted, "neither bridge nor marker is left"
    assert stage.violations(asks("x")) == []
    assert [record["action"] for record in stage.journal if record["record"] == "bridges"] == [
        "create",
        "created",
        "remove",
        "removed",
    ]


def test_the_run_s_own_sentinels_keep_no_pattern_from_being_bridged() -> None:
    """A pattern on every name shares names with them, and nobody asks for those."""
    stage = Stage(frozenset(), frozenset({acl("*", "User:a"), acl("*", "User:a", permission=DENY)}))
    result = stage.apply()
    assert result.succeeded, (result.stopped, result.differences)
    assert result.notes == ()
    assert stage.violations(asks("xa")) == []


@pytest.mark.parametrize(("live", "wanted"), [(OPEN, CLOSED), (CLOSED, OPEN)])
def test_without_an_observation_there_is_no_bridge_and_the_result_says_whom_it_may_have_interrupted(
    live: frozenset[AclBinding], wanted: frozenset[AclBinding]
) -> None:
    hides = acl("*", "User:z", resource_type=ResourceType.GROUP)
    stage = Stage(live | {hides}, wanted | {hides})
    stage.nodes.otherwise = {2}  # brokers disagree
    result = stage.apply()
    assert not any(bridge_on(acl("x", "").pattern) in state for state in stage.cluster.history)
    assert result.succeeded
    assert len(result.notes) == 1
    assert "TOPIC x: User:a, User:b may have been refused" in result.notes[0]
    assert {kind for kind, _ in stage.violations(asks("x"))} == {"cut"}


def test_a_bridge_is_never_seen_without_its_marker() -> None:
    stage = Stage(OPEN, CLOSED)
    stage.apply()
    bridge = bridge_on(acl("x", "").pattern)
    seen = [state for state in stage.cluster.history if bridge in state]
    assert seen
    assert all(bridge in standing_bridges(state) for state in seen)


def test_default_deny_gets_no_bridge_whatever_is_declared() -> None:
    stage = Stage(OPEN, CLOSED, terms=replace(TERMS, default_allow=False), default_allow=False)
    assert stage.apply().succeeded
    assert not any(standing_bridges(state) for state in stage.cluster.history)


def test_existing_names_under_a_partly_covered_pattern_are_bridged_one_by_one() -> None:
    live = frozenset({acl("pay-x", "User:z")})
    wanted = frozenset({acl("pay-x", "User:z"), acl("pay-", "User:a"), acl("pay-", "User:b", AclOperation.ALL, DENY)})
    stage = Stage(live, wanted, topics=("pay-1", "pay-2", "pay-x", "else"))
    plan = stage.plan()
    assert {bridge.pattern.name for bridge in plan.bridges.wanted} == {"pay-1", "pay-2"}
    assert [(item.pattern.name, item.principals) for item in plan.bridges.unbridged] == [("pay-", ("User:a",))]
    result = stage.apply(plan)
    assert result.succeeded
    assert stage.bindings == wanted
    assert stage.violations(asks("pay-1", "pay-2", "pay-x")) == []
    assert "names that do not exist yet" in result.notes[0]


@pytest.mark.parametrize("closing", [True, False])
def test_the_very_binding_needs_no_bridge_and_comes_first_or_goes_last(closing: bool) -> None:
    own = bridge_on(acl("x", "").pattern)
    more = {own, acl("x", "User:b", AclOperation.WRITE, DENY)}
    sides = OPEN, OPEN | more
    stage = Stage(*(sides if closing else sides[::-1]))
    assert stage.apply().succeeded
    assert stage.bindings == sides[1 if closing else 0]
    assert stage.violations(asks("x")) == []
    marked = {b.pattern.name for state in stage.cluster.history for b in state if ".bridge." in b.pattern.name}
    assert marked == set()


def test_the_very_binding_stays_where_another_one_that_should_go_does_not() -> None:
    own, grant = bridge_on(acl("x", "").pattern), acl("x", "User:b")
    never = Fault("DeleteAcl", grant, Answer(AnswerStatus.FAILED, "POLICY_VIOLATION", "no"), times=99)
    stage = Stage(OPEN | {own, grant}, OPEN, faults=[never])
    result = stage.apply()
    assert {str(item.outcome) for item in result.outcomes} == {"failed", "blocked"}
    assert stage.bindings == OPEN | {own, grant}
    assert stage.violations(asks("x")) == []


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


NO = Answer(AnswerStatus.FAILED, "POLICY_VIOLATION", "no")


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


@pytest.mark.parametrize("said", [False, None])
def test_where_default_allow_is_not_declared_on_what_is_marked_as_a_bridge_goes_as_a_grant(said: bool | None) -> None:
    pattern = acl("x", "").pattern
    left = {bridge_on(pattern), marker_of("dead", pattern)}
    terms = replace(TERMS, default_allow=said)
    stage = Stage(OPEN | left, OPEN | {acl("x", "User:a")}, terms=terms, default_allow=False)
    plan = stage.plan()
    assert bridge_on(pattern) in deleted_bindings(step.change for step in plan.steps)
    assert [left.reason for left in plan.skipped] == [SkipReason.LEFTOVER], "the marker"
    assert stage.apply(plan).succeeded
    assert stage.bindings == OPEN | {acl("x", "User:a"), marker_of("dead", pattern)}


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


CLUSTER = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")


def _on_cluster(principal: str, operation: AclOperation, permission: AclPermissionType | None = None) -> AclBinding:
    binding = acl("kafka-cluster", principal, operation, permission or AclPermissionType.ALLOW)
    return AclBinding(CLUSTER, binding.entry)


@pytest.mark.parametrize("closing", [True, False])
def test_on_the_cluster_what_we_and_brokers_need_comes_first_and_goes_last(closing: bool) -> None:
    ours = {_on_cluster("User:ours", AclOperation.ALTER), _on_cluster("User:broker", AclOperation.CLUSTER_ACTION)}
    others = {_on_cluster("User:b", AclOperation.ALTER, DENY), _on_cluster("User:a", AclOperation.DESCRIBE)}
    sides = OPEN, OPEN | ours | others
    facts = Facts(principal="User:ours", inter_broker_principals=("User:broker",))
    stage = Stage(*(sides if closing else sides[::-1]), terms=replace(TERMS, facts=facts))
    plan = stage.plan()
    first, last = plan.steps[0], plan.steps[-1]
    outer = Phase.CREATE_FIRST if closing else Phase.DELETE_LAST
    assert [step.phase for step in plan.steps].count(outer) == 2
    assert (first if closing else last).phase is outer
    assert plan.bridges.wanted == ()
    assert "never bridged" in plan.bridges.unbridged[0].reason
    assert stage.apply(plan).succeeded
    for principal, operation in (("User:ours", AclOperation.ALTER), ("User:broker", AclOperation.CLUSTER_ACTION)):
        ask = Ask(principal, "10.0.0.1", operation, ResourceType.CLUSTER, "kafka-cluster")
        whole = [state for state in stage.cluster.history if len(state & ours) in (0, 2)]
        assert all(permitted(state, ask, default_allow=True) for state in whole)


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
    world = ApplyEnvironment(cluster, clock, Silent(), identity=Identity("run"), journal=stage)
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
