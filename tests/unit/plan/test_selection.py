"""``--only`` and ``--exclude``: what they select, and what they refuse to tear apart."""

import pytest

from reconciler.model import AclBinding, ClusterState, CreateAcl
from reconciler.plan import Options, Plan, Request, Selection, Terms, UnsafeSelectionError, propose
from tests.property.transitions import DAY, declared
from tests.unit.apply.test_perform import acl


def plan_with(selection: Selection, *wanted: AclBinding, live: tuple[AclBinding, ...] = ()) -> Plan:
    state = ClusterState("c", frozenset(live))
    request = Request(DAY, Options(allow_deletes=True, selection=selection))
    return propose(declared(frozenset(wanted), {}), state, Terms("c", default_allow=False), request)


def names(plan: Plan) -> list[str]:
    return [step.change.binding.pattern.name for step in plan.steps if isinstance(step.change, CreateAcl)]


def test_only_and_exclude_choose_by_the_fields_of_manifests() -> None:
    wanted = (acl("pay.a"), acl("pay.b"), acl("other", principal="User:b"))
    assert names(plan_with(Selection(only=("topics=pay.*",)), *wanted)) == ["pay.a", "pay.b"]
    assert names(plan_with(Selection(only=("principals=User:b",)), *wanted)) == ["other"]
    assert names(plan_with(Selection(only=("topics=pay.*",), exclude=("topics=pay.b",)), *wanted)) == ["pay.a"]
    assert names(plan_with(Selection(exclude=("topics=*",)), *wanted)) == []


def test_what_is_left_out_is_listed() -> None:
    plan = plan_with(Selection(only=("topics=a",)), acl("a"), acl("b"))
    assert [(left.reason, left.subject) for left in plan.left] == [("excluded", "create User:a ALLOW READ on TOPIC b")]


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
