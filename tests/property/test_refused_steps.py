"""What a safety check refuses about single steps holds back these and what waits for them, and nothing else."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from reconciler.apply.environment import Outcome, Progress
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.model.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Origin
from reconciler.model.kinds.quota import DEFAULT_NAME, ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, PasswordSource, ScramUser
from reconciler.model.listing import Change, ListedItem, Listing, resource_of
from reconciler.model.scope import NameSelector, Selector
from reconciler.model.secrets import SecretPermit
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.difference import SkipReason
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings, touched_binding
from reconciler.plan.observed import Facts
from reconciler.plan.order import Blockers
from reconciler.plan.proposal import Options, Plan, Terms, bindings_after
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard, Judges
from reconciler.plan.step import Step
from reconciler.ports import ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.property.clock import StillClock
from tests.property.naive import Ask, permitted
from tests.property.transitions import ASKS, DAY, declared, transitions
from tests.slow_moves import MIB, SlowMoves

PLACE: Final = Origin("all.yaml", 1, 1)
US: Final = "User:us"
CLUSTER: Final = ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)
ON_CLUSTER: Final = [
    AclBinding(CLUSTER, AccessControlEntry(principal, "*", operation, permission))
    for principal, operation, permission in product(
        ("User:a", "User:b", "User:*"),
        (AclOperation.ALTER, AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE),
        (AclPermissionType.ALLOW, AclPermissionType.DENY),
    )
]
CLUSTER_ASKS: Final = [
    Ask(principal, "10.0.0.2", operation, ResourceType.CLUSTER, CLUSTER_NAME)
    for principal in ("User:a", "User:b", "User:stranger")
    for operation in (AclOperation.ALTER, AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE)
]
ENTITIES: Final = [
    QuotaEntity.of("us"),
    QuotaEntity.of(DEFAULT_NAME),
    QuotaEntity.of("other"),
    QuotaEntity.of("us", "x"),
]
OFF: Final = ScramUser("off", {"SCRAM-SHA-256": DISABLED_ITERATIONS})
PROTECTED: Final = [
    Selector(names=NameSelector(literal=("xa",)), resource_type=ResourceType.TOPIC),
    Selector(names=NameSelector(prefixes=("y",)), resource_type=ResourceType.TOPIC),
    Selector(principals=NameSelector(literal=("User:a",))),
]
STEP_GUARDS: Final = [guard for guard in Guard if guard.judges is Judges.STEPS]
SEEN: Final[set[Guard]] = set()


def with_password(name: str) -> ScramUser:
    return ScramUser(name, {"SCRAM-SHA-256": 4096}, {"SCRAM-SHA-256": PasswordSource("${env:TEAM_A}")})


@dataclass(frozen=True)
class World:
    """Two states in which any guard may speak, and which of them a person has accepted."""

    live: ClusterState
    desired: DesiredState
    terms: Terms
    accepted: frozenset[Guard]

    def plan(self, desired: DesiredState | None = None, *, guarded: bool = True) -> Plan:
        """With every object accepted that a guard of all steps refuses, and those of the accepted guards."""
        request = Request(DAY, Options(allow_deletes=True), permit=SecretPermit(("TEAM_",)), guarded=guarded)
        while True:
            made = propose(desired or self.desired, self.live, self.terms, request)
            words = [
                AcceptedGuard(one.guard, one.object)
                for one in made.refusals
                if one.judges is Judges.PLAN or one.guard in self.accepted
            ]
            if not words:
                return made
            request = replace(request, accepted=(*request.accepted, *words))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    found = draw(transitions(5))
    few = st.frozensets(st.sampled_from(ON_CLUSTER), max_size=2)
    cluster = SlowMoves(Topic("big", 2, 1, {}, "id-big", ((1,), (2,))), size=9 * 1024 * MIB)
    topics, moves = dict(found.live.topics), draw(st.booleans())
    wanted = dict(found.desired.topics)
    layout = None
    if moves:
        there = cluster.read(ReadRequest(layout=("big",)))
        topics["big"], layout = there.topics["big"], there.layout
        wanted["big"] = DesiredTopic(Topic("big", replication_factor=2), PLACE)
    quotas = st.dictionaries(st.sampled_from(ENTITIES), st.sampled_from([1, 2]), max_size=3)
    before, after = (
        [ClientQuota(entity, {"producer_byte_rate": rate}) for entity, rate in draw(quotas).items()] for _ in range(2)
    )
    users = draw(st.sampled_from([((), ()), ((OFF,), (with_password("off"),)), ((), (with_password("new"),))]))
    live = replace(
        found.live,
        bindings=found.live.bindings | draw(few),
        topics=topics,
        listings={
            ClientQuota.KIND: Listing(frozenset(before), may_alter=True),
            ScramUser.KIND: Listing(frozenset(users[0]), may_alter=True),
        },
        layout=layout,
        broker_defaults={"auto.create.topics.enable": "false"},
    )
    listed = {ClientQuota.KIND: _wanted(after, before), ScramUser.KIND: _wanted(users[1], ())}
    desired = replace(declared(frozenset(found.desired.bindings) | draw(few), wanted), listed=listed)
    protect = tuple(draw(st.lists(st.sampled_from(PROTECTED), max_size=2, unique=True)))
    terms = Terms(
        "c", default_allow=draw(st.sampled_from([False, True, None])), facts=Facts(principal=US, protect=protect)
    )
    return World(live, desired, terms, frozenset(draw(st.sets(st.sampled_from(STEP_GUARDS), max_size=3))))


def _wanted(after: "tuple[ListedItem, ...] | list[ClientQuota]", before: "tuple[ListedItem, ...] | list[ClientQuota]"):  # type: ignore[no-untyped-def]
    found = {one.key: DesiredItem(one, Declaration(PLACE)) for one in after}
    return {one.key: DesiredItem(one, Declaration(PLACE), absent=True) for one in before} | found


def left_out(plan: Plan) -> list[Change]:
    return [one.change for one in plan.refused if one.change is not None]


@given(worlds())
def test_the_rest_is_performed_and_what_is_refused_is_not(world: World) -> None:
    """All changes are in the plan or left out by name; what is left waits for nothing that is left out."""
    plan, whole = world.plan(), world.plan(guarded=False)
    SEEN.update(one.guard for one in plan.refusals)
    refused = left_out(plan)
    assert plan.stops == ()
    assert len(refused) == len(plan.refused)
    assert {*refused, *(step.change for step in plan.steps)} == {step.change for step in whole.steps}
    assert len(refused) + len(plan.steps) == len(whole.steps)
    assert bool(refused) is bool(plan.refusals)
    assert all(one.reason is SkipReason.REFUSED for one in plan.skipped[: len(refused)]), "they come first"
    # Preflight judges each guard by itself: none refuses what is left.
    check(plan, world.live, world.terms, observable=True)
    phases = {step.change: step for step in whole.steps}
    undone = Blockers(refused, default_allow=world.terms.default_allow)
    assert not [step.change for step in plan.steps if undone.blocking(phases[step.change])]
    for one in plan.refused:
        assert one.change is not None
        others = Blockers(
            (change for change in refused if change != one.change), default_allow=world.terms.default_allow
        )
        waits = others.blocking(phases[one.change]) is not None
        assert "the safety check " in one.detail or (one.detail.startswith("waits for `") and waits), one
    for said in plan.refusals:
        assert any(f"the safety check {said.guard} refuses it" in one.detail for one in plan.refused)
        assert f"{said.guard}=" in said.remedy, "how it is accepted stands there"


@given(worlds())
def test_the_rest_is_the_plan_of_whoever_never_wished_for_what_is_refused(world: World) -> None:
    plan = world.plan()
    refused = left_out(plan)
    created, deleted = created_bindings(refused), deleted_bindings(refused)
    others = {name for one in refused if touched_binding(one) is None for name in [_named(one)]}
    # A topic may have several changes: without one of them it cannot be wished for.
    several = {_named(step.change) for step in plan.steps if touched_binding(step.change) is None}
    if others & several:
        return
    kept = {one: said for one, said in world.desired.bindings.items() if one not in created}
    desired = replace(
        world.desired,
        bindings={**kept, **dict.fromkeys(deleted, Declaration(PLACE))},
        topics={name: one for name, one in world.desired.topics.items() if ("", name) not in others},
        listed={
            kind: {key: one for key, one in items.items() if (kind, key) not in others}
            for kind, items in world.desired.listed.items()
        },
    )
    without = replace(world, accepted=frozenset(Guard)).plan(desired)
    assert {step.change for step in without.steps} == {step.change for step in plan.steps}
    assert [step.phase for step in without.steps] == [step.phase for step in plan.steps]


def _named(change: Change) -> tuple[str, object]:
    item = resource_of(change)
    if isinstance(item, AclBinding):
        return "acl", item
    return (item.KIND, item.key) if isinstance(item, ClientQuota | ScramUser) else ("", item.name)


@given(worlds(), st.data())
def test_no_moment_is_what_neither_the_live_state_nor_the_whole_wish_is(world: World, data: st.DataObject) -> None:
    """Also where steps are left out, nothing is more open, and without default-allow nothing more closed."""
    plan, whole = world.plan(), world.plan(guarded=False)
    before, after = world.live.bindings, bindings_after(world.live.bindings, whole.steps)
    on = world.terms.default_allow is not False
    for now in _moments(plan, before, data):
        for ask in (*ASKS, *CLUSTER_ASKS):
            old, new, seen = (permitted(found, ask, default_allow=on) for found in (before, after, now))
            assert not (seen and not old and not new), f"too open: {ask}"
            if not on:
                assert not (not seen and old and new), f"interrupted: {ask}"


def _moments(plan: Plan, before: frozenset[AclBinding], data: st.DataObject) -> list[frozenset[AclBinding]]:
    phases = sorted({step.phase for step in plan.steps})
    found = [bindings_after(before, plan.steps)]
    for phase in phases:
        whole = [step for step in plan.steps if step.phase < phase]
        some: list[Step] = [step for step in plan.steps if step.phase is phase and data.draw(st.booleans())]
        found.append(bindings_after(before, [*whole, *some]))
    return found


@given(worlds())
def test_performing_it_leaves_what_is_refused_as_it_is_and_planning_again_refuses_it_again(world: World) -> None:
    plan = world.plan()
    assert parse_plan(plan_text(plan)) == plan
    assert parse_plan(plan_text(plan)).refused == plan.refused
    known = {step.change for step in plan.steps}
    if any(isinstance(resource_of(one), ScramUser) for one in known) or world.terms.default_allow is not False:
        return  # no snapshot takes a password, and bridges are elsewhere
    if any(_named(one) == ("", "big") for one in known):
        return
    cluster = MemoryCluster(world.live)
    made = perform(
        plan, world.live, check(plan, world.live, plan.terms), ApplyEnvironment(cluster, StillClock(), Progress())
    )
    refused = left_out(plan)
    assert not set(created_bindings(refused)) & cluster.state.bindings
    assert set(deleted_bindings(refused)) <= cluster.state.bindings
    if all(one.outcome is Outcome.DONE for one in made.outcomes):
        again = replace(world, live=replace(cluster.state, layout=world.live.layout)).plan()
        assert again.steps == ()
        assert {one.change for one in again.refused} == set(refused)


def test_every_guard_of_single_steps_spoke_above() -> None:
    assert set(STEP_GUARDS) - {Guard.UNLOCK} == SEEN, "no world here has a lock: tests/property/test_lock_law.py"
