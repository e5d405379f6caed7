"""Locks and their marks on a cluster: no plan ends one unasked, and each says of it what there is to know."""

import datetime
from itertools import product

import pytest

from reconciler.model.acl import AclBinding
from reconciler.model.locks import LockMark, UnlockMark, lock_denials
from reconciler.model.state import ClusterState
from reconciler.plan.difference import SkipReason
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.leftovers import LOCKED
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.plan.refusal import Guard
from tests.property.transitions import declared
from tests.worlds import acl

NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
NAME = "User:a"
OTHER, GRANT = acl("y", "User:b"), acl("x", NAME)
DENIALS = lock_denials(NAME)
MARK = LockMark(NAME, NOW - HOUR, None, "alice", "INC-7", "key leaked")


def _plan(*live: AclBinding, gives: bool = False, locked: bool = False, unlock: str | None = None) -> Plan:
    state = ClusterState("c", frozenset({OTHER, *live}))
    wanted = declared(frozenset({OTHER, *([GRANT] if gives else [])}), {})
    request = Request(NOW, Options(allow_deletes=True, unlock=unlock), locked=[NAME] if locked else ())
    return propose(wanted, state, Terms("c", default_allow=False), request)


@pytest.mark.parametrize(("marked", "there"), [*product((True, False), (0, 1, len(DENIALS)))])
def test_a_plan_leaves_what_is_marked_as_a_lock_and_says_so(*, marked: bool, there: int) -> None:
    whole = there == len(DENIALS)
    for gives, locked in product((True, False), repeat=2):
        plan = _plan(*DENIALS[:there], *([MARK.binding] if marked else []), gives=gives, locked=locked)
        assert created_bindings(step.change for step in plan.steps) == ([GRANT] if gives and not locked else [])
        gone = deleted_bindings(step.change for step in plan.steps)
        assert set(gone) == set(() if marked or whole else DENIALS[:there])
        refused = {item.object for item in plan.refusals if item.guard is Guard.UNLOCK}
        assert refused == ({NAME} if whole and not marked else set()), "only its mark is gone"
        much = "everything" if whole else "a part of everything"
        lines = [f"{NAME} is locked, denied {much} {MARK.words}: no plan ends it, only “reconciler unlock” does"]
        lines = lines if marked else []
        if locked and not (whole and marked):
            missing = "the cluster has no whole lock of it"
            lines.append(f"the operator's file locks {NAME}, and {missing}: “reconciler lock {NAME}”")
        assert [line for line in plan.warnings if "lock" in line] == lines
        reasons = [SkipReason.LEFTOVER] * (marked and not whole)
        assert [item.reason for item in plan.skipped if item.reason is SkipReason.LEFTOVER] == reasons
        callouts = [item.principal for item in plan.access.callouts if item.rule == LOCKED]
        assert callouts == [NAME] * (marked and gives and not locked)


def test_an_end_that_a_lock_was_given_is_named_and_a_plan_that_unlocks_is_silent_of_it() -> None:
    timed = MARK._replace(until=NOW + HOUR)
    (line,) = (line for line in _plan(*DENIALS, timed.binding).warnings if "is locked" in line)
    assert "; its end was named as 2026-01-01T13:00:00Z: no plan ends it" in line
    plan = _plan(*DENIALS, timed.binding, unlock=NAME)
    assert [line for line in plan.warnings if "is locked" in line] == []
    assert set(deleted_bindings(step.change for step in plan.steps)) == set(DENIALS)
    assert [item for item in plan.refusals if item.guard is Guard.UNLOCK] == []


@pytest.mark.parametrize("hours", [-25, -24, -23, 0, 23, 24, 25])
def test_the_mark_of_an_unlock_is_a_leftover_a_day_later_or_a_day_too_early(hours: int) -> None:
    plan = _plan(UnlockMark(NAME, NOW + hours * HOUR).binding)
    assert [item.reason for item in plan.skipped] == [SkipReason.LEFTOVER] * (abs(hours) >= 24)
    assert plan.steps == ()
