"""How far a change reaches: what has nothing to do with it has no row and costs nothing."""

import random
from itertools import product

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import compare_access
from reconciler.access.interpretation import Work
from reconciler.model.acl import AclOperation, ResourceType
from tests.unit.access.test_difference_definitions import POOL, all_rows
from tests.worlds import binding, bindings

_O, _T = AclOperation, ResourceType
VERSION = (4, 4)

#: Within the prefix ``a``. WRITE of everybody on a topic lets everybody start an idempotent producer.
NEAR = [
    one
    for one in POOL
    if one.pattern.resource_type is _T.TOPIC
    and not one.pattern.is_wildcard
    and (one.entry.principal != "User:*" or one.entry.operation in (_O.READ, _O.CREATE))
]


def test_what_has_nothing_to_do_with_a_change_costs_nothing() -> None:
    chance = random.Random(7)
    far = bindings(
        *(f"TOPIC:L:z{n} User:o{n % 4}@10.0.9.{n % 5} ALLOW READ" for n in range(12)),
        *(f"TOPIC:P:y{n} User:o{n}@* DENY WRITE" for n in range(4)),
        *(f"GROUP:L:g{n} User:o{n}@* ALLOW READ" for n in range(12)),
    )
    for number in range(80):
        held, changed = chance.sample(NEAR, chance.randrange(4)), chance.sample(NEAR, 2)
        default_allow = number % 3 == 0
        if default_allow:
            # The names that such entries close are asked about for everybody.
            changed = [one for one in changed if one.entry.principal != "User:*"]
        costs, found = [], []
        for others in ([], far):
            work = Work()
            before = Authorizer([*held, *others], (), default_allow, VERSION)
            difference = compare_access(before, before.with_changes(changed), work=work)
            found.append((difference.rows, difference.exceptions, difference.reached_with_exceptions()))
            costs.append(work.spent)
        assert found[0] == found[1]
        assert costs[0] == costs[1], (held, changed, default_allow)


def test_a_right_on_the_cluster_that_stays_makes_no_change_of_topics_dearer() -> None:
    chance = random.Random(8)
    own = [one for one in NEAR if one.entry.principal != "User:*"]
    stays = bindings(*(f"CLUSTER:L:kafka-cluster {who}@* ALLOW DESCRIBE" for who in ("User:a", "User:b", "User:c")))
    for _ in range(40):
        held, changed = chance.sample(NEAR, chance.randrange(4)), chance.sample(own, 2)
        if any(one.entry.operation in (_O.WRITE, _O.ALL) for one in (*held, *changed)):
            continue
        costs, found = [], []
        for others in ([], stays):
            work = Work()
            before = Authorizer([*held, *others], (), False, VERSION)
            difference = compare_access(before, before.with_changes(changed), work=work)
            found.append(all_rows(difference))
            costs.append(work.spent)
        assert found[0] == found[1]
        assert costs[0] == costs[1]


def test_rows_are_about_what_changes_and_about_what_the_apis_accept_instead() -> None:
    chance = random.Random(9)
    for _ in range(150):
        held, changed = chance.sample(POOL, chance.randrange(5)), chance.sample(POOL, chance.choice((1, 1, 2)))
        before = Authorizer(held, (), False, VERSION)
        difference = compare_access(before, before.with_changes(changed))
        kinds = {one.pattern.resource_type for one in changed}
        for kind, other, operations in (
            (_T.CLUSTER, _T.TOPIC, (_O.CREATE, _O.DELETE, _O.ALL)),
            (_T.TOPIC, _T.CLUSTER, (_O.WRITE, _O.ALL)),
        ):
            if any(one.pattern.resource_type is kind and one.entry.operation in operations for one in changed):
                kinds.add(other)
        assert {row.resources.resource_type for row in all_rows(difference)} <= kinds, (held, changed)


def test_no_row_is_about_a_super_user_before_or_after() -> None:
    supers = (("User:a",), ()), ((), ("User:a",)), (("User:a",), ("User:a", "User:b"))
    chance = random.Random(10)
    for (old, new), default_allow in product(supers, (False, True, None)):
        hidden = {*old, *new}
        for _ in range(12):
            held, changed = chance.sample(POOL, 4), chance.sample(POOL, 2)
            everybody = binding("TOPIC:P:a User:*@* DENY READ")
            before = Authorizer(held, old, default_allow, VERSION)
            after = Authorizer([*held, *changed, everybody], new, default_allow, VERSION)
            difference = compare_access(before, after)
            assert not hidden & {row.principal for row in all_rows(difference)}
            assert not hidden & set(difference.reached_principals())
            plain = compare_access(*(Authorizer(side.bindings, (), default_allow, VERSION) for side in (before, after)))
            rest = [row for row in all_rows(plain) if row.principal not in hidden]
            assert all_rows(difference) == rest


@pytest.mark.parametrize(
    ("held", "change", "gains"),
    [
        (("TOPIC:L:y User:a@* ALLOW WRITE",), "TOPIC:L:x User:*@* ALLOW WRITE", True),
        (("TOPIC:L:y User:a@* ALLOW WRITE", "TOPIC:L:x User:*@* ALLOW WRITE"), "TOPIC:L:x User:*@* DENY WRITE", False),
    ],
)
def test_who_may_write_elsewhere_is_told_apart_where_everybody_gains_or_loses_idempotent_writes(
    held: tuple[str, ...], change: str, gains: bool
) -> None:
    """WRITE on any topic permits them: what changes for everybody changes nothing for who has it by another name."""
    before = Authorizer(bindings(*held), (), False, VERSION)
    difference = compare_access(before, before.with_changes(bindings(change)))
    cluster = [row for row in difference.rows if row.resources.resource_type is _T.CLUSTER]
    moved = frozenset({_O.IDEMPOTENT_WRITE})
    nothing = frozenset[AclOperation]()
    assert [(row.principal, row.gained, row.lost) for row in cluster] == [
        (None, moved if gains else nothing, nothing if gains else moved)
    ]
    apart = [row for row in difference.reached_with_exceptions() if row.resources.resource_type is _T.CLUSTER]
    assert [(row.principal, row.gained, row.lost) for row in apart] == [("User:a", nothing, nothing)]
