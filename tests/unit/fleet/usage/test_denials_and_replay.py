"""Grants that would settle refusals: the narrowest, proven, and never a wildcard; and accesses decided again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.access.authorizer import AccessRequest, Authorizer
from reconciler.model.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.parts.evidence.usage.cluster import Replayer, ReplayResult, UsageAnalysis, UsageQuestion, permitted
from reconciler.parts.evidence.usage.counts import MOST_HOSTS, Denial, Denials, EventCount
from reconciler.parts.evidence.usage.message import Event, LoggedReason
from tests.property.strategies import bindings
from tests.property.usage_formats import hostile_events

Op, R = AclOperation, ResourceType
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY


def refusal(
    name: str = "t", operation: AclOperation = Op.READ, kind: ResourceType = R.TOPIC, host: str = "10.0.0.1"
) -> Event:
    return Event(AccessRequest("User:a", host, operation, kind, name), False)


def on(
    name: str,
    operation: AclOperation = Op.READ,
    permission: AclPermissionType = ALLOW,
    *,
    kind: ResourceType = R.TOPIC,
    host: str = "*",
    pattern_type: PatternType = PatternType.LITERAL,
) -> AclBinding:
    pattern = ResourcePattern(kind, name, pattern_type)
    return AclBinding(pattern, AccessControlEntry("User:a", host, operation, permission))


def repeated(*events: Event, known: frozenset[AclBinding] = frozenset(), times: int = 2) -> list[Denial]:
    denials = Denials()
    for event in events:
        denials.see(event, EventCount(2, "2026-11-01", "2026-11-02"))
    return denials.repeated(times, Authorizer(known))


def test_the_grant_is_for_the_name_the_host_and_the_operation() -> None:
    (denial,) = repeated(refusal(), refusal(host="10.0.0.2"), times=4)
    assert denial.grants == (on("t", host="10.0.0.1"), on("t", host="10.0.0.2"))
    assert denial.tally == (4, "2026-11-01", "2026-11-02")
    assert repeated(refusal(), times=3) == []


def test_only_hosts_that_are_still_refused_need_a_grant() -> None:
    (denial,) = repeated(refusal(), refusal(host="10.0.0.2"), known=frozenset({on("t", host="10.0.0.1")}))
    assert denial.grants == (on("t", host="10.0.0.2"),)


def test_a_grant_that_another_implies_is_left_out() -> None:
    found = repeated(refusal(), refusal(operation=Op.DESCRIBE))
    assert {denial.refused.operation: denial.grants for denial in found} == {
        Op.READ: (on("t", host="10.0.0.1"),),
        Op.DESCRIBE: (),
    }
    assert "READ" in found[1].remark


@pytest.mark.parametrize(
    ("event", "known", "words"),
    [
        (refusal(), on("t", permission=DENY), "no grant goes beyond it"),
        (refusal(), on("t"), "permitted by now"),
        (refusal(host=""), None, "from which host"),
        (refusal("*", kind=R.GROUP), None, "every name"),
        (refusal("", kind=R.GROUP), None, "no manifest"),
        (refusal("a\x1b[2J", kind=R.GROUP), None, "no manifest"),
        (refusal("__kr.x"), None, "no manifest"),
        (refusal("a b"), None, "no topics of such a name"),
        (refusal("x", kind=R.USER, operation=Op.CREATE_TOKENS), None, "do not write ACLs"),
        (refusal()._replace(request=refusal().request._replace(principal="User:*")), None, "not a wildcard"),
        (
            refusal()._replace(request=refusal().request._replace(principal="User:ANONYMOUS")),
            None,
            "without a login",
        ),
    ],
)
def test_where_no_grant_is_proposed_the_reason_is(event: Event, known: AclBinding | None, words: str) -> None:
    (denial,) = repeated(event, known=frozenset({known} if known else ()))
    assert denial.grants == ()
    assert words in denial.remark


def test_many_hosts_are_for_a_person_to_choose() -> None:
    (denial,) = repeated(*(refusal(host=f"10.0.0.{number}") for number in range(MOST_HOSTS + 1)))
    assert denial.grants == ()
    assert "9 hosts" in denial.remark


def test_control_of_the_cluster_is_not_proposed_without_a_word() -> None:
    (denial,) = repeated(refusal(CLUSTER_NAME, Op.ALTER, R.CLUSTER))
    assert denial.grants
    assert "controls the cluster" in denial.remark


@given(st.lists(hostile_events, max_size=6), st.frozensets(bindings, max_size=6), st.booleans())
def test_grants_are_literal_needed_and_enough(events: list[Event], known: frozenset[AclBinding], default: bool) -> None:
    denials, authorizer = Denials(), Authorizer(known, allow_everyone_if_no_acl_found=default)
    for event in events:
        denials.see(event, EventCount(1))
    for denial in denials.repeated(1, authorizer):
        after = authorizer.with_changes(denial.grants)
        for grant in denial.grants:
            (kind, name, pattern_type), (principal, host, operation, permission) = grant
            assert (principal, operation, kind, name) == denial.refused
            assert (pattern_type, permission) == (PatternType.LITERAL, ALLOW)
            assert "*" not in (name, host)
            assert principal != "User:*"
            assert authorizer.authorize(principal, host, operation, kind, name).allowed is False
            assert after.authorize(principal, host, operation, kind, name).allowed


def replayed(
    event: Event, before: list[AclBinding], after: list[AclBinding], default: bool | None = False
) -> ReplayResult:
    sides = [Authorizer(side, ["User:root"], default) for side in (before, after)]
    replaying = Replayer(*sides)
    replaying.see(event, EventCount(2), permitted(sides[0], event)[0])
    return replaying.result()


SEEN = refusal()._replace(allowed=True)


def test_accesses_that_fail_or_newly_succeed_are_told_with_what_decides() -> None:
    failing = replayed(SEEN, [on("t")], [])
    assert [(row.request, row.binding) for row in failing.failing] == [(SEEN.request, on("t"))]
    denied = replayed(SEEN, [on("t")], [on("t"), on("t", permission=DENY)])
    assert [row.binding for row in denied.failing] == [on("t", permission=DENY)]
    newly = replayed(refusal(), [], [on("t")])
    assert [(row.before, row.after, row.binding) for row in newly.newly] == [(False, True, on("t"))]
    assert replayed(SEEN, [on("t")], [on("t"), on("u")]).same == 1


def test_what_cannot_be_told_is_no_pass() -> None:
    found = replayed(SEEN, [on("t")], [], default=None)
    assert (found.fails, found.unclear, found.same) == (0, 1, 0)


@pytest.mark.parametrize(
    ("event", "fails"),
    [
        (SEEN, 1),
        (SEEN._replace(asked_only=True), 0),
        (SEEN._replace(ground=LoggedReason.SUPER_USER), 0),
        (SEEN._replace(ground=LoggedReason.ROLE), 0),
    ],
)
def test_what_acls_do_not_decide_is_not_replayed(event: Event, fails: int) -> None:
    before = Authorizer([on("t")])
    judge = UsageAnalysis("c", UsageQuestion(), before, before.with_changes(removed=[on("t")]))
    judge.see(event, EventCount(1))
    replay = judge.result({}).replay
    assert replay is not None
    assert replay.fails == fails


def test_what_the_api_accepts_instead_counts() -> None:
    asked = AccessRequest("User:a", "10.0.0.1", Op.IDEMPOTENT_WRITE, R.CLUSTER, CLUSTER_NAME)
    idempotent = on(CLUSTER_NAME, Op.IDEMPOTENT_WRITE, kind=R.CLUSTER)
    seen = Event(asked, True)
    assert replayed(seen, [idempotent], [on("t", Op.WRITE)]).same == 1
    assert replayed(seen, [idempotent], [on("t", Op.READ)]).fails == 1


def test_a_producers_start_needs_write_on_some_topic() -> None:
    some = Event(AccessRequest("User:a", "10.0.0.1", Op.WRITE, R.TOPIC, "hardcode"), True, on_some=True)
    assert replayed(some, [on("*", Op.WRITE)], [on("t", Op.WRITE)]).same == 1
    assert replayed(some._replace(on_some=False), [on("*", Op.WRITE)], [on("t", Op.WRITE)]).fails == 1
