"""``--only`` of what is and is not meant: what it selects, and what it refuses to tear apart."""

import pytest

from reconciler.model.acl import AclBinding
from reconciler.model.desired import DesiredTopic, Origin
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.kinds import describe
from reconciler.plan.kinds.acl import created_bindings
from reconciler.plan.proposal import Options, Plan, Selection, Terms
from reconciler.plan.propose import Request, UnsafeSelectionError, propose
from tests.property.transitions import DAY, declared
from tests.unit.apply.test_perform import acl

PLACE = Origin("topics.yaml", 1, 1)


def plan_with(selection: Selection, *wanted: AclBinding, live: tuple[AclBinding, ...] = ()) -> Plan:
    state = ClusterState("c", frozenset(live))
    request = Request(DAY, Options(allow_deletes=True, selection=selection))
    return propose(declared(frozenset(wanted), {}), state, Terms("c", default_allow=False), request)


def names(plan: Plan) -> list[str]:
    return [binding.pattern.name for binding in created_bindings(step.change for step in plan.steps)]


def test_only_and_exclude_choose_by_the_fields_of_manifests() -> None:
    wanted = (acl("pay.a"), acl("pay.b"), acl("other", principal="User:b"))
    assert names(plan_with(Selection(only=("topics=pay.*",)), *wanted)) == ["pay.a", "pay.b"]
    assert names(plan_with(Selection(only=("principals=User:b",)), *wanted)) == ["other"]
    assert names(plan_with(Selection(only=("topics=pay.*",), exclude=("topics=pay.b",)), *wanted)) == ["pay.a"]
    assert names(plan_with(Selection(exclude=("topics=*",)), *wanted)) == []


def test_what_is_left_out_is_listed() -> None:
    plan = plan_with(Selection(only=("topics=a",)), acl("a"), acl("b"))
    assert [(left.reason, left.subject) for left in plan.skipped] == [
        ("excluded", "create User:a ALLOW READ on TOPIC b")
    ]


@pytest.mark.parametrize("text", ["topics", "topics=", "names=x", "=x"])
def test_a_selection_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="topics"):
        Selection(only=(text,))


@pytest.mark.parametrize(
    ("wanted", "live"),
    [
        pytest.param((acl("x-", "DENY"), acl("x-1")), (), id="an ALLOW without the DENY that limits it"),
        pytest.param((), (acl("x-"), acl("x-1", "DENY")), id="a lifted DENY without the revocation"),
        pytest.param((acl("x-"),), (acl("x-1"),), id="a revocation without what replaces it"),
    ],
)
def test_what_belongs_together_is_not_torn_apart(wanted: tuple[AclBinding, ...], live: tuple[AclBinding, ...]) -> None:
    with pytest.raises(UnsafeSelectionError, match="select both or neither"):
        plan_with(Selection(only=("topics=x-1",)), *wanted, live=live)


NEW, OLD = DesiredTopic(Topic("x-1", 1, 1), PLACE), DesiredTopic(Topic("x-2"), PLACE, absent=True)


@pytest.mark.parametrize(
    ("wanted", "live", "waiting"),
    [
        pytest.param((acl("x-", "DENY"),), (), "create topic x-1", id="a new topic without its DENY"),
        pytest.param((acl("x-"),), (), "create topic x-1", id="a new topic without its grant"),
        pytest.param((), (acl("x-"),), "delete topic x-2", id="a topic that goes while somebody may bring it back"),
    ],
)
def test_a_topic_is_not_torn_from_the_bindings_that_reach_it(
    wanted: tuple[AclBinding, ...], live: tuple[AclBinding, ...], waiting: str
) -> None:
    state = ClusterState("c", frozenset(live), {"x-2": Topic("x-2", 1, 1)})
    wish = declared(frozenset(wanted), {"x-1": NEW, "x-2": OLD})
    for selection in (Selection(only=("topics=x-1", "topics=x-2")), Selection(exclude=("principals=*",))):
        request = Request(DAY, Options(allow_deletes=True, selection=selection))
        with pytest.raises(UnsafeSelectionError, match=f"keeps “{waiting}” but leaves out"):
            propose(wish, state, Terms("c", default_allow=False), request)


def test_topics_that_nothing_left_out_reaches_can_be_selected() -> None:
    wish = declared(frozenset({acl("x-1"), acl("other")}), {"x-1": NEW})
    request = Request(DAY, Options(selection=Selection(only=("topics=x-1",))))
    plan = propose(wish, ClusterState("c"), Terms("c", default_allow=False), request)
    assert [describe(step.change) for step in plan.steps] == [f"create {acl('x-1')}", "create topic x-1"]
