"""The laws of a plan: value, convergence, safety, honesty about what it leaves."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from reconciler.apply.environment import Outcome, Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.acl import AclBinding, ResourceType
from reconciler.model.desired import DesiredState
from reconciler.model.listing import AclChange, Create, Delete
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.plan.difference import SkipReason
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.kinds.acl import deleted_bindings, is_acl_change, touched_binding
from reconciler.plan.order import Blockers
from reconciler.plan.proposal import Options, Plan, Terms, bindings_after
from reconciler.plan.propose import Request, propose
from reconciler.plan.step import Step
from reconciler.ports import Answer, AnswerStatus
from reconciler.snapshot.file import MemoryCluster
from tests.contract.faults import Effect, Fault, FaultyCluster
from tests.property.clock import StillClock
from tests.property.naive import Ask, permitted
from tests.property.transitions import ASKS, DAY, Transition, bindings, declared, transitions


def performed(plan: Plan, cluster: MemoryCluster | FaultyCluster, start: ClusterState) -> Result:
    world = ApplyEnvironment(cluster, StillClock(), Progress())
    return perform(plan, start, check(plan, start, plan.terms), world)


@given(transitions())
def test_planning_a_state_against_itself_is_empty(transition: Transition) -> None:
    wish = DesiredState(declared(transition.live.bindings, {}).bindings, {})
    plan = propose(wish, transition.live, Terms("c"), Request(DAY, Options(allow_deletes=True)))
    assert plan.steps == ()
    assert plan.skipped == ()


@given(transitions(), st.randoms())
def test_any_input_order_gives_the_same_bytes(transition: Transition, random: Random) -> None:
    live, desired = transition.live, transition.desired
    shuffled_bindings, shuffled_topics = list(desired.bindings.items()), list(desired.topics.items())
    random.shuffle(shuffled_bindings)
    random.shuffle(shuffled_topics)
    again = Transition(
        replace(live, bindings=frozenset(random.sample(sorted(live.bindings), len(live.bindings)))),
        DesiredState(dict(shuffled_bindings), dict(shuffled_topics)),
    )
    assert plan_text(transition.plan()) == plan_text(again.plan())


@given(transitions(), st.sampled_from([True, False, None]), st.booleans())
def test_a_saved_plan_reads_back_equal(transition: Transition, default_allow: bool | None, deletes: bool) -> None:
    plan = replace(transition.plan(default_allow=default_allow, allow_deletes=deletes), refusals=())
    assert parse_plan(plan_text(plan)) == plan


@given(transitions())
def test_apply_reaches_what_the_plan_expects_and_planning_again_gives_what_was_left(transition: Transition) -> None:
    plan = transition.plan()
    cluster = MemoryCluster(transition.live)
    result = performed(plan, cluster, transition.live)
    rejected = [item for item in result.outcomes if item.outcome is Outcome.FAILED]
    # The memory cluster refuses settings that are no values of their type; nothing else may fail.
    assert all(item.code == "INVALID_CONFIG" for item in rejected)
    assert cluster.state.bindings == bindings_after(transition.live.bindings, plan.steps)
    assert cluster.state.bindings == transition.desired.bindings.keys()
    again = Transition(cluster.state, transition.desired).plan()
    assert not [step for step in again.steps if is_acl_change(step.change)]
    if not rejected:
        assert result.succeeded
        assert again.steps == ()
        assert [left.subject for left in again.skipped] == [left.subject for left in plan.skipped]


@given(transitions())
def test_what_is_held_back_is_listed_and_stays(transition: Transition) -> None:
    plan = transition.plan(allow_deletes=False)
    assert not deleted_bindings(step.change for step in plan.steps)
    held = set(deleted_bindings(left.change for left in plan.skipped if left.change is not None))
    assert held == transition.live.bindings - transition.desired.bindings.keys()
    assert all(left.reason is SkipReason.HELD_BACK for left in plan.skipped if isinstance(left.change, Delete))
    cluster = MemoryCluster(transition.live)
    performed(plan, cluster, transition.live)
    assert cluster.state.bindings == transition.live.bindings | transition.desired.bindings.keys()


@given(transitions(), st.sampled_from(["x", "xa", "y"]))
def test_what_is_outside_the_scope_is_never_touched(transition: Transition, prefix: str) -> None:
    scope = Scope(include=(Selector(resource_type=ResourceType.TOPIC, names=NameSelector(prefixes=(prefix,))),))
    inside = {binding for binding in transition.desired.bindings if scope.owns(binding)}
    wish = declared(frozenset(inside), {})
    terms = Terms("c", scope=scope, default_allow=False)
    plan = propose(wish, transition.live, terms, Request(DAY, Options(allow_deletes=True)))
    outside = {binding for binding in transition.live.bindings if not scope.owns(binding)}
    assert outside <= bindings_after(transition.live.bindings, plan.steps)
    assert plan.counts.outside == len(outside)


def _subsets(steps: list[Step], data: st.DataObject) -> list[Step]:
    return [step for step in steps if data.draw(st.booleans())] if steps else []


def _visible(plan: Plan, data: st.DataObject) -> list[Step]:
    """The steps that show at some moment: whole phases, and any part of one more."""
    acl = [step for step in plan.steps if is_acl_change(step.change)]
    phases = sorted({step.phase for step in acl})
    if not phases:
        return []
    reached = data.draw(st.sampled_from(phases))
    whole = [step for step in acl if step.phase < reached]
    return whole + _subsets([step for step in acl if step.phase is reached], data)


@given(transitions(), st.data())
def test_no_moment_is_more_open_or_more_closed_than_both_states(transition: Transition, data: st.DataObject) -> None:
    plan = transition.plan()
    steps = _visible(plan, data)
    _assert_between(plan, transition.live, bindings_after(transition.live.bindings, steps), default_allow=False)


@given(transitions(), st.data())
def test_default_allow_never_makes_a_moment_too_open(transition: Transition, data: st.DataObject) -> None:
    plan = transition.plan(default_allow=True)
    before = transition.live.bindings
    now, after = bindings_after(before, _visible(plan, data)), bindings_after(before, plan.steps)
    for ask in ASKS:
        if permitted(now, ask, default_allow=True):
            assert permitted(before, ask, default_allow=True) or permitted(after, ask, default_allow=True), ask


@given(transitions(), st.data())
def test_whatever_fails_no_moment_is_more_open_or_more_closed(transition: Transition, data: st.DataObject) -> None:
    """Some steps fail; those that depend on them are not performed; the law holds for what is left."""
    plan = transition.plan()
    failed = set(_subsets(list(plan.steps), data))
    performed_steps: list[Step] = []
    undone: list[Step] = []
    for step in plan.steps:
        blocked = Blockers((other.change for other in undone), default_allow=False).blocking(step)
        (undone if step in failed or blocked else performed_steps).append(step)
        now = bindings_after(transition.live.bindings, performed_steps)
        _assert_between(plan, transition.live, now, default_allow=False)


@given(transitions(), st.data())
def test_apply_with_faults_tells_the_truth_and_a_second_apply_converges(
    transition: Transition, data: st.DataObject
) -> None:
    plan = transition.plan()
    acl = [step.change for step in plan.steps if is_acl_change(step.change)]
    chosen = [change for change in acl if data.draw(st.booleans())]
    faults = [_fault(change, data) for change in chosen]
    memory = MemoryCluster(transition.live)
    result = performed(plan, FaultyCluster(memory, faults), transition.live)
    for item in result.outcomes:
        change = item.step.change
        if is_acl_change(change):
            stands = (touched_binding(change) in memory.state.bindings) is isinstance(change, Create)
            if item.outcome in (Outcome.DONE, Outcome.ALREADY):
                assert stands
            elif item.outcome is not Outcome.UNKNOWN:
                assert not stands
    assert not (result.succeeded and any(item.outcome is Outcome.FAILED for item in result.outcomes))
    _assert_between(plan, transition.live, memory.state.bindings, default_allow=False)
    second = Transition(memory.state, transition.desired).plan()
    performed(second, memory, memory.state)
    assert memory.state.bindings == transition.desired.bindings.keys()


def _fault(change: AclChange, data: st.DataObject) -> Fault:
    call = "CreateAcl" if isinstance(change, Create) else "DeleteAcl"
    if data.draw(st.booleans()):
        return Fault(call, touched_binding(change), Answer(AnswerStatus.FAILED, "POLICY_VIOLATION", "no"))
    return Fault(call, touched_binding(change), effect=data.draw(st.sampled_from([Effect.NEVER, Effect.NOW])))


def _assert_between(plan: Plan, live: ClusterState, now: frozenset[AclBinding], *, default_allow: bool) -> None:
    before, after = live.bindings, bindings_after(live.bindings, plan.steps)
    for ask in ASKS:
        old, new = _asked(before, ask, default_allow), _asked(after, ask, default_allow)
        seen = _asked(now, ask, default_allow)
        assert not (seen and not old and not new), f"too open: {ask}"
        assert not (not seen and old and new), f"interrupted: {ask}"


def _asked(found: frozenset[AclBinding], ask: Ask, default_allow: bool) -> bool:
    return permitted(found, ask, default_allow=default_allow)


@given(st.frozensets(bindings, max_size=6), st.frozensets(bindings, max_size=6))
def test_dependencies_need_no_index(left_out: frozenset[AclBinding], kept: frozenset[AclBinding]) -> None:
    """The overlap index answers as a plain comparison of every pair does."""
    transition = Transition(ClusterState("c"), declared(kept, {}))
    undone = [Create(binding) for binding in left_out]
    for step in transition.plan().steps:
        assert isinstance(step.change, Create)
        slow = [
            other
            for other in undone
            if other.after.entry.permission_type < step.change.after.entry.permission_type
            and _overlap(other.after, step.change.after)
        ]
        fast = Blockers(undone, default_allow=False).blocking(step)
        assert (fast is not None) == bool(slow)
        assert fast is None or fast in slow


def _overlap(a: AclBinding, b: AclBinding) -> bool:
    principals = a.entry.principal == b.entry.principal or "User:*" in (a.entry.principal, b.entry.principal)
    hosts = a.entry.host == b.entry.host or "*" in (a.entry.host, b.entry.host)
    return principals and hosts and a.pattern.overlaps(b.pattern)
