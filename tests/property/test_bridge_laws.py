"""The safety law under default-allow, with bridges: never too permissive, and no interruption that was not told."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from reconciler.apply.barrier import ProbeBarrier, ProbeSetup
from reconciler.apply.bridges import NearbyBindings, interrupts_nobody
from reconciler.apply.environment import Identity, Progress, Result, UnprovenError
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.acl import AclBinding, PatternType, ResourcePattern, ResourceType
from reconciler.model.listing import AclChange, Change, Create
from reconciler.model.markers import standing_bridges
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import is_acl_change, touched_binding
from reconciler.plan.kinds.topic import created_topics, deleted_topics
from reconciler.plan.order import Blockers
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms, bindings_after
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard
from reconciler.plan.step import Means, Step
from reconciler.ports import Answer, AnswerStatus
from reconciler.snapshot.file import MemoryCluster
from tests.contract.faults import Effect, Fault, FaultyCluster
from tests.faults.nodes import Nodes
from tests.property.clock import StillClock
from tests.property.naive import Ask, permitted
from tests.property.transitions import ASKS, DAY, Transition, transitions

TERMS = Terms("c", default_allow=True, probe="User:probe")


def planned(transition: Transition) -> Plan:
    """The plan, with everything accepted that a guard asks about."""
    request = Request(DAY, Options(allow_deletes=True))
    while (made := propose(transition.desired, transition.live, TERMS, request)).refusals:
        words = tuple(AcceptedGuard(refusal.guard, refusal.object) for refusal in made.refusals)
        request = replace(request, accepted=(*request.accepted, *words))
    return made


def moving(plan: Plan) -> set[str]:
    return {
        topic.name
        for select in (created_topics, deleted_topics)
        for topic in select(step.change for step in plan.steps)
    }


def told(plan: Plan, ask: Ask) -> bool:
    """Whether the plan says that this name may be interrupted, or creates the topic itself: nobody uses that yet."""
    born = {topic.name for topic in created_topics(step.change for step in plan.steps)}
    if ask.resource_type is ResourceType.TOPIC and ask.name in born:
        return True
    return any(
        item.pattern.resource_type is ask.resource_type and item.pattern.matches(ask.name)
        for item in plan.bridges.unbridged
    )


def kept_open(plan: Plan, live: ClusterState, ask: Ask) -> bool:
    """Existing topics, but for those that come or go, and whatever a bridge stands on: nothing may interrupt these.

    Where a live binding covers the topics by which a probe observes default-allow, no run can build a bridge; the plan
    says whom it may interrupt, which :func:`told` has asserted.
    """
    probed = ResourcePattern(ResourceType.TOPIC, "__kr-flag.", PatternType.PREFIXED)
    if any(binding.pattern.contains(probed) for binding in live.bindings):
        assert not plan.bridges.wanted
        return False
    if ask.resource_type is ResourceType.TOPIC and ask.name in live.topics.keys() - moving(plan):
        return True
    return any(
        bridge.pattern.resource_type is ask.resource_type and bridge.pattern.matches(ask.name)
        for bridge in plan.bridges.wanted
    )


def assert_lawful(plan: Plan, live: ClusterState, now: frozenset[AclBinding], *, bridged: bool = True) -> None:
    before, after = live.bindings, bindings_after(live.bindings, plan.steps)
    for ask in ASKS:
        old, seen, new = (permitted(side, ask, default_allow=True) for side in (before, now, after))
        assert not (seen and not old and not new), f"too open: {ask}"
        if bridged and not seen and old and new:
            assert told(plan, ask), f"interrupted without a word: {ask}"
            assert not kept_open(plan, live, ask), f"interrupted: {ask}"


def _stages(plan: Plan) -> list[tuple[Phase, list[Step]]]:
    """The ACL steps in the order of an apply that builds bridges; what is a bridge itself first, or last."""
    moved = {bridge.binding for bridge in plan.bridges.wanted if bridge.means is not Means.BRIDGE}
    stages: dict[Phase, list[Step]] = {Phase.CREATE_FIRST: [], Phase.DELETE_LAST: []}
    for step in plan.steps:
        if is_acl_change(step.change):
            first = Phase.CREATE_FIRST if isinstance(step.change, Create) else Phase.DELETE_LAST
            stages.setdefault(first if touched_binding(step.change) in moved else step.phase, []).append(step)
    return sorted(stages.items())


def _built(plan: Plan) -> frozenset[AclBinding]:
    return frozenset(bridge.binding for bridge in plan.bridges.wanted if bridge.means is Means.BRIDGE)


def _some(steps: Sequence[Step], data: st.DataObject) -> list[Step]:
    return [step for step in steps if data.draw(st.booleans())]


@given(transitions(), st.data())
def test_whatever_part_of_a_phase_shows_nobody_is_interrupted_who_is_kept_in(
    transition: Transition, data: st.DataObject
) -> None:
    plan = planned(transition)
    stages, bridges = _stages(plan), _built(plan)
    reached = data.draw(st.integers(0, len(stages) - 1))
    whole = [step for _, steps in stages[:reached] for step in steps]
    now = bindings_after(transition.live.bindings, [*whole, *_some(stages[reached][1], data)])
    if reached in (0, len(stages) - 1):  # bridges are on their way too
        bridges = frozenset(bridge for bridge in sorted(bridges) if data.draw(st.booleans()))
    assert_lawful(plan, transition.live, now | bridges)


@given(transitions(), st.data())
def test_whatever_fails_a_bridge_goes_only_where_that_interrupts_nobody(
    transition: Transition, data: st.DataObject
) -> None:
    plan, live = planned(transition), transition.live
    standing = _built(plan)
    failed = set(_some(plan.steps, data))
    done: list[Step] = []
    undone: list[Step] = []
    for phase, steps in _stages(plan):
        if phase > Phase.CREATE_FIRST and any(
            step in undone and step.phase in (Phase.CREATE_FIRST, Phase.CREATE_ALLOW) for step in _stages(plan)[0][1]
        ):
            break  # what has to come first did not: nothing else is sent
        for step in steps:
            blocked = Blockers((other.change for other in undone), default_allow=True).blocking(
                replace(step, phase=phase)
            )
            (undone if step in failed or blocked else done).append(step)
            assert_lawful(plan, live, bindings_after(live.bindings, done) | standing)
    now = bindings_after(live.bindings, done)
    sides = (
        NearbyBindings(live.bindings),
        NearbyBindings(now),
        NearbyBindings(bindings_after(live.bindings, plan.steps)),
    )
    for bridge in sorted(standing):
        if interrupts_nobody(bridge.pattern, *sides):
            standing -= {bridge}
            assert_lawful(plan, live, now | standing)
    if not undone:
        assert standing == frozenset()


class _Recording(MemoryCluster):
    """Keeps every state that a broker could have shown: creates are seen one by one."""

    def __init__(self, state: ClusterState) -> None:
        super().__init__(state)
        self.history = [state.bindings]

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        answers = []
        for change in changes:
            answers += super().send([change])
            self.history.append(self.state.bindings)
        return answers


def _applied(plan: Plan, cluster: _Recording, faults: Sequence[Fault], run: str = "run") -> Result:
    nodes = Nodes(cluster, default_allow=True)
    live = cluster.state
    probing = ProbeSetup(nodes.as_user("User:probe"), "User:probe", nodes.as_user("User:ours"), seconds=1.0)
    world = ApplyEnvironment(
        FaultyCluster(cluster, faults),
        StillClock(),
        Progress(),
        identity=Identity(run),
        barrier=partial(ProbeBarrier, probing),
    )
    found = check(plan, live, TERMS, observable=True)
    return perform(plan, live, found, world, lambda exact: check(plan, exact, TERMS, observable=True))


def _fault(change: AclChange, data: st.DataObject) -> Fault:
    call = "CreateAcl" if isinstance(change, Create) else "DeleteAcl"
    if data.draw(st.booleans()):
        return Fault(call, touched_binding(change), Answer(AnswerStatus.FAILED, "POLICY_VIOLATION", "no"))
    return Fault(call, touched_binding(change), effect=data.draw(st.sampled_from([Effect.NEVER, Effect.NOW])))


@given(transitions(max_bindings=5), st.data())
def test_an_apply_keeps_the_law_at_every_moment_and_names_what_still_stands(
    transition: Transition, data: st.DataObject
) -> None:
    plan = planned(transition)
    changes = [step.change for step in plan.steps if is_acl_change(step.change)]
    faults = [_fault(change, data) for change in changes if data.draw(st.integers(0, 4)) == 0]
    cluster = _Recording(transition.live)
    try:
        result = _applied(plan, cluster, faults)
    except UnprovenError:  # a DENY for everyone on every topic would answer for the sentinels
        assert {b for b in cluster.state.bindings if not is_reserved(b.pattern.name)} == transition.live.bindings
        return
    bridges = frozenset().union(*map(standing_bridges, cluster.history))
    built = not plan.bridges.wanted or bool(bridges) or not any(b.means is Means.BRIDGE for b in plan.bridges.wanted)
    if any("may have been refused" in note and "not observed" in note for note in result.notes):
        built = False
    for state in cluster.history:
        assert_lawful(plan, transition.live, state, bridged=built)
    named = sum("is still there" in text for text in result.differences)
    assert named == len(standing_bridges(cluster.state.bindings))
    if not faults:
        assert named == 0
        assert {b for b in cluster.state.bindings if not is_reserved(b.pattern.name)} == bindings_after(
            transition.live.bindings, plan.steps
        )
