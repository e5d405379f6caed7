"""Which patterns and names get a bridge, which cannot, and what the plan file says of both."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from jsonschema import Draft7Validator

from reconciler.model.acl import AclBinding, AclOperation, PatternType, ResourcePattern, ResourceType
from reconciler.model.desired import DesiredTopic, Origin
from reconciler.model.markers import bridge_on, marker_of
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.file import change_id, parse_plan, plan_id, plan_schema_text, plan_text
from reconciler.plan.kinds import describe
from reconciler.plan.observed import Facts
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import AcceptedGuard, Guard
from tests.faults.scenario import DAY
from tests.property.transitions import Transition, declared, transitions
from tests.worlds import acl

TERMS = Terms("c", default_allow=True, probe="User:probe")
OTHER = acl("other", "User:z")
PLACE = Origin("t.yaml", 1, 1)


def planned(
    live: set[AclBinding],
    wanted: set[AclBinding],
    *topics: str,
    terms: Terms = TERMS,
    wishes: dict[str, DesiredTopic] | None = None,
    guarded: bool = True,
) -> Plan:
    state = ClusterState("cluster", frozenset(live | {OTHER}), {name: Topic(name, 1, 1) for name in topics})
    desired = declared(frozenset(wanted | {OTHER}), wishes or {})
    request = Request(DAY, Options(allow_deletes=True), guarded=guarded)
    return propose(desired, state, terms, request)


def wanted_of(plan: Plan) -> list[str]:
    return [f"{bridge.side} {bridge.pattern}" for bridge in plan.bridges.wanted]


def unbridged_of(plan: Plan) -> dict[str, str]:
    return {str(item.pattern): item.reason for item in plan.bridges.unbridged}


def test_a_pattern_that_meets_nothing_is_bridged_whole_and_the_widest_is_enough() -> None:
    plan = planned(set(), {acl("x-", "User:a"), acl("x-1", "User:b"), acl("y", "User:a")}, "x-7")
    assert wanted_of(plan) == ["closing TOPIC PREFIXED x-", "closing TOPIC y"]
    assert plan.bridges.unbridged == ()
    assert plan.bridges.wanted[0].principals == ("User:a", "User:b")
    back = planned({acl("x-", "User:a"), acl("x-1", "User:b"), acl("y", "User:a")}, set(), "x-7")
    assert wanted_of(back) == ["opening TOPIC PREFIXED x-", "opening TOPIC y"]


def test_under_a_partly_covered_pattern_existing_names_are_bridged_and_the_rest_is_told() -> None:
    plan = planned({acl("x-1", "User:a")}, {acl("x-1", "User:a"), acl("x-", "User:b")}, "x-1", "x-2", "x-3", "z")
    assert wanted_of(plan) == ["closing TOPIC x-2", "closing TOPIC x-3"]
    assert "do not exist yet" in unbridged_of(plan)["TOPIC PREFIXED x-"]
    assert plan.bridges.unbridged[0].principals == ("User:b",)


def test_where_topics_may_be_hidden_that_is_the_reason() -> None:
    """Not *do not exist yet*: a topic that is there and that we do not see may be interrupted."""
    live = ClusterState("cluster", frozenset({acl("x-1", "User:a")}), {"x-1": Topic("x-1", 1, 1)}, topic_gap="no right")
    wanted = declared(frozenset({acl("x-1", "User:a"), acl("x-", "User:b")}), {})
    plan = propose(wanted, live, TERMS, Request(DAY, Options(allow_deletes=True)))
    assert "may be hidden" in unbridged_of(plan)["TOPIC PREFIXED x-"]


def test_names_that_only_we_use_get_no_bridge() -> None:
    """A topic or group of such a name is another run's: a bridge there would be its sentinel, to us and to it."""
    prefix = AclBinding(ResourcePattern(ResourceType.TOPIC, "__", PatternType.PREFIXED), acl("x", "User:b").entry)
    taken = acl("__a", "User:a")
    plan = planned({taken}, {taken, prefix}, "__kr-flag.1", "__kr.1", "__b")
    assert "closing TOPIC __b" in wanted_of(plan)
    assert not [name for name in wanted_of(plan) if "__kr-flag.1" in name or "__kr.1" in name]


def test_every_topic_at_once() -> None:
    whole = {acl("*", "User:a")}
    assert wanted_of(planned(set(), whole, "x")) == ["closing TOPIC x"], "another name has a binding already"
    kind = replace(TERMS, scope=Scope((Selector(None, ResourceType.GROUP, NameSelector(any_name=True)),)))
    group = {acl("*", "User:a", resource_type=ResourceType.GROUP)}
    assert wanted_of(planned(set(), group, terms=kind)) == ["closing GROUP *"]


@pytest.mark.parametrize("kind", [ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID])
def test_groups_and_transactional_ids_are_bridged_whole_or_told(kind: ResourceType) -> None:
    grant, wide = acl("x-1", "User:a", resource_type=kind), acl("x-", "User:b", resource_type=kind)
    assert wanted_of(planned(set(), {wide})) == [f"closing {kind.name} PREFIXED x-"]
    partly = planned({grant}, {grant, wide})
    assert partly.bridges.wanted == ()
    assert "not known" in unbridged_of(partly)[f"{kind.name} PREFIXED x-"]


def test_existing_groups_are_bridged_one_by_one_where_they_are_known() -> None:
    kind = ResourceType.GROUP
    grant, wide = acl("x-1", "User:a", resource_type=kind), acl("x-", "User:b", resource_type=kind)
    every = acl("*", "User:b", resource_type=kind)
    live = ClusterState("cluster", frozenset({grant}), groups=frozenset({"x-1", "x-2", "y", "!hangs"}))
    request = Request(DAY, Options(allow_deletes=True))
    plan = propose(declared(frozenset({grant, wide}), {}), live, TERMS, request)
    assert wanted_of(plan) == ["closing GROUP x-2"]
    assert "do not exist yet" in unbridged_of(plan)["GROUP PREFIXED x-"]
    plan = propose(declared(frozenset({grant, every}), {}), live, TERMS, request)
    assert wanted_of(plan) == ["closing GROUP x-2", "closing GROUP y"]
    assert "hang" in unbridged_of(plan)["GROUP !hangs"], "a bridge must not break a broker"


def test_the_cluster_is_never_bridged() -> None:
    binding = acl("kafka-cluster", "User:a", AclOperation.DESCRIBE, resource_type=ResourceType.CLUSTER)
    plan = planned(set(), {binding})
    assert plan.bridges.wanted == ()
    assert "never bridged" in unbridged_of(plan)["CLUSTER kafka-cluster"]


def _topics(prefix: str) -> Selector:
    return Selector(None, ResourceType.TOPIC, NameSelector(prefixes=(prefix,)))


@pytest.mark.parametrize(
    ("terms", "word"),
    [
        (replace(TERMS, facts=Facts(protect=(_topics("x-1"),))), "protected"),
        (replace(TERMS, scope=Scope(ignore=(_topics("x-1"),))), "ignored"),
        (replace(TERMS, scope=Scope(exclude=(_topics("x-1"),))), "excluded"),
    ],
)
def test_what_must_not_be_touched_is_not_bridged_and_the_names_beside_it_are(terms: Terms, word: str) -> None:
    plan = planned(set(), {acl("x-", "User:a")}, "x-1", "x-2", terms=terms, guarded=False)
    assert wanted_of(plan) == ["closing TOPIC x-2"]
    told = unbridged_of(plan)
    assert word in told["TOPIC PREFIXED x-"]
    assert word in told["TOPIC x-1"]


def test_names_out_of_scope_are_not_bridged_though_a_principal_of_the_scope_has_bindings_there() -> None:
    named = Selector(NameSelector(prefixes=("User:svc",)), ResourceType.TOPIC, NameSelector(prefixes=("x-",)))
    everywhere = Selector(NameSelector(literal=("User:ops",)))
    inside = planned(set(), {acl("x-1", "User:svc")}, terms=replace(TERMS, scope=Scope((named,))))
    assert wanted_of(inside) == ["closing TOPIC x-1"]
    both = replace(TERMS, scope=Scope((named, everywhere)))
    assert wanted_of(planned(set(), {acl("y", "User:ops")}, terms=both)) == ["closing TOPIC y"]


def test_topics_that_come_or_go_with_the_plan_are_not_opened_to_everyone() -> None:
    born = {"x": DesiredTopic(Topic("x", 1, 1), PLACE)}
    assert not planned(set(), {acl("x", "User:a")}, wishes=born).bridges
    dying = {"x-1": DesiredTopic(Topic("x-1"), PLACE, absent=True)}
    plan = planned({acl("x-", "User:a")}, set(), "x-1", "x-2", wishes=dying, guarded=False)
    assert wanted_of(plan) == ["opening TOPIC x-2"]
    assert "the plan deletes topic x-1" in unbridged_of(plan)["TOPIC x-1"]


@pytest.mark.parametrize("default_allow", [False, None])
def test_nothing_is_bridged_where_default_allow_is_not_declared_on(default_allow: bool | None) -> None:
    assert not planned(set(), {acl("x", "User:a")}, terms=replace(TERMS, default_allow=default_allow)).bridges


def test_without_a_probe_everything_is_told() -> None:
    plan = planned(set(), {acl("x", "User:a")}, terms=replace(TERMS, probe=None))
    assert plan.bridges.wanted == ()
    assert "cannot be observed" in unbridged_of(plan)["TOPIC x"]


def test_opening_needs_a_word_that_names_it_and_closing_none() -> None:
    assert planned(set(), {acl("x-", "User:a")}).refusals == ()
    refused = planned({acl("x-", "User:a"), acl("y", "User:a")}, set()).refusals
    assert [(refusal.guard, refusal.object) for refusal in refused] == [
        (Guard.OPEN_BY_DEFAULT, "TOPIC PREFIXED x-"),
        (Guard.OPEN_BY_DEFAULT, "TOPIC y"),
    ]
    state = ClusterState("cluster", frozenset({OTHER, acl("y", "User:a")}))
    word = AcceptedGuard(Guard.OPEN_BY_DEFAULT, "TOPIC y")
    request = Request(DAY, Options(allow_deletes=True), accepted=(word,))
    assert propose(declared(frozenset({OTHER}), {}), state, TERMS, request).refusals == ()


def test_bridges_count_in_no_limit_and_in_every_id() -> None:
    plan = planned(set(), {acl("x", "User:a")})
    plain = replace(plan, bridges=type(plan.bridges)())
    assert plan.bridges.wanted
    assert change_id(plan) != change_id(plain)
    assert plan_id(plan) != plan_id(plain)
    assert len(plan.steps) == 1


def test_a_bridge_of_another_run_is_nobodys_difference() -> None:
    pattern = acl("x", "").pattern
    there = {bridge_on(pattern), marker_of("dead", pattern)}
    assert planned(there, set()).steps == ()
    meant = planned({bridge_on(pattern)}, set())
    assert [describe(step.change) for step in meant.steps] == [f"delete {bridge_on(pattern)}"]


@given(transitions())
def test_a_plan_with_bridges_reads_back_equal_and_keeps_its_schema(transition: Transition) -> None:
    plan = propose(transition.desired, transition.live, TERMS, Request(DAY, Options(allow_deletes=True)))
    plan = replace(plan, refusals=())
    text = plan_text(plan)
    assert parse_plan(text) == plan
    Draft7Validator(json.loads(plan_schema_text())).validate(json.loads(text))


@pytest.mark.parametrize("wide", ["*", "_"])
@pytest.mark.parametrize("wanted", [True, False])
def test_what_hides_default_allow_from_the_probe_is_said_with_whom_it_may_interrupt(wide: str, wanted: bool) -> None:
    kind = PatternType.LITERAL if wide == "*" else PatternType.PREFIXED
    hides = AclBinding(ResourcePattern(ResourceType.TOPIC, wide, kind), acl("x", "User:z").entry)
    group = acl("g", "User:a", resource_type=ResourceType.GROUP)
    plan = planned({hides, *([] if wanted else [group])}, {hides, *([group] if wanted else [])})
    assert plan.bridges.wanted == ()
    (item,) = plan.bridges.unbridged
    assert item.principals == ("User:a",)
    assert "hide default-allow from the probe" in item.reason
