"""Rows that a person reviews: their words, and which of very many principals are listed."""

from itertools import combinations
from random import Random

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import compare_access
from reconciler.access.names import NameSet, literal
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, ResourceType
from reconciler.model.flavor import supported
from reconciler.plan.review.access_change import MAX_REACHED, exceptions, narrower, operations_words, reached
from tests.property.access_naive import Ask, result
from tests.worlds import acl, bindings

_NEWEST = (4, 4)
_ASK = Ask("User:a", "10.0.0.1", AclOperation.READ, ResourceType.TOPIC, "a")


def _implied(operations: frozenset[AclOperation]) -> set[AclOperation]:
    """What an ALLOW of one of them grants besides it."""
    (held,) = bindings("TOPIC:L:a User:a@* ALLOW ALL")
    return {
        other
        for one in operations
        for other in operations - {one}
        if result(AclBinding(held.pattern, held.entry._replace(operation=one)), _ASK._replace(operation=other), _NEWEST)
    }


@pytest.mark.parametrize("kind", [kind for kind in ResourceType if kind >= ResourceType.TOPIC])
def test_operations_are_named_without_what_others_imply_and_all_of_them_are_everything(kind: ResourceType) -> None:
    every = sorted(supported(kind, _NEWEST))
    random = Random(1)
    chosen = [*combinations(every, len(every)), *combinations(every, len(every) - 1), *((one,) for one in every), ()]
    chosen += [tuple(sorted(random.sample(every, random.randint(1, len(every))))) for _ in range(60)]
    for operations in chosen:
        if len(operations) >= 4 and [*operations] == every:
            assert operations_words(operations, kind) == "everything"
            continue
        left = [one.name for one in operations if one not in _implied(frozenset(operations))]
        assert operations_words(operations, kind) == ", ".join(left)


def test_the_narrower_of_two_sets_of_names_is_in_both_of_them() -> None:
    sets = (NameSet(""), NameSet("a"), NameSet("ab"), literal("a"), literal("ab"), literal("b"))
    for one in sets:
        for other in sets:
            both = {name for name in ("", "a", "ab", "abc", "b") if one.matches(name) and other.matches(name)}
            found = narrower(one, other)
            assert {name for name in ("", "a", "ab", "abc", "b") if found is not None and found.matches(name)} == both
            assert found in (None, one, other)


@pytest.mark.parametrize(
    ("gain", "lose", "keep"),
    [
        (3, 2, 4),
        (250, 3, 5),
        (250, 250, 2),
        (2, 250, 30),
        (199, 1, 0),
        (200, 1, 0),
        (200, 0, 1),
        (5, 0, 300),
        (0, 0, 5),
    ],
)
def test_of_many_who_are_reached_those_who_gain_are_listed_first_and_one_who_loses_at_any_rate(
    gain: int, lose: int, keep: int
) -> None:
    """A DENY of everybody goes from one topic, an ALLOW of everybody goes from another; some have their own rights."""
    held = [acl("x", f"User:g{number:03}") for number in range(gain)]
    held += [acl("y", f"User:l{number:03}", AclOperation.WRITE) for number in range(lose)]
    deny, allow = acl("x", "User:*", AclOperation.READ, AclPermissionType.DENY), acl("y", "User:*")
    own = [acl("y", f"User:k{number:03}") for number in range(keep)]
    denied = [acl("y", f"User:g{number:03}", AclOperation.ALL, AclPermissionType.DENY) for number in range(gain)]
    before = Authorizer([*held, *own, *denied, deny, allow])
    after = before.with_changes((), [deny, allow])
    difference = compare_access(before, after)
    found = reached(difference)
    rows = difference.reached_with_exceptions()
    gaining = sorted({row.principal for row in rows if row.principal and row.gained})
    losing = sorted({row.principal for row in rows if row.principal and row.lost} - {*gaining})
    exempt = sorted({row.principal for row in rows if row.principal} - {*gaining, *losing})
    assert (len(gaining), len(losing), len(exempt)) == (gain, lose, keep)
    listed = {row.principal for row in found.rows}
    front = [*gaining[: MAX_REACHED - bool(losing)], *losing][:MAX_REACHED]
    assert listed & {*gaining, *losing} == {*front}
    others = sorted(name for name in listed if name is not None and name not in front)
    assert others == exempt[: len(others)]
    assert len(listed) <= MAX_REACHED
    assert len(others) == keep or len(listed) > 0.9 * MAX_REACHED
    assert found.more == len({*gaining, *losing} - listed)
    assert bool(found.digest) is (gain + lose + keep > MAX_REACHED)
    assert {one.principal for one in exceptions(difference, found)} >= {*exempt} & listed


def test_a_digest_of_very_many_is_of_their_gains_and_denials_and_of_nobody_elses() -> None:
    held = [acl("x", f"User:g{number:03}", AclOperation.WRITE) for number in range(MAX_REACHED + 20)]
    deny = acl("x", "User:*", AclOperation.READ, AclPermissionType.DENY)
    allow = acl("x", "User:*", AclOperation.READ)

    def digest(*more: AclBinding) -> str:
        before = Authorizer([*held, allow, deny, *more])
        return reached(compare_access(before, before.with_changes((), [deny]))).digest

    plain = digest()
    assert plain
    assert digest(acl("q", "User:g000", AclOperation.READ, AclPermissionType.DENY)) != plain
    assert digest(acl("q", "User:g000", AclOperation.READ)) == plain
    assert digest(acl("q", "User:stranger", AclOperation.READ, AclPermissionType.DENY)) == plain
    fewer = Authorizer([*held[:-1], allow, deny])
    assert reached(compare_access(fewer, fewer.with_changes((), [deny]))).digest != plain
