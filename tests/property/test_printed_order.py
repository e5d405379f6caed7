"""The printed order of a plan with every kind in it, and with bridges, is the order in which requests are sent."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import Final

from hypothesis import Phase as Stages
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.apply.environment import GOOD, UnprovenError
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Origin
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, ScramUser
from reconciler.model.listing import Change, Create, ListedItem, Listing, Update, resource_of
from reconciler.model.markers import markers
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicReplicas
from reconciler.plan.phase import TITLES, Phase
from reconciler.plan.proposal import Options, Plan
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard
from reconciler.plan.step import Means, Step
from reconciler.ports import Answer, ReadRequest
from reconciler.show.plan import plan_lines
from tests.faults.scenario import DAY
from tests.property.transitions import TOPICS, Transition, transitions
from tests.unit.apply.bridge_stage import TERMS, Recording, Stage
from tests.worlds import acl

PLACE: Final = Origin("all.yaml", 1, 1)
OLD, NEW = ((1,), (2,)), ((2,), (1,))
MOVE: Final = Step(
    Phase.MOVE_REPLICAS, Update(TopicReplicas("moving", OLD, "id-moving"), TopicReplicas("moving", NEW, "id-moving"))
)
_NUMBERED: Final = re.compile(r"(\d+)\. (.+?)(?: \([\d,]+\))?(?:, only where .*)?")
_KINDS: Final[dict[str, Sequence[ListedItem]]] = {
    ClientQuota.KIND: [ClientQuota(QuotaEntity.of("q"), {"producer_byte_rate": rate}) for rate in (1, 2)],
    GroupConfig.KIND: [GroupConfig("g", {"consumer.session.timeout.ms": f"{time}"}) for time in (50000, 60000)],
    ScramUser.KIND: [ScramUser("u", {name: DISABLED_ITERATIONS}) for name in ("SCRAM-SHA-256", "SCRAM-SHA-512")],
}


class Sending(Recording):
    """Keeps what it is sent, in order."""

    def __init__(self, state: ClusterState) -> None:
        super().__init__(state)
        self.snapshot = replace(self.snapshot, racks={1: None, 2: None})
        self.sent: list[Change] = []

    def read(self, request: ReadRequest) -> ClusterState:
        return super().read(replace(request, listings=_KINDS, layout=("moving",)))

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        self.sent += changes
        return super().send(changes)


@st.composite
def everything(draw: st.DrawFn) -> Transition:
    """Bindings and topics as elsewhere, and of every other kind one that comes, goes or is altered; often a move."""
    found = draw(transitions())
    listings, wanted = {}, {}
    for items in _KINDS.values():
        live, wish = draw(st.sampled_from([(None, items[0]), (items[0], None), (items[0], items[1]), (None, None)]))
        listings[items[0].KIND] = Listing(frozenset({live} if live else ()), may_alter=True)
        some = wish or live
        if some is not None:
            one = DesiredItem(some, Declaration(PLACE), absent=wish is None)
            wanted[some.KIND] = {some.key: one}
    live_topics = dict(found.live.topics)
    if draw(st.booleans()):
        live_topics["moving"] = Topic("moving", 2, 1, {}, "id-moving", OLD)
    state = replace(
        found.live, topics=live_topics, listings=listings, broker_defaults={"auto.create.topics.enable": "false"}
    )
    return Transition(state, replace(found.desired, listed=wanted))


def plan_of(desired: DesiredState, live: ClusterState) -> Plan:
    request = Request(DAY, Options(allow_deletes=True))
    # Each word brings steps back, which other guards judge.
    while (made := propose(desired, live, TERMS, request)).refusals:
        words = tuple(AcceptedGuard(refusal.guard, refusal.object) for refusal in made.refusals)
        request = replace(request, accepted=(*request.accepted, *words))
    if "moving" not in live.topics:
        return made
    effects = (*made.access.effects, None) if made.access.effects else ()
    return replace(made, steps=(*made.steps, MOVE), access=replace(made.access, effects=effects))


def printed(plan: Plan) -> list[str]:
    """The titles of the numbered phases, which count from one."""
    lines = filter(None, (_NUMBERED.fullmatch(line) for line in plan_lines(plan, expand=True)))
    numbered = [(int(line[1]), line[2]) for line in lines]
    assert [number for number, _ in numbered] == [*range(1, len(numbered) + 1)]
    return [title for _, title in numbered]


def stages(plan: Plan, sent: Sequence[Change]) -> Iterator[str]:
    """What each request is for, in the words of the plan; the run's own sentinels are for none."""
    phases = {step.change: step.phase for step in plan.steps}
    own = {bridge.binding: bridge.means for bridge in plan.bridges.wanted}
    for change in sent:
        binding = resource_of(change)
        marker = isinstance(binding, AclBinding) and bool(markers([binding]))
        if marker or own.get(binding) is not None:
            yield "create temporary allow-all ACLs" if isinstance(change, Create) else "delete temporary allow-all ACLs"
        elif change in phases:
            yield TITLES[phases[change]]
        else:
            assert is_reserved(binding.pattern.name), change


def holds(found: Transition) -> tuple[str, ...]:
    """Performs the plan and compares; what was printed."""
    stage = Stage(found.live.bindings, frozenset(found.desired.bindings))
    sending = Sending(found.live)
    stage.cluster = stage.nodes.cluster = sending
    plan = plan_of(found.desired, found.live)
    result = stage.apply(plan)
    failed = any(one.outcome not in GOOD for one in result.outcomes)  # a config that no broker takes
    # Where a step failed a bridge may have to stay, and at the end of the run it is tried again.
    order = [
        title
        for title, _ in groupby(stages(plan, sending.sent))
        if not (failed and title == "delete temporary allow-all ACLs")
    ]
    shown = printed(plan)
    # A bridge that the plan creates, or deletes, is one of its own bindings: its phase may be empty then.
    moved = {item.binding for item in plan.bridges.wanted if item.means is not Means.BRIDGE}
    own = {TITLES[step.phase] for step in plan.steps if resource_of(step.change) in moved}
    assert order == [title for title in shown if title in order]
    assert failed or {*shown} - {*order} <= own
    return tuple(order)


@settings(phases=[Stages.explicit, Stages.reuse, Stages.generate])  # an example is a whole run: to shrink takes minutes
@given(everything())
def test_requests_are_sent_in_the_printed_order(found: Transition) -> None:
    with suppress(UnprovenError):  # a DENY for everybody that hides the probe's answers: nothing is sent
        holds(found)


def test_bridges_go_before_quotas_group_configs_and_moves() -> None:
    topics = {name: Topic(name, 1, 1, {}, f"id-{name}") for name in TOPICS[:1]} | {
        "moving": Topic("moving", 2, 1, {}, "id-moving", OLD),
        "x": Topic("x", 1, 1, {}, "id-x"),
    }
    listings: dict[str, Listing[ListedItem]] = {
        items[0].KIND: Listing(frozenset({items[0]}), may_alter=True) for items in _KINDS.values()
    }
    live = ClusterState("cluster", frozenset({acl("other", "User:z")}), topics, listings=listings)
    wanted = {acl("other", "User:z"), acl("x", "User:a"), acl("x", "User:b")}
    desired = DesiredState(
        {binding: Declaration(PLACE) for binding in sorted(wanted)},
        listed={items[1].KIND: {items[1].key: DesiredItem(items[1], Declaration(PLACE))} for items in _KINDS.values()},
    )
    order = holds(Transition(live, desired))
    assert order == (
        "create temporary allow-all ACLs",
        TITLES[Phase.ALTER_USERS],
        TITLES[Phase.CREATE_ALLOW],
        "delete temporary allow-all ACLs",
        TITLES[Phase.ALTER_QUOTAS],
        TITLES[Phase.ALTER_DYNAMIC_CONFIGS],
        TITLES[Phase.MOVE_REPLICAS],
    )
