"""Rights of several clusters by one text: together or not at all, whoever of them is not heard."""

import datetime

import pytest

from reconciler.model.acl import AclBinding, AclOperation
from reconciler.model.desired import Origin
from reconciler.parts.evidence.suggestion import HeldReason, Narrowing, SharedRights, SharedUsage
from reconciler.parts.evidence.usage.counts import BindingUsage, days_between
from tests.worlds import binding

X = binding("User:a ALLOW READ on TOPIC x")
OWN = binding("User:a ALLOW READ on TOPIC own")
EAST, WEST = binding("User:a ALLOW READ on TOPIC east"), binding("User:a ALLOW READ on TOPIC west")
NARROW = binding("User:a ALLOW DESCRIBE on TOPIC x")
RULE, OTHER, TEMPLATE = Origin("a.yaml", 3, 1), Origin("b.yaml", 3, 1), Origin("a.yaml", 9, 1)
SHARED = SharedRights({"east": [(X, RULE), (OWN, OTHER)], "west": [(X, RULE)]})
GOES = Narrowing((X,))


def test_what_is_proposed_for_all_holds_and_what_is_nobody_elses_too() -> None:
    kept, held = SHARED.agreed({"east": [GOES, Narrowing((OWN,))], "west": [GOES]})
    assert kept == {"east": [GOES, Narrowing((OWN,))], "west": [GOES]}
    assert held == {"east": [], "west": []}


@pytest.mark.parametrize("theirs", [{}, {"west": []}, {"west": [Narrowing((X,), (NARROW,))]}])
def test_a_cluster_that_is_not_judged_or_says_otherwise_holds_it(theirs: dict[str, list[Narrowing]]) -> None:
    """Without logs, with logs too thin, held there, or narrowed to something else."""
    kept, held = SHARED.agreed({"east": [GOES, Narrowing((OWN,))], **theirs})
    assert kept["east"] == [Narrowing((OWN,))]
    assert [(one.binding, one.reason, one.detail) for one in held["east"]] == [(X, HeldReason.SHARED, "west")]
    assert kept.get("west", []) == []


def test_what_stands_or_falls_with_a_shared_right_stays_with_it() -> None:
    """A role's rights on one name: the other one is declared here only."""
    kept, held = SHARED.agreed({"east": [Narrowing((OWN, X))], "west": []})
    assert kept["east"] == []
    assert {one.binding for one in held["east"]} == {OWN, X}


def test_an_answer_travels_through_all_places_that_declare_a_right() -> None:
    """The rule that east shares with west is another one than that which it shares with south."""
    chain = SharedRights({"south": [(X, OTHER)], "east": [(X, OTHER), (X, RULE)], "west": [(X, RULE)]})
    kept, _ = chain.agreed({"east": [GOES], "west": [GOES]})
    assert kept == {"east": [], "west": []}


def test_variables_make_one_text_of_different_rights() -> None:
    shared = SharedRights({"east": [(EAST, TEMPLATE)], "west": [(WEST, TEMPLATE)]})
    both = {"east": [Narrowing((EAST,))], "west": [Narrowing((WEST,))]}
    assert shared.agreed(both)[0] == both
    assert shared.agreed({"east": both["east"], "west": []})[0] == {"east": [], "west": []}
    rewritten = {"east": [Narrowing((EAST,), (NARROW,))], "west": [Narrowing((WEST,), (NARROW,))]}
    assert shared.agreed(rewritten)[0] == {"east": [], "west": []}, "no text says that with variables"


def test_other_operations_at_one_place_are_other_rights() -> None:
    write = binding("User:a ALLOW WRITE on TOPIC x")
    shared = SharedRights({"east": [(X, RULE), (write, RULE)], "west": [(X, RULE), (write, RULE)]})
    assert shared.agreed({"east": [GOES], "west": [GOES]})[0] == {"east": [GOES], "west": [GOES]}


def _used(name: str) -> BindingUsage:
    days = days_between(datetime.date(2026, 8, 1), datetime.date(2026, 8, 3))
    read = {AclOperation.READ: days}
    return BindingUsage(3, days, dict(read), {name: dict(read)}, {"10.0.0.1": days})


def test_what_was_seen_on_one_counts_on_all_and_no_further() -> None:
    usages: dict[str, dict[AclBinding, BindingUsage]] = {"east": {X: _used("x"), OWN: _used("own")}, "west": {}}
    found = SHARED.seen_by_all({name: SharedUsage(usage=usage) for name, usage in usages.items()})
    assert found["west"].usage == {X: _used("x")}
    assert found["east"].usage == usages["east"]
    more = SHARED.seen_by_all({"east": SharedUsage(usage={X: _used("a")}), "west": SharedUsage(usage={X: _used("b")})})
    assert (set(more["east"].usage[X].names), more["east"].usage[X].times) == ({"a", "b"}, 6)
