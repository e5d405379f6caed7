"""What apply adds to a plan by itself: sentinels, bridges, and a barrier after each phase that something relies on."""

from dataclasses import replace
from itertools import combinations, product
from typing import Final

from reconciler.model.acl import PatternType, ResourcePattern, ResourceType
from reconciler.plan.bridges import possible_barriers
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.file_codec import ProbeAcls, PropagationCheck, conditional_steps
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.step import Bridge, Bridges, Means, Side, Step, Unbridged
from tests.property.transitions import DAY
from tests.unit.apply.test_kinds import EVERY
from tests.unit.apply.test_perform import EMPTY, acl, planned

#: A change of each phase that is of no ACL.
OTHERS: Final = {
    Phase.ALTER_USERS: "user",
    Phase.CREATE_TOPIC: "create topic",
    Phase.CREATE_WAITING_TOPIC: "create topic",
    Phase.CREATE_PARTITIONS: "partitions",
    Phase.ALTER_CONFIGS: "configs",
    Phase.DELETE_USERS: "user",
    Phase.DELETE_TOPIC: "delete topic",
    Phase.ALTER_QUOTAS: "create quota",
    Phase.ALTER_DYNAMIC_CONFIGS: "group",
    Phase.MOVE_REPLICAS: "replicas",
}
#: Sent together; whatever comes later, up to the last ACL, relies on all of one.
TOGETHER: Final = (
    {Phase.CREATE_FIRST, Phase.CREATE_DENY, Phase.CREATE_ALLOW},
    {Phase.DELETE_ALLOW},
    {Phase.DELETE_WAITING_ALLOW},
    {Phase.DELETE_DENY},
)
PATTERN: Final = ResourcePattern(ResourceType.TOPIC, "x")
BRIDGE: Final = Bridge(PATTERN, Side.CLOSING, Means.BRIDGE, ("User:a",))
UNBRIDGED: Final = Unbridged(PATTERN, Side.OPENING, "why", ("User:a",))


def relied_on(phases: set[Phase]) -> list[Phase]:
    """After which phases somebody waits."""
    found = [
        max(group)
        for group in TOGETHER
        if group & phases and any(max(group) < phase <= Phase.DELETE_LAST for phase in phases)
    ]
    # New logins rely on DENYs, which brokers learn of later than of logins.
    if Phase.ALTER_USERS in phases and phases & {Phase.CREATE_FIRST, Phase.CREATE_DENY}:
        found.insert(0, Phase.CREATE_DENY)
    return found


def test_every_few_phases_have_their_barriers_as_a_probe_or_a_wait_asks_for_them() -> None:
    for count, (probe, bridges) in product(
        range(4), product((None, "User:p"), (Bridges(), Bridges((BRIDGE,)), Bridges((), (UNBRIDGED,))))
    ):
        for chosen in combinations(Phase, count):
            phases = {*chosen}
            steps = tuple(Step(phase, EVERY[OTHERS.get(phase, "create acl")]) for phase in chosen)
            plan = Plan("c", Terms("c", probe=probe, barrier_wait=7.0), Options(), DAY, steps, bridges=bridges)
            always = relied_on(phases)
            assert [*plan.barriers] == always
            possible = relied_on({*phases, Phase.CREATE_FIRST, Phase.DELETE_LAST}) if bridges.wanted else always
            assert [*possible_barriers(plan)] == possible
            found = conditional_steps(plan)
            barriers = [one for one in found if isinstance(one, PropagationCheck)]
            assert [one.phase for one in barriers] == possible
            assert [one.phase for one in barriers if not one.only_for_bridges] == always
            waits = {(one.wait_seconds, one.principal, one.pattern and one.pattern.name) for one in barriers}
            assert waits <= ({(7.0, None, None)} if probe is None else {(None, probe, "__kr.<run>.<number>")})
            sentinels = [one for one in found if isinstance(one, ProbeAcls)]
            start = ResourcePattern(ResourceType.TOPIC, "__kr.<run>.", PatternType.PREFIXED)
            expected = probe is not None and bool(phases - OTHERS.keys())
            assert sentinels == ([ProbeAcls(Phase.CREATE_FIRST, "User:p", start)] if expected else [])
            assert [one for one in found if isinstance(one, Bridge)] == [*bridges.wanted]


def test_what_apply_may_add_is_written_and_read() -> None:
    made = planned(EMPTY, acl("x"))
    for probe, bridges in product((None, "User:p"), (Bridges(), Bridges((BRIDGE,), (UNBRIDGED,)))):
        plan = replace(made, terms=replace(made.terms, probe=probe), bridges=bridges, refusals=())
        assert bool(bridges) is bool(bridges.wanted)
        assert parse_plan(plan_text(plan)) == plan
    assert bool(Bridges((), (UNBRIDGED,)))
