"""Laws of tightening: rights only shrink, what was seen stays, DENYs stay, and a second time nothing is left to do."""

import datetime

from hypothesis import given
from hypothesis import strategies as st

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.access.difference import compare_access
from reconciler.model.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    AclBinding,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from reconciler.parts.evidence.proof import Proven, prove
from reconciler.parts.evidence.suggestion import GrantedRight, Thresholds, suggest
from reconciler.parts.evidence.usage.cluster import permitted
from reconciler.parts.evidence.usage.counts import DaySet, EventCount, Period, UsageEvidence, days_between
from reconciler.parts.evidence.usage.message import Event
from tests.property.strategies import bindings

FIRST, LAST = datetime.date(2026, 8, 1), datetime.date(2026, 11, 22)
PERIOD = Period(FIRST, LAST, days_between(FIRST, LAST))
#: Everything is evidence enough, so that as much as can be is narrowed.
EAGER = Thresholds(principal_days=0, unseen_days=0, names=3, hosts=2)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[frozenset[AclBinding], list[tuple[Event, DaySet]]]:
    """A state, and accesses most of which one of its bindings is about."""
    state = draw(st.frozensets(bindings, max_size=10))
    return state, draw(st.lists(st.tuples(events(sorted(state)), days), max_size=12))


@st.composite
def events(draw: st.DrawFn, state: list[AclBinding]) -> Event:
    if state:
        (kind, name, pattern_type), (principal, host, operation, _) = draw(st.sampled_from(state))
    else:
        (kind, name, pattern_type), (principal, host, operation, _) = draw(bindings)
    if name == "*" or pattern_type is PatternType.PREFIXED:
        name = ("" if name == "*" else name) + draw(st.text("ab", min_size=name == "*", max_size=1))
    if kind is ResourceType.CLUSTER:
        name = CLUSTER_NAME
    supported = sorted(SUPPORTED_OPERATIONS[kind])
    if operation not in supported or draw(st.integers(0, 2)) == 0:
        operation = draw(st.sampled_from(supported))
    principal = "User:b" if principal == "User:*" else principal
    host = "10.0.0.1" if host == "*" else host
    some = kind is ResourceType.TOPIC and draw(st.integers(0, 9)) == 0
    return Event(AccessRequest(principal, host, operation, kind, "hardcode" if some else name), True, on_some=some)


days = st.sets(st.integers(0, (LAST - FIRST).days), min_size=1, max_size=4).map(
    lambda found: DaySet(FIRST.toordinal(), sum(1 << day for day in found))
)


def evidence_of(rights: Authorizer, accesses: list[tuple[Event, DaySet]]) -> UsageEvidence:
    """Only what these rights permit, as a log of a cluster that has them."""
    found = UsageEvidence(rights.bindings, rights.kafka_version, PERIOD)
    for event, on in accesses:
        if permitted(rights, event)[0]:
            found.see(event, EventCount(on.number), DaySet(on.start, on.bits))
    return found


def tightened(rights: Authorizer, accesses: list[tuple[Event, DaySet]], *, in_roles: bool) -> Proven:
    evidence = evidence_of(rights, accesses)
    allowed = [one for one in rights.bindings if one.entry.permission_type is AclPermissionType.ALLOW]
    # What one principal has of one type comes from one role, on a name of its own where that is a prefix.
    wanted = [
        GrantedRight(one, one.pattern.resource_type if in_roles else None, in_roles and len(one.pattern.name) > 2)
        for one in allowed
    ]
    return prove(rights, suggest(wanted, evidence, EAGER, lambda _: None).narrowings, evidence)


@given(scenes(), st.sampled_from([True, False, None]), st.booleans())
def test_rights_only_shrink_and_what_was_seen_is_decided_the_same(
    scene: tuple[frozenset[AclBinding], list[tuple[Event, DaySet]]], default_allow: bool | None, in_roles: bool
) -> None:
    state, accesses = scene
    before = Authorizer(state, allow_everyone_if_no_acl_found=default_allow)
    found = tightened(before, accesses, in_roles=in_roles)
    difference = compare_access(before, found.after)
    assert not any(row.gained for row in (*difference.rows, *difference.reached()))
    for event, _ in accesses:
        if permitted(before, event)[0]:
            assert permitted(found.after, event)[0]
    denied = {one for one in state if one.entry.permission_type is AclPermissionType.DENY}
    assert denied <= found.after.bindings
    everybody = {one for one in state if one.entry.principal == "User:*"}
    assert everybody <= found.after.bindings
    expected = state.difference(*(one.bindings for one in found.narrowings)).union(
        *(one.into for one in found.narrowings)
    )
    assert found.after.bindings == expected


@given(scenes(), st.sampled_from([True, False, None]))
def test_a_second_time_nothing_is_left_to_do(
    scene: tuple[frozenset[AclBinding], list[tuple[Event, DaySet]]], default_allow: bool | None
) -> None:
    state, accesses = scene
    before = Authorizer(state, allow_everyone_if_no_acl_found=default_allow)
    accesses = [one for one in accesses if permitted(before, one[0])[0]]
    once = tightened(before, accesses, in_roles=False)
    again = tightened(once.after, accesses, in_roles=False)
    assert again.narrowings == ()


@given(st.sets(st.dates(FIRST, LAST), min_size=1), st.sets(st.dates(FIRST, LAST)))
def test_days_are_sets(some: set[datetime.date], others: set[datetime.date]) -> None:
    def kept(dates: set[datetime.date]) -> DaySet:
        found = DaySet()
        for one in dates:
            found = found.with_day(one.toordinal())
        return found

    both = kept(some) | kept(others)
    assert list(both.each()) == sorted(some | others)
    assert (both.number, both.first, both.last) == (len(some | others), min(some | others), max(some | others))
