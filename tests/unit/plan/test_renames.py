"""A rename in one plan interrupts clients that have not changed their login: it is called out, and a grant is not."""

from reconciler.model.acl import AclBinding
from reconciler.model.state import ClusterState
from reconciler.plan.review.access_review import RENAMED
from tests.unit.apply.test_perform import acl, planned


def _told(live: list[AclBinding], wanted: list[AclBinding]) -> list[str]:
    plan = planned(ClusterState("it", frozenset(live)), *wanted)
    return [one.principal for one in plan.access.callouts if one.rule == RENAMED]


def _both(principal: str) -> list[AclBinding]:
    return [acl("orders", principal=principal), acl("pay-", principal=principal, operation="WRITE")]


def test_what_one_loses_and_another_gains_is_a_rename() -> None:
    assert _told(_both("User:a"), _both("User:b")) == ["User:a"]


def test_a_name_that_keeps_something_or_another_gain_is_none() -> None:
    assert _told(_both("User:a"), [*_both("User:a"), *_both("User:b")]) == []
    assert _told(_both("User:a"), _both("User:b")[:1]) == []
    assert _told([], _both("User:b")) == []


def test_very_many_renames_are_one_decision() -> None:
    old = [binding for number in range(40) for binding in _both(f"User:old{number:02}")]
    new = [binding for number in range(40) for binding in _both(f"User:new{number:02}")]
    assert _told(old, new) == ["User:old00", "User:old01", "User:old02", "User:old03"]
