"""What leaves a plan on its way, and for which reason: several reasons at once, and all that waits for what left."""

from itertools import product
from random import Random
from typing import Final

import pytest

from reconciler.model.acl import AccessControlEntry, AclBinding, AclOperation, AclPermissionType
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, Origin
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Change, Create, Delete, Listing, Update
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.secrets import NOTHING_PERMITTED
from reconciler.model.state import ClusterState
from reconciler.plan.difference import DeclaredChange, SkipReason
from reconciler.plan.kinds import describe
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.observed import Facts
from reconciler.plan.order import Blockers, ordered
from reconciler.plan.proposal import Options, Selection, Terms
from reconciler.plan.propose import Request, UnsafeSelectionError, conditions_of, propose
from tests.property.transitions import DAY, PATTERNS, declared

PLACE: Final = Origin("u.yaml", 1, 1)
NOTE: Final = Declaration(PLACE)
USER: Final = ScramUser("a", {"SCRAM-SHA-256": 4096})


def test_of_several_reasons_the_first_one_counts_in_a_fixed_order() -> None:
    """A user that goes: excluded by a person, then impossible for its login, then held back."""
    other = ScramUser("b", {"SCRAM-SHA-256": 4096})
    live = ClusterState("c", listings={ScramUser.KIND: Listing(frozenset({USER, other}))})
    desired = DesiredState(
        listed={
            ScramUser.KIND: {one.name: DesiredItem(one.with_values({}), NOTE, absent=True) for one in (USER, other)}
        }
    )
    everybody = Scope(include=(Selector(NameSelector(any_name=True)),))
    for excluded, login, allowed in product((False, True), ("", "declared", "connection"), (False, True)):
        selection = Selection(exclude=("principals=User:a",)) if excluded else Selection()
        facts = Facts(principal="User:a" if login == "declared" else None)
        terms = Terms("c", scope=everybody, default_allow=False, facts=facts)
        request = Request(
            DAY,
            Options(allow_deletes=allowed, selection=selection),
            login="User:a" if login == "connection" else None,
        )
        plan = propose(desired, live, terms, request)
        held = None if allowed else SkipReason.HELD_BACK
        reason = SkipReason.EXCLUDED if excluded else SkipReason.IMPOSSIBLE if login else held
        found = {one.subject: (one.reason, one.change, one.origin) for one in plan.skipped}
        gone, kept = Delete(USER), Delete(other)
        expected = {} if reason is None else {describe(gone): (reason, gone, PLACE)}
        if not allowed:
            expected[describe(kept)] = (SkipReason.HELD_BACK, kept, PLACE)
        assert found == expected
        assert [step.change for step in plan.steps] == ([gone] * (reason is None) + [kept]) * allowed


def test_only_what_is_there_afterwards_needs_no_leave_to_delete() -> None:
    """Creations and changes go on; deletions alone are held back."""
    there, wanted = ScramUser("a", {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 4096}), USER
    assert isinstance(Update(there, wanted), Update)
    live = ClusterState("c", listings={ScramUser.KIND: Listing(frozenset({there}))})
    desired = DesiredState(listed={ScramUser.KIND: {"a": DesiredItem(wanted, NOTE)}})
    terms = Terms("c", default_allow=False, scope=Scope(include=(Selector(NameSelector(any_name=True)),)))
    plan = propose(desired, live, terms, Request(DAY))
    assert [step.change for step in plan.steps] == [Update(there, wanted)]


def test_whose_login_no_plan_changes_is_everybody_whom_anybody_states() -> None:
    facts = Facts("User:us", ("User:broker",), ("User:s", "User:us"))
    for probe, login in product((None, "User:p", "User:s"), (None, "User:us", "User:me")):
        found = conditions_of(Terms("c", probe=probe, facts=facts), login, NOTHING_PERMITTED).logins
        expected = {"User:s": "a super user", "User:broker": "a principal of the brokers"}
        if probe:
            expected[probe] = "the probe of the barriers"
        expected["User:us"] = "our own login"
        if login:
            expected[login] = "our own login"
        assert found == expected
    assert conditions_of(Terms("c"), None, NOTHING_PERMITTED).logins == {}


ENTRIES: Final = [
    AccessControlEntry(who, host, AclOperation.READ, permission)
    for who, host, permission in product(
        ("User:a", "User:b", "User:*"), ("*", "10.0.0.1"), (AclPermissionType.DENY, AclPermissionType.ALLOW)
    )
]
EVERY: Final = [AclBinding(pattern, entry) for pattern, entry in product(PATTERNS, ENTRIES)]


@pytest.mark.parametrize("default_allow", [False, True, None])
def test_what_waits_for_what_cannot_be_carried_waits_too_and_so_does_what_waits_for_that(
    default_allow: bool | None,
) -> None:
    """As one goes through the list again and again until nothing more has to wait."""
    random, waited = Random(2), 0
    for _ in range(40):
        before, after = (frozenset(random.sample(EVERY, random.randint(1, 6))) for _ in range(2))
        carried = {binding for binding in EVERY if random.random() < 0.7}
        request = Request(
            DAY,
            Options(allow_deletes=True),
            unsupported=lambda one, carried=carried: None if one in carried else "not carried",  # type: ignore[misc]
        )
        plan = propose(declared(after, {}), ClusterState("c", before), Terms("c", default_allow=default_allow), request)
        changes: dict[AclBinding, Change] = {one: Create(one) for one in after - before}
        changes |= {one: Delete(one) for one in before - after}
        gone = {one for one in changes if one not in carried}
        alone = set(gone)
        while True:
            left = [DeclaredChange(change) for one, change in changes.items() if one not in gone]
            blockers = Blockers((changes[one] for one in gone), default_allow=default_allow)
            more = {
                touched_binding(step.change)
                for step in ordered(left, (), default_allow=default_allow)
                if blockers.blocking(step) is not None
            }
            if not more:
                break
            gone |= {one for one in more if one is not None}
        assert {touched_binding(step.change) for step in plan.steps} == changes.keys() - gone
        skipped = {touched_binding(one.change): one for one in plan.skipped if one.change is not None}
        assert skipped.keys() == gone
        for binding, one in skipped.items():
            assert one.reason is SkipReason.UNSUPPORTED
            assert (one.detail == "not carried") is (binding in alone)
            assert binding in alone or one.detail.startswith("waits for `")
        waited += len(gone) - len(alone)
    assert waited > 10


@pytest.mark.parametrize("default_allow", [False, True])
def test_a_selection_is_refused_exactly_where_it_tears_a_step_from_one_that_it_waits_for(default_allow: bool) -> None:
    random, refused = Random(4), 0
    for _ in range(120):
        before, after = (frozenset(random.sample(EVERY, random.randint(1, 4))) for _ in range(2))
        who = random.choice(("User:a", "User:b", "User:*"))
        selection = Selection(exclude=(f"principals={who}",) if who != "User:*" else ("topics=x*",))
        stays = selection.predicate()
        request = Request(DAY, Options(allow_deletes=True, selection=selection))
        changes: list[Change] = [*map(Create, sorted(after - before)), *map(Delete, sorted(before - after))]
        kept = [DeclaredChange(change) for change in changes if stays(change)]
        blockers = Blockers((change for change in changes if not stays(change)), default_allow=default_allow)
        torn = any(blockers.blocking(step) for step in ordered(kept, (), default_allow=default_allow))
        live, terms = ClusterState("c", before), Terms("c", default_allow=default_allow)
        if torn:
            refused += 1
            with pytest.raises(UnsafeSelectionError, match="select both or neither"):
                propose(declared(after, {}), live, terms, request)
        else:
            plan = propose(declared(after, {}), live, terms, request)
            assert {step.change for step in plan.steps} == {one.change for one in kept}
    assert 10 < refused < 110
