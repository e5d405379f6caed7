"""The rows of a review: a step has a share in exactly those that speak of it, and nobody is exempt from its own."""

from collections.abc import Iterable
from itertools import product
from random import Random
from typing import Final

from reconciler.access.difference import DifferenceRow
from reconciler.access.hosts import ANY_HOST
from reconciler.access.names import ASTERISK_NAMES, names_of
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
from reconciler.model.state import ClusterState
from reconciler.plan.observed import Facts
from reconciler.plan.review.access_change import Transition, transition
from reconciler.plan.review.access_review import AccessReview, difference_review, unreviewed
from reconciler.plan.review.effects import _TransitionRows
from tests.property.test_meaning_guards import steps
from tests.unit.apply.test_perform import acl

PATTERNS: Final = (
    ResourcePattern(ResourceType.TOPIC, "*"),
    ResourcePattern(ResourceType.TOPIC, "x", PatternType.PREFIXED),
    ResourcePattern(ResourceType.TOPIC, "xa"),
    ResourcePattern(ResourceType.GROUP, "x"),
    ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME),
)
OPERATIONS: Final = ("ALL", "WRITE", "READ", "CREATE", "IDEMPOTENT_WRITE")
EVERY: Final = [
    AclBinding(pattern, AccessControlEntry(who, host, AclOperation[operation], permission))
    for pattern, who, host, operation, permission in product(
        PATTERNS, ("User:a", "User:b", "User:*"), ("*", "10.0.0.1"), OPERATIONS, AclPermissionType
    )
    if permission >= AclPermissionType.DENY
]
IMPLIED: Final = {AclOperation.WRITE: AclOperation.DESCRIBE, AclOperation.READ: AclOperation.DESCRIBE}
ON_EVERY_TOPIC: Final = {AclOperation.CREATE, AclOperation.DELETE}


def spoken(binding: AclBinding) -> set[AclOperation]:
    """What an entry is about: ALLOW implies, DENY does not."""
    operation = binding.entry.operation
    if operation is AclOperation.ALL:
        return {one for one in AclOperation if one > AclOperation.ALL}
    implied = IMPLIED.get(operation) if binding.entry.permission_type is AclPermissionType.ALLOW else None
    return {operation} if implied is None else {operation, implied}


def bears_on(binding: AclBinding, row: DifferenceRow, moved: frozenset[AclOperation]) -> bool:
    """Whether a binding bears on what a row says, on its names or by what cluster and topics grant of each other."""
    principal, host = binding.entry.principal, binding.entry.host
    if principal not in ("User:*", row.principal):
        return False
    if host != "*" and not row.hosts.any_host and host not in row.hosts.listed:
        return False
    if host in row.hosts.but:
        return False
    kinds = binding.pattern.resource_type, row.resources.resource_type
    if kinds == (ResourceType.CLUSTER, ResourceType.TOPIC):
        return bool(moved & spoken(binding) & ON_EVERY_TOPIC)
    if kinds == (ResourceType.TOPIC, ResourceType.CLUSTER):
        return AclOperation.WRITE in spoken(binding) and AclOperation.IDEMPOTENT_WRITE in moved
    key, cuts = names_of(binding.pattern), [*row.resources.cuts, *([ASTERISK_NAMES] * binding.pattern.is_wildcard)]
    names = ("x", "xa", "xab", "xz", "y", CLUSTER_NAME)
    shared = any(
        key.matches(name) and row.resources.names.matches(name) and not any(cut.matches(name) for cut in cuts)
        for name in names
    )
    return kinds[0] is kinds[1] and shared and bool(moved & spoken(binding))


def drawn(random: Random, *, default_allow: bool | None) -> Transition | None:
    """What some bindings become."""
    both = set(random.sample(EVERY, random.randint(0, 2)))
    before, after = (both | set(random.sample(EVERY, random.randint(0, 2))) for _ in range(2))
    state = ClusterState("c", frozenset(before))
    return transition(state, steps(before, after), Facts(), default_allow=default_allow)


def test_a_binding_has_a_share_in_exactly_the_rows_that_it_bears_on() -> None:
    random, shares = Random(1), 0
    for _ in range(80):
        found = drawn(random, default_allow=random.choice((False, False, True, None)))
        if found is None:
            continue
        rows: Iterable[DifferenceRow] = [*found.difference.rows, *found.difference.reached()]
        asked = _TransitionRows(found)
        for binding in EVERY:
            for gained in (True, False):
                expected = any(bears_on(binding, row, row.gained if gained else row.lost) for row in rows)
                assert asked.touch(binding, gained=gained) is expected, (binding, gained, rows)
                shares += expected
    assert shares > 1_000


def test_whoever_is_exempt_gains_and_loses_nothing_of_its_own_there_from_some_host() -> None:
    random, exempt = Random(2), 0
    for _ in range(400):
        found = drawn(random, default_allow=random.choice((False, True)))
        if found is None:
            continue
        review = difference_review(found.difference)
        moved = {(row.principal, row.resources) for row in review.access_changes if row.hosts == str(ANY_HOST)}
        assert moved.isdisjoint((one.principal, one.resources) for one in review.exceptions)
        exempt += len(review.exceptions)
    assert exempt > 20


def test_what_nobody_reviewed_is_told_of_everybody_first_and_then_by_name() -> None:
    names = ("User:b", "User:*", "User:a", "User:c")
    wanted = {acl("x", principal=name) for name in names} | {acl("y", principal="User:a")}
    found = transition(ClusterState("c"), steps(set(), wanted), Facts(), default_allow=False)
    assert found is not None
    told = [row.principal for row in unreviewed(difference_review(found.difference), AccessReview())]
    assert told == sorted(told, key=lambda name: (name is not None, name or ""))
    assert told[0] is None
    assert "User:a" in told


def test_whoever_gains_or_loses_through_everybody_is_told_as_one_who_does_and_nobody_twice() -> None:
    held, deny = [acl("x", principal=f"User:{name}") for name in "abc"], acl("x", "DENY", "User:*")
    apart = acl("x", "DENY", "User:c")
    for before, after in (({deny}, set[AclBinding]()), (set[AclBinding](), {deny})):
        there = {*held, apart}
        found = transition(
            ClusterState("c", frozenset(there | before)),
            steps(there | before, there | after),
            Facts(),
            default_allow=False,
        )
        assert found is not None
        review = difference_review(found.difference)
        assert [row.principal for row in review.access_changes] == ["User:a", "User:b"]
        assert {one.principal for one in review.exceptions} <= {"User:c"}
        assert (review.more_principals, review.denials) == (0, "")
