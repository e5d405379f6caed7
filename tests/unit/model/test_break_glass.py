"""Marks of break-glass access: what is written is read back, and nothing that merely looks like it counts."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.acl import AclBinding
from reconciler.model.markers import (
    KEPT,
    LONGEST,
    break_glass_mark,
    break_glass_marks,
    break_glass_over,
    marks_that_stay,
    read_break_glass,
    running_break_glass,
)
from tests.property.strategies import topic_bindings
from tests.worlds import binding

NOW = datetime.datetime(2026, 11, 23, 15, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
ACCESS = binding("User:a.b ALLOW READ on TOPIC x.y-z_")


@given(topic_bindings, st.integers(0, 10**6), st.booleans(), st.lists(st.text(min_size=1), max_size=2))
def test_an_allow_is_read_back_and_a_deny_is_not(
    access: AclBinding, seconds: int, dated: bool, tests: list[str]
) -> None:
    end, since = NOW + datetime.timedelta(seconds=seconds), NOW if dated else None
    found = read_break_glass(break_glass_mark(access, end, since, tests))
    if access.entry.permission_type.name == "ALLOW":
        assert found is not None
        assert (found.binding, found.end, found.since, found.overrode) == (access, end, since, tuple(tests))
    else:
        assert found is None or found.binding != access


def test_it_runs_until_the_instant_and_is_over_at_it() -> None:
    mark = break_glass_mark(ACCESS, NOW + HOUR)
    live = frozenset({ACCESS, mark})
    assert running_break_glass(live, NOW)[ACCESS].end == NOW + HOUR
    assert not break_glass_over(live, NOW)
    assert not running_break_glass(live, NOW + HOUR)
    assert break_glass_over(live, NOW + HOUR).keys() == {ACCESS}


def test_a_mark_is_needed_until_its_access_is_gone_and_cannot_arrive_any_more() -> None:
    mark = break_glass_mark(ACCESS, NOW + HOUR)
    assert break_glass_marks({mark}, NOW) == {mark}, "the access may yet come"
    assert break_glass_marks({mark, ACCESS}, NOW + 2 * HOUR) == {mark}
    assert break_glass_marks({mark}, NOW + HOUR) == {mark}
    assert break_glass_marks({mark}, NOW + HOUR + KEPT) == frozenset()


@pytest.mark.parametrize("hours", [-1_000, -25, -1, 0, 1, 24, 25, 48, 49, 10_000_000])
def test_a_mark_is_not_removed_while_its_access_is_there_whatever_its_end(hours: int) -> None:
    mark = break_glass_mark(ACCESS, NOW + hours * HOUR)
    assert marks_that_stay({mark, ACCESS}, NOW) == {mark}
    assert marks_that_stay({mark}, NOW) == ({mark} if -24 < hours <= 48 else set())


def test_a_mark_that_ends_later_than_any_may_is_none() -> None:
    """Else whoever forges one hides an ACL from plans forever."""
    forged = break_glass_mark(ACCESS, NOW + LONGEST + HOUR)
    assert not running_break_glass({forged, ACCESS}, NOW)
    assert not break_glass_marks({forged, ACCESS}, NOW)
    true = break_glass_mark(ACCESS, NOW + HOUR)
    assert running_break_glass({forged, true, ACCESS}, NOW)[ACCESS].end == NOW + HOUR
