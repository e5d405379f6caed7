"""An apply while things go wrong: retries, unknown outcomes, other people, interruption, barriers."""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from reconciler.apply.environment import Outcome, Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import RefusedError, StalePlanError, UndeclaredDefaultError, check
from reconciler.apply.run import FOREIGN_SECONDS, ApplyEnvironment
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Control, DesiredState, DesiredTopic, Expiry, Origin, read_moment
from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.guards import DeleteLimits
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.observed import Facts
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.ports import Answer, AnswerStatus, Cluster, ClusterError, ReadRequest
from reconciler.show.result import result_lines
from reconciler.snapshot.file import MemoryCluster
from tests.contract.faults import Effect, Fault, FaultyCluster
from tests.property.clock import StillClock
from tests.property.transitions import DAY, declared
from tests.verbs import creations

NOT_NOW = Answer(AnswerStatus.FAILED, "NOT_CONTROLLER", "try again", retriable=True)
NO = Answer(AnswerStatus.FAILED, "POLICY_VIOLATION", "no")


def acl(name: str, permission: str = "ALLOW", principal: str = "User:a", operation: str = "READ") -> AclBinding:
    pattern_type = PatternType.PREFIXED if name.endswith("-") else PatternType.LITERAL
    return AclBinding(
        ResourcePattern(ResourceType.TOPIC, name, pattern_type),
        AccessControlEntry(principal, "*", AclOperation[operation], AclPermissionType[permission]),
    )


def planned(
    live: ClusterState, *wanted: AclBinding, terms: Terms | None = None, controls: tuple[Control, ...] = ()
) -> Plan:
    known = terms or Terms("c", default_allow=False)
    # Also what safety checks refuse: that preflight refuses it as well is seen here.
    request = Request(DAY, Options(allow_deletes=True), guarded=False, controls=controls)
    return propose(declared(frozenset(wanted), {}), live, known, request)


def applied(
    plan: Plan,
    cluster: Cluster,
    live: ClusterState,
    clock: StillClock | None = None,
    stop: Callable[[], bool] | None = None,
) -> Result:
    world = ApplyEnvironment(cluster, clock or StillClock(), Progress(), stop or (lambda: False))
    return perform(plan, live, check(plan, live, plan.terms), world)


def outcomes(result: Result) -> dict[str, str]:
    return {str(touched_binding(item.step.change)): str(item.outcome) for item in result.outcomes}


EMPTY = ClusterState("cluster")


@pytest.mark.parametrize("late", [0.0, 3_600.0])
def test_nothing_is_created_after_its_end(late: float) -> None:
    """Somebody took their time to agree to a plan that was made before the end; what has no end is performed."""
    plan = planned(EMPTY, acl("x"), acl("y"))
    ends = Expiry(read_moment("2026-01-01T00:30:00Z"))
    plan = replace(plan, steps=(replace(plan.steps[0], expires=ends), plan.steps[1]))
    cluster, clock = MemoryCluster(EMPTY), StillClock()
    clock.seconds = late
    result = applied(plan, cluster, EMPTY, clock)
    first, second = result.outcomes
    assert second.outcome is Outcome.DONE
    if late:
        assert (first.outcome, first.code) == (Outcome.FAILED, "ended_meanwhile")
        assert cluster.state.bindings == {acl("y")}
    else:
        assert result.succeeded


def test_what_may_be_repeated_is_repeated_and_then_done() -> None:
    plan = planned(EMPTY, acl("x"))
    clock = StillClock()
    cluster = FaultyCluster(MemoryCluster(EMPTY), [Fault("CreateAcl", acl("x"), NOT_NOW, times=3)])
    assert applied(plan, cluster, EMPTY, clock).succeeded
    assert clock.slept[:3] == sorted(clock.slept[:3])
    assert len(clock.slept) == 3


def test_repeating_ends() -> None:
    plan = planned(EMPTY, acl("x"))
    cluster = FaultyCluster(MemoryCluster(EMPTY), [Fault("CreateAcl", acl("x"), NOT_NOW, times=99)])
    result = applied(plan, cluster, EMPTY)
    assert outcomes(result) == {str(acl("x")): "failed"}
    assert not result.succeeded
    assert sum(name == "CreateAcl" for name, _ in cluster.calls) == 5


def test_only_the_items_that_may_be_repeated_are_sent_again() -> None:
    plan = planned(EMPTY, acl("x"), acl("y"))
    cluster = FaultyCluster(MemoryCluster(EMPTY), [Fault("CreateAcl", acl("x"), NOT_NOW)])
    assert applied(plan, cluster, EMPTY).succeeded
    assert [items for name, items in cluster.calls if name == "CreateAcl"] == [(acl("x"), acl("y")), (acl("x"),)]


@pytest.mark.parametrize(("effect", "outcome"), [(Effect.NOW, "done"), (Effect.NEVER, "unknown")])
def test_an_unknown_outcome_is_settled_by_reading_again(effect: Effect, outcome: str) -> None:
    plan = planned(EMPTY, acl("x"))
    cluster = FaultyCluster(MemoryCluster(EMPTY), [Fault("CreateAcl", acl("x"), effect=effect)])
    result = applied(plan, cluster, EMPTY)
    assert outcomes(result) == {str(acl("x")): outcome}
    assert result.succeeded is (outcome == "done")
    assert sum(name == "CreateAcl" for name, _ in cluster.calls) == 1, "never repeated blindly"


_TOPICS = {"grows": Topic("grows", 1, 1), "goes": Topic("goes", 1, 1)}


@pytest.mark.parametrize(
    ("call", "name", "code"),
    [
        ("CreateTopic", "new", "TOPIC_ALREADY_EXISTS"),
        ("CreatePartitions", "grows", "INVALID_PARTITIONS"),
        ("DeleteTopic", "goes", "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
@pytest.mark.parametrize(
    ("effect", "outcome"), [(Effect.NOW, "done"), (Effect.LATER, "done"), (Effect.NEVER, "failed")]
)
def test_a_refusal_that_a_repeated_request_of_ours_may_have_caused_is_read_again(
    call: str, name: str, code: str, effect: Effect, outcome: str
) -> None:
    live = replace(EMPTY, topics=_TOPICS)
    wishes = {
        "new": DesiredTopic(Topic("new", 1, 1), Origin("t.yaml", 1, 1)),
        "grows": DesiredTopic(Topic("grows", 3, 1), Origin("t.yaml", 1, 1)),
        "goes": DesiredTopic(Topic("goes"), Origin("t.yaml", 1, 1), absent=True),
    }
    agreed = (AcceptedGuard(Guard.TOPIC_DELETE, "goes"),)
    request = Request(DAY, Options(allow_deletes=True), accepted=agreed)
    plan = propose(DesiredState({}, wishes), live, Terms("c", default_allow=False), request)
    fault = Fault(call, name, Answer(AnswerStatus.FAILED, code, "seen twice"), effect)
    clock = StillClock()
    result = applied(plan, FaultyCluster(MemoryCluster(live), [fault]), live, clock)
    assert clock.seconds < FOREIGN_SECONDS or effect is not Effect.NOW, "what shows is not waited for"
    told = {item.step.action: (str(item.outcome), item.code) for item in result.outcomes}
    assert told[call] == (outcome, "" if outcome == "done" else code)
    assert result.succeeded is (outcome == "done")


def test_a_refused_deny_holds_back_its_allow_and_nothing_else() -> None:
    deny, reached, other = acl("x", "DENY"), acl("x", operation="WRITE"), acl("y")
    plan = planned(EMPTY, deny, reached, other)
    memory = MemoryCluster(EMPTY)
    result = applied(plan, FaultyCluster(memory, [Fault("CreateAcl", deny, NO)]), EMPTY)
    assert outcomes(result) == {str(deny): "failed", str(reached): "blocked", str(other): "done"}
    assert memory.state.bindings == {other}
    blocked = next(item for item in result.outcomes if item.outcome is Outcome.BLOCKED)
    assert "DENY READ on TOPIC x" in blocked.message


def test_a_failed_grant_holds_back_the_revocation_it_replaces_and_the_denys_behind_it() -> None:
    old, deny, new = acl("x-"), acl("x-1", "DENY", operation="WRITE"), acl("x-1")
    live = replace(EMPTY, bindings=frozenset({old, deny}))
    plan = planned(live, new)
    memory = MemoryCluster(live)
    result = applied(plan, FaultyCluster(memory, [Fault("CreateAcl", new, NO)]), live)
    assert outcomes(result) == {str(new): "failed", str(old): "blocked", str(deny): "blocked"}
    assert memory.state.bindings == {old, deny}


def test_a_failed_topic_holds_back_no_revocation() -> None:
    live = replace(EMPTY, bindings=frozenset({acl("old")}))
    desired = declared(frozenset({acl("a.b")}), {})
    plan = propose(desired, live, Terms("c", default_allow=False), Request(DAY, Options(allow_deletes=True)))
    result = applied(plan, FaultyCluster(MemoryCluster(live), [Fault("CreateTopic", "a.b", NO)]), live)
    assert set(outcomes(result).values()) == {"done"}


class Meddled:
    """A cluster to which somebody else adds a binding just before the second reading."""

    def __init__(self, inner: MemoryCluster, foreign: AclBinding) -> None:
        self._inner, self._foreign, self._reads = inner, foreign, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def read(self, request: ReadRequest) -> ClusterState:
        self._inner.send(creations([self._foreign]))
        return self._inner.read(request)


@pytest.mark.parametrize(
    ("foreign", "stops"), [(acl("x", principal="User:eve"), True), (acl("elsewhere", principal="User:eve"), False)]
)
def test_a_foreign_change_to_what_the_plan_touches_stops_it(foreign: AclBinding, stops: bool) -> None:
    live = replace(EMPTY, bindings=frozenset({acl("x", operation="WRITE")}))
    plan = planned(live, acl("x"))
    memory = MemoryCluster(live)
    result = applied(plan, Meddled(memory, foreign), live)  # type: ignore[arg-type]
    deleted = acl("x", operation="WRITE") not in memory.state.bindings
    assert deleted is not stops
    assert ("somebody else" in result.stopped) is stops
    assert result.succeeded is not stops


def test_an_interruption_finishes_the_batch_and_leaves_the_rest() -> None:
    live = replace(EMPTY, bindings=frozenset({acl("old")}))
    plan = planned(live, *(acl(f"t{number:04}") for number in range(1_500)))
    memory = MemoryCluster(live)
    cluster = FaultyCluster(memory)
    result = applied(plan, cluster, live, stop=lambda: any(name == "CreateAcl" for name, _ in cluster.calls))
    assert result.interrupted
    assert result.count(Outcome.DONE) == 1_000
    assert result.count(Outcome.NOT_ATTEMPTED) == 501
    assert len(memory.state.bindings) == 1_001
    assert not result.succeeded


def test_a_cluster_that_cannot_be_read_again_is_not_believed() -> None:
    plan = planned(EMPTY, acl("x"))
    gone = Fault("read", error=ClusterError("_TRANSPORT", "gone"), times=9)
    result = applied(plan, FaultyCluster(MemoryCluster(EMPTY), [gone]), EMPTY)
    assert not result.verified
    assert not result.succeeded
    assert "gone" in result.stopped


def test_the_barrier_stands_before_what_relies_on_it_even_if_everything_before_was_done_already() -> None:
    live = replace(EMPTY, bindings=frozenset({acl("old")}))
    plan = planned(live, acl("new"))
    half = replace(live, bindings=live.bindings | {acl("new")})
    clock = StillClock()
    result = applied(plan, MemoryCluster(half), half, clock)
    assert result.succeeded
    assert outcomes(result) == {str(acl("new")): "already", str(acl("old")): "done"}
    assert sum(clock.slept) == plan.terms.barrier_wait


def test_nothing_waits_where_nothing_follows() -> None:
    clock = StillClock()
    assert applied(planned(EMPTY, acl("x")), MemoryCluster(EMPTY), EMPTY, clock).succeeded
    assert clock.slept == []


def test_another_cluster_is_refused() -> None:
    plan = planned(EMPTY, acl("x"))
    with pytest.raises(StalePlanError, match="is for cluster"):
        check(plan, ClusterState("another"), plan.terms)


def test_limits_are_counted_again_with_the_declaration_of_today() -> None:
    live = replace(EMPTY, bindings=frozenset({acl("x"), acl("y")}))
    plan = planned(live, acl("z"))
    with pytest.raises(RefusedError) as refused:
        check(plan, live, replace(plan.terms, limits=DeleteLimits(max_deletes=1)))
    assert [refusal.guard for refusal in refused.value.refusals] == ["limit"]


def test_resuming_is_not_refused_because_deletions_already_happened() -> None:
    terms = Terms("c", default_allow=False, limits=DeleteLimits(max_delete_percent=50))
    live = replace(EMPTY, bindings=frozenset(acl(name) for name in "abcd"))
    plan = planned(live, acl("a"), acl("b"), terms=terms)
    half = replace(live, bindings=live.bindings - {acl("c")})
    assert applied(plan, MemoryCluster(half), half).succeeded


def test_an_empty_listing_where_bindings_were_seen_is_refused() -> None:
    live = replace(EMPTY, bindings=frozenset({acl("x")}))
    plan = planned(live, acl("x"), acl("y"))
    with pytest.raises(RefusedError) as refused:
        check(plan, EMPTY, plan.terms)
    assert [refusal.guard for refusal in refused.value.refusals] == ["empty-live"]


def test_what_depends_on_an_undeclared_default_is_not_applied() -> None:
    plan = planned(EMPTY, acl("x"), terms=Terms("c", default_allow=None))
    assert plan.refusals == ()
    with pytest.raises(UndeclaredDefaultError) as refused:
        check(plan, EMPTY, plan.terms)
    assert refused.value.coverage.closed == (acl("x").pattern,)


def test_a_topic_made_anew_since_the_plan_is_stale() -> None:
    before = replace(EMPTY, topics={"t": Topic("t", 1, 1, {}, "first")})
    wish = DesiredState({}, {"t": DesiredTopic(Topic("t", 2), Origin("t.yaml", 1, 1))})
    plan = propose(wish, before, Terms("c", default_allow=False), Request(datetime.date(2026, 1, 1)))
    with pytest.raises(StalePlanError) as stale:
        check(plan, replace(EMPTY, topics={"t": Topic("t", 1, 1, {}, "second")}), plan.terms)
    assert [finding.found for finding in stale.value.findings] == ["another topic of that name, id second"]


def test_where_everything_is_so_already_nothing_is_waited_for() -> None:
    plan = planned(ClusterState("cluster", frozenset({acl("x-")})), acl("x", principal="User:b"))
    clock = StillClock()
    done = ClusterState("cluster", frozenset({acl("x", principal="User:b")}))
    result = applied(plan, MemoryCluster(done), done, clock)
    assert {item.outcome for item in result.outcomes} == {Outcome.ALREADY}
    assert result.succeeded
    assert clock.slept == []


def test_what_changed_while_a_person_thought_is_seen_before_the_first_phase() -> None:
    """The topic that was reviewed is gone, and another one has its name: it is nobody's to delete."""
    live = ClusterState("cluster", frozenset(), {"t": Topic("t", 1, 1, {}, "id-1")})
    wish = DesiredState({}, {"t": DesiredTopic(Topic("t"), Origin("t.yaml", 1, 1), absent=True)})
    accepted = (AcceptedGuard(Guard.TOPIC_DELETE, "t"),)
    request = Request(DAY, Options(allow_deletes=True), accepted)
    plan = propose(wish, live, Terms("c", default_allow=False), request)
    cluster = MemoryCluster(replace(live, topics={"t": Topic("t", 1, 1, {}, "id-2")}))
    result = applied(plan, cluster, live)
    assert [(item.outcome, item.code) for item in result.outcomes] == [(Outcome.FAILED, "changed_meanwhile")]
    assert "t" in cluster.state.topics


def test_a_reading_that_fails_before_a_phase_is_no_change_of_somebody_else() -> None:
    live = ClusterState("cluster", topics={"t": Topic("t", 1, 1, {}, "id-1")})
    wish = DesiredState({}, {"t": DesiredTopic(Topic("t", 2, 1), Origin("t.yaml", 1, 1))})
    plan = propose(wish, live, Terms("c", default_allow=False), Request(DAY))
    hidden = replace(live, topics={}, unreadable_topics={"t": "KafkaConnectionError: closed"})
    result = applied(plan, MemoryCluster(hidden), live)
    (found,) = result.outcomes
    assert (found.outcome, found.code) == (Outcome.FAILED, "unreadable")
    assert found.message == "topic t could not be read, and nothing was sent: KafkaConnectionError: closed"


def test_a_stranger_s_binding_stops_a_run_before_its_first_phase() -> None:
    plan = planned(EMPTY, acl("x"))
    cluster = MemoryCluster(replace(EMPTY, bindings=frozenset({acl("x", "DENY")})))
    result = applied(plan, cluster, EMPTY)
    assert result.stopped == f"somebody else changed what this plan touches: {acl('x', 'DENY')} appeared; plan again"
    assert cluster.state.bindings == {acl("x", "DENY")}


def test_an_entry_that_cannot_be_named_covers_what_a_binding_on_the_same_pattern_leaves() -> None:
    (_, name, _), (principal, host, _, _) = acl("x")
    entry = OpaqueBinding(name, principal, host, ResourceType.TOPIC, PatternType.LITERAL, None, None)
    live = ClusterState("cluster", frozenset({acl("x"), acl("y")}), opaque=(entry,))
    plan = planned(live, acl("y"), terms=Terms("c", default_allow=True))
    assert plan.refusals == ()
    assert applied(plan, MemoryCluster(live), live).succeeded


def test_whoever_asks_to_stop_is_heard_while_a_run_waits() -> None:
    live = replace(EMPTY, bindings=frozenset({acl("old")}))
    plan = planned(live, acl("x"), terms=Terms("c", default_allow=False, barrier_wait=600.0))
    clock, cluster = StillClock(), MemoryCluster(live)
    result = applied(plan, cluster, live, clock, stop=lambda: clock.seconds > 3)
    assert result.interrupted
    assert clock.seconds < 5
    assert cluster.state.bindings == {acl("x"), acl("old")}


def test_a_stop_is_said_once_and_not_once_a_step() -> None:
    live = replace(EMPTY, bindings=frozenset({acl(f"t{number}") for number in range(30)} | {acl("stays")}))
    plan = planned(live, acl("stays"))
    cluster = MemoryCluster(live)
    preflight = check(plan, live, plan.terms)
    cluster.send(creations([acl("t1", "DENY")]))
    result = perform(plan, live, preflight, ApplyEnvironment(cluster, StillClock(), Progress()))
    lines = list(result_lines(result))
    assert sum("somebody else" in line for line in lines) == 1
    assert sum(line.startswith("  not-attempted:") for line in lines) == 10
    assert "  and 20 more not attempted" in lines


@pytest.mark.parametrize("answer", [NO, Answer(AnswerStatus.UNKNOWN, "TIMED_OUT", "late")])
def test_nothing_is_closed_where_what_we_need_on_the_cluster_could_not_be_created(answer: Answer) -> None:
    """Everything after it closes the cluster, and would shut us and the brokers out."""
    cluster = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")
    ours, others = (
        AclBinding(cluster, acl("x", principal=who, operation=what).entry)
        for who, what in (("User:us", "ALTER"), ("User:a", "DESCRIBE"))
    )
    terms = Terms("c", default_allow=True, facts=Facts(principal="User:us"))
    live = ClusterState("it")
    accepted = {Guard.CLUSTER_ALTER: "User:us", Guard.CLOSED_BY_DEFAULT: "CLUSTER kafka-cluster"}
    words = tuple(AcceptedGuard(guard, name) for guard, name in accepted.items())
    plan = propose(declared(frozenset({ours, others}), {}), live, terms, Request(DAY, accepted=words))
    assert plan.refusals == ()
    assert [step.phase.name for step in plan.steps] == ["CREATE_FIRST", "CREATE_ALLOW"]
    memory = MemoryCluster(live)
    result = applied(plan, FaultyCluster(memory, [Fault("CreateAcl", ours, answer, times=99)]), live)
    assert result.stopped == "the first phase could not be created"
    assert [item.outcome for item in result.outcomes][1] is Outcome.NOT_ATTEMPTED
    assert others not in memory.state.bindings


def test_of_a_request_whose_answers_are_in_doubt_in_part_the_cluster_says_the_rest() -> None:
    live = ClusterState("it")
    plan = planned(live, acl("x"), acl("y"), acl("z"))
    late = Answer(AnswerStatus.UNKNOWN, "TIMED_OUT", "late")
    memory = MemoryCluster(live)
    faults = [
        Fault("CreateAcl", acl("x"), late, effect=Effect.NOW),
        Fault("CreateAcl", acl("y"), late, effect=Effect.NEVER),
    ]
    result = applied(plan, FaultyCluster(memory, faults), live)
    assert [item.outcome for item in result.outcomes] == [Outcome.DONE, Outcome.UNKNOWN, Outcome.DONE]


def test_what_a_broker_says_is_done_and_never_shows_is_unknown_and_nothing_that_relies_on_it_goes() -> None:
    """Of two ALLOWs the wider goes once the narrower one is there: without it the principal would be shut out."""
    wide, narrow = acl("x", operation="ALL"), acl("x")

    class Forgets(MemoryCluster):
        def send(self, changes: Sequence[Change]) -> list[Answer]:
            rest = [change for change in changes if touched_binding(change) != narrow]
            answers = iter(super().send(rest) if rest else ())
            return [next(answers) if change in rest else Answer(AnswerStatus.DONE) for change in changes]

    live = ClusterState("cluster", frozenset({wide}))
    cluster = Forgets(live)
    result = applied(planned(live, narrow), cluster, live)
    first, *_ = result.outcomes
    assert (first.outcome, first.code) == (Outcome.UNKNOWN, "not_shown")
    assert cluster.state.bindings == {wide}
    assert not result.succeeded
