"""What counts as use, what the logs cannot tell, and what covers a window."""

import datetime
from collections import Counter
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.parts.evidence.suggestion import Narrowing, Thresholds, _is_implied, thin_evidence
from reconciler.parts.evidence.usage.cluster import (
    BindingUse,
    BindingUseCollector,
    ClusterUsage,
    UsageAnalysis,
    UsageQuestion,
)
from reconciler.parts.evidence.usage.counts import _MOST_NAMES as MOST_NAMES
from reconciler.parts.evidence.usage.counts import (
    NO_DAYS,
    NOTHING_ALLOWED,
    NOTHING_READ,
    BindingUsage,
    EventCount,
    Lookup,
    SeenAccess,
    period_of,
)
from reconciler.parts.evidence.usage.message import Event, LoggedReason, Window
from reconciler.parts.evidence.usage.scan import Summary
from tests.property.strategies import bindings

ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE


def binding(
    name: str,
    operation: AclOperation = READ,
    permission: AclPermissionType = ALLOW,
    *,
    prefixed: bool = False,
    host: str = "*",
) -> AclBinding:
    pattern = ResourcePattern(ResourceType.TOPIC, name, PatternType.PREFIXED if prefixed else PatternType.LITERAL)
    return AclBinding(pattern, AccessControlEntry("User:a", host, operation, permission))


def access(
    name: str, operation: AclOperation = READ, *, allowed: bool = True, ground: LoggedReason = LoggedReason.UNSAID
) -> Event:
    return Event(AccessRequest("User:a", "10.0.0.1", operation, ResourceType.TOPIC, name), allowed, ground)


LITERAL, PREFIX, OTHER = binding("t.x"), binding("t.", prefixed=True), binding("u")
REFUSAL = binding("t.", WRITE, DENY, prefixed=True)
ALL = (LITERAL, PREFIX, OTHER, REFUSAL)


def used_as(used: BindingUseCollector, use: BindingUse) -> int:
    """How many bindings have this use."""
    return used.uses(allows_known=True, denies_known=True).counts[use]


def seen(*events: Event) -> BindingUseCollector:
    used = BindingUseCollector(frozenset(ALL), (4, 3))
    for event in events:
        used.see(event, 3)
    return used


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (access("t.y"), {PREFIX: BindingUse.ALONE}),
        (access("t.y", DESCRIBE), {PREFIX: BindingUse.ALONE}),
        (access("t.x"), {PREFIX: BindingUse.ALSO, LITERAL: BindingUse.ALSO}),
        (
            access("t.x")._replace(ground=LoggedReason.ACL, acl=LITERAL),
            {PREFIX: BindingUse.ALSO, LITERAL: BindingUse.DECIDED},
        ),
        (access("t.y", ground=LoggedReason.SUPER_USER), {PREFIX: BindingUse.ALSO}),
        (access("t.y", ground=LoggedReason.DEFAULT_ALLOW), {PREFIX: BindingUse.ALSO}),
        (access("t.y", WRITE, allowed=False), {REFUSAL: BindingUse.ALONE}),
        (access("t.y", allowed=False), {}),
        (access("t.y")._replace(asked_only=True), {}),
        (access("t"), {}),
    ],
)
def test_a_binding_is_used_by_what_it_decides(event: Event, expected: dict[AclBinding, BindingUse]) -> None:
    used = seen(event)
    rest = sorted(set(ALL) - expected.keys())
    told = used.uses(allows_known=True, denies_known=True)
    assert told.unused == tuple(rest)
    counts = dict.fromkeys(BindingUse, 0) | Counter(expected.values()) | {BindingUse.UNUSED: len(rest)}
    assert told.counts == counts
    silent = used.uses(allows_known=False, denies_known=False)
    assert (silent.unused, silent.counts[BindingUse.CANNOT_SAY]) == ((), len(rest))


def test_the_strongest_of_what_was_seen_counts() -> None:
    named = access("t.x")._replace(ground=LoggedReason.ACL, acl=PREFIX)
    for order in ([access("t.y"), named], [named, access("t.y")]):
        assert used_as(seen(*order), BindingUse.ALONE) == 1
    assert used_as(seen(named), BindingUse.DECIDED) == 1
    assert used_as(seen(named), BindingUse.ALONE) == 0


def test_a_host_that_is_not_known_may_be_any() -> None:
    one, event = binding("t", host="10.0.0.9"), access("t")
    used = BindingUseCollector(frozenset({one}), (4, 3))
    used.see(event, 1)
    assert used_as(used, BindingUse.UNUSED) == 1
    used.see(event._replace(request=event.request._replace(host="")), 1)
    assert used_as(used, BindingUse.ALONE) == 1


@given(st.frozensets(bindings, max_size=12), st.sampled_from(["User:a", "User:ab"]), st.text("ab.", max_size=4))
def test_the_lookup_finds_what_the_authorizer_decides_by(
    found: frozenset[AclBinding], principal: str, name: str
) -> None:
    lookup, authorizer = Lookup(found, (4, 3)), Authorizer(found)
    for kind in (ResourceType.TOPIC, ResourceType.GROUP):
        for operation in (READ, DESCRIBE):
            decision = authorizer.authorize(principal, "10.0.0.1", operation, kind, name)
            wanted = DENY if not decision.allowed else ALLOW
            applying = [b for b in lookup.applying(decision.request) if b.entry.permission_type is wanted]
            assert sorted(applying) == sorted(decision.bindings)


def judged(*events: Event) -> ClusterUsage:
    judge = UsageAnalysis("c", UsageQuestion(), Authorizer(ALL, ["User:root"]), None)
    days = {("2026-11-01", event.allowed) for event in events}
    judge.note(Summary(days=frozenset(days)))
    for event in events:
        judge.see(event, EventCount(2, "2026-11-01", "2026-11-01"))
    return judge.result({OTHER: "acls.yaml:1:1"})


def test_without_permitted_accesses_no_allow_is_called_unused() -> None:
    silent, refused = judged(), judged(access("z", allowed=False))
    assert (silent.cannot_say, refused.cannot_say) == (NOTHING_READ, NOTHING_ALLOWED)
    assert silent.unused == ()
    assert [found for found, _ in refused.unused] == [REFUSAL]
    assert refused.uses[BindingUse.CANNOT_SAY] == 3
    used = judged(access("t.y"))
    assert not used.cannot_say
    assert used.unused == ((REFUSAL, ""), (LITERAL, ""), (OTHER, "acls.yaml:1:1"))


def test_what_the_bindings_do_not_explain_is_told() -> None:
    elsewhere = AclBinding(ResourcePattern(ResourceType.TOPIC, "z"), OTHER.entry)
    usage = judged(
        access("z")._replace(ground=LoggedReason.ACL, acl=elsewhere),
        access("t.x", allowed=False),
        access("z", WRITE, ground=LoggedReason.SUPER_USER),
        access("t.x"),
    )
    assert [odd.event.request.resource_name for odd in usage.unexpected] == ["t.x", "z"]
    assert usage.gone == ((elsewhere, 2),)
    assert usage.undeclared_super_users == ("User:a",)


def test_days_without_a_permitted_access_are_counted() -> None:
    days = {("2026-11-02", True), ("2026-11-03", False), ("2026-11-05", True)}
    found = period_of(days, Window())
    assert (found.first, found.last) == (datetime.date(2026, 11, 2), datetime.date(2026, 11, 5))
    assert (found.days, found.silent) == (4, 2)
    assert found.silent_days(10) == [datetime.date(2026, 11, 3), datetime.date(2026, 11, 4)]
    found = period_of(days, Window(datetime.date(2026, 11, 5), datetime.date(2026, 11, 20)))
    assert (found.days, found.silent, len(found.silent_days(10))) == (16, 15, 10)
    assert found.silent_days(1) == [datetime.date(2026, 11, 6)]
    assert period_of(set(), Window()).days == 0
    assert period_of(set(), Window()).silent_days(10) == []


def test_a_forged_year_costs_no_time() -> None:
    found = period_of({("0001-01-01", True), ("9999-12-31", True)}, Window())
    assert (found.silent, found.silent_days(1)) == (3_652_057, [datetime.date(1, 1, 2)])
    assert list(found.heard.each()) == [datetime.date.min, datetime.date.max]
    (thin, *_) = thin_evidence(found, Summary(), Thresholds(), datetime.date(2026, 11, 28))
    assert thin.startswith("no permitted access on 3,652,057 days (at most 2): 0001-01-02, 0001-01-03")


def test_very_many_names_of_a_right_are_not_kept() -> None:
    """Then nothing is proposed that would name each of them; that there were many is known whatever comes later."""
    used = BindingUsage()
    for number in range(MOST_NAMES):
        used.see(SeenAccess(access(f"t.{number}"), EventCount(1), NO_DAYS))
    assert (len(used.names), used.many) == (MOST_NAMES, False)
    other = BindingUsage()
    other.see(SeenAccess(access("t.more"), EventCount(1), NO_DAYS))
    used.add(other)
    assert (used.names, used.many, used.times) == ({}, True, MOST_NAMES + 1)
    other.add(used)
    assert (other.names, other.many) == ({}, True)
    other.see(SeenAccess(access("t.x"), EventCount(1), NO_DAYS))
    assert (other.names, other.many) == ({}, True)


@pytest.mark.parametrize(
    ("goes", "kept", "implied"),
    [
        (DESCRIBE, [READ], True),
        (DESCRIBE, [WRITE], True),
        (READ, [AclOperation.ALL], True),
        (READ, [WRITE], False),
        (READ, [DESCRIBE], False),
        (READ, [READ], False),
        (READ, [], False),
    ],
)
def test_what_a_right_that_stays_grants_too_is_no_proposal(
    goes: AclOperation, kept: list[AclOperation], implied: bool
) -> None:
    """Nothing would be taken by it."""
    narrowing = cast("Narrowing", SimpleNamespace(bindings=(binding("t", goes),)))
    assert _is_implied(narrowing, {binding("t", one) for one in kept}) is implied
    assert not _is_implied(narrowing, {binding("u", one) for one in kept})
