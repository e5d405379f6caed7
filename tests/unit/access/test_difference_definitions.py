"""Differences and who may do what, point by point over many small states; and what they are said to cost."""

import random
from collections.abc import Iterable, Iterator
from itertools import product
from unittest.mock import patch

import pytest

from reconciler.access import comparison as comparing
from reconciler.access import difference as guessing
from reconciler.access.authorizer import Authorizer
from reconciler.access.comparison import AccessComparison, permitted_by_api
from reconciler.access.difference import AccessDifference, DifferenceRow, compare_access
from reconciler.access.effective import Access, access_of, who_can
from reconciler.access.hosts import Hosts
from reconciler.access.interpretation import ROW, TooMuchToDecideError, Work, work_for
from reconciler.access.names import ALL_NAMES, ResourceSet, literal
from reconciler.model.acl import AclBinding, AclOperation, OpaqueBinding, ResourceType
from tests.property.access_naive import Ask, Cluster, allowed_plainly, on_some_resource, reach
from tests.worlds import binding, bindings, pattern

_O, _T = AclOperation, ResourceType
VERSION = (4, 4)
_WHO = ("User:a@*", "User:a@10.0.0.1", "User:*@*", "User:*@10.0.0.0/31", "User:b@*", "User:b@10.0.0.2")
POOL = bindings(
    *(
        f"{where} {who} {what}"
        for where in ("TOPIC:L:a", "TOPIC:P:a", "TOPIC:L:ab", "TOPIC:L:*", "GROUP:L:*", "GROUP:P:*", "GROUP:L:*x")
        for who in _WHO
        for what in ("ALLOW READ", "ALLOW WRITE", "ALLOW ALL", "DENY READ", "DENY WRITE", "DENY CREATE")
    ),
    *(
        f"CLUSTER:{where} {who} {what}"
        for where in ("L:kafka-cluster", "P:k")
        for who in _WHO
        for what in ("ALLOW CREATE", "DENY DELETE", "ALLOW DELETE", "DENY IDEMPOTENT_WRITE", "ALLOW ALTER")
    ),
)
ASKERS = ("User:a", "User:b", "User:z")
HOSTS = ("10.0.0.0", "10.0.0.1", "10.0.0.2", "9.9.9.9")
POINTS = [
    *((_T.TOPIC, name) for name in ("a", "ab", "aa", "b", "hardcode")),
    *((_T.GROUP, name) for name in ("a", "*", "*x", "*xa")),
    (_T.CLUSTER, "kafka-cluster"),
]
Change = tuple[frozenset[AclOperation], frozenset[AclOperation]]


def changes(seed: int, count: int) -> Iterator[tuple[list[AclBinding], list[AclBinding]]]:
    chance = random.Random(seed)
    for _ in range(count):
        near = [one for one in POOL if one.pattern.resource_type is chance.choice(POOL).pattern.resource_type]
        held = chance.sample([*POOL, *near], chance.randrange(6))
        removed, added = (
            chance.sample(held, min(len(held), chance.randrange(3))),
            chance.sample(POOL, chance.randrange(3)),
        )
        yield list(dict.fromkeys(held)), list(dict.fromkeys([*(one for one in held if one not in removed), *added]))


def here(rows: Iterable[DifferenceRow], who: str, host: str, kind: ResourceType, name: str) -> list[DifferenceRow]:
    """The rows about a point: those of the principal, or else of everybody else."""
    found = [
        row
        for row in rows
        if row.resources.resource_type is kind and row.resources.contains(name) and row.hosts.contains(host, VERSION)
    ]
    return [row for row in found if row.principal == who] or [row for row in found if row.principal is None]


def all_rows(difference: AccessDifference) -> list[DifferenceRow]:
    return [*difference.rows, *difference.exceptions, *difference.reached_with_exceptions()]


def moved(sides: Iterable[Cluster], who: str, host: str, kind: ResourceType, name: str) -> Change:
    old, new = (reach(side, who, host, kind, name) for side in sides)
    return new - old, old - new


@pytest.mark.parametrize("default_allow", [(False, False), (True, True), (False, True), (True, False)])
def test_each_point_has_the_row_that_says_what_changes_there(default_allow: tuple[bool, bool]) -> None:
    for before, after in changes(1, 60):
        sides = [Cluster(side, (), on, VERSION) for side, on in zip((before, after), default_allow, strict=True)]
        old = Authorizer(before, (), default_allow[0], VERSION)
        new = old.with_changes(set(after) - set(before), set(before) - set(after))
        if len({*default_allow}) > 1:
            new = Authorizer(after, (), default_allow[1], VERSION)
        difference = compare_access(old, new)
        rows = all_rows(difference)
        changed = False
        for who, host, (kind, name) in product(ASKERS, HOSTS, POINTS):
            expected = moved(sides, who, host, kind, name)
            found = here(rows, who, host, kind, name)
            assert len(found) <= 1
            assert ((found[0].gained, found[0].lost) if found else ((), ())) == expected or (
                not found and not any(expected)
            )
            changed = changed or any(expected)
        assert difference.is_empty is (not rows or not any(row.gained or row.lost for row in rows))
        assert not changed or not difference.is_empty
        for row in rows:
            who, host, name = row.witness
            assert row.principal in (None, who)
            assert row.hosts.contains(host, VERSION)
            assert row.resources.contains(name)
            assert row.resources.witness() == name
            assert row.reading is None
            assert moved(sides, who, host, row.resources.resource_type, name) == (row.gained, row.lost)
        for group in (difference.rows, difference.exceptions, difference.reached_with_exceptions()):
            assert [row.order for row in group] == sorted(row.order for row in group)
        assert all(row.gained or row.lost for row in (*difference.rows, *difference.reached()))
        assert not any(row.gained or row.lost for row in difference.exceptions)
        direct = {one.entry.principal for one in set(before) ^ set(after)} - {"User:*"}
        assert {row.principal for row in (*difference.rows, *difference.exceptions)} <= direct | {None}
        reached = difference.reached_principals()
        assert reached == sorted(set(reached))
        assert not set(reached) & direct
        # Only everybody's bindings, or under default-allow names that come to be covered, reach anybody else.
        everybody = any(one.entry.principal == "User:*" for one in set(before) ^ set(after))
        assert not reached or everybody or any(default_allow)
        assert {row.principal for row in difference.reached_with_exceptions()} <= set(reached)
        for limit in range(3):
            some = {row for row in difference.reached_with_exceptions() if row.principal in reached[:limit]}
            assert set(difference.reached_with_exceptions(limit)) == some
            assert set(difference.reached(limit)) == {row for row in some if row.gained or row.lost}


def test_what_depends_on_an_unknown_default_says_so() -> None:
    for before, after in changes(2, 80):
        known = [
            set(all_rows(compare_access(*(Authorizer(side, (), setting, VERSION) for side in (before, after)))))
            for setting in (False, True)
        ]
        found = compare_access(*(Authorizer(side, (), None, VERSION) for side in (before, after)))
        rows = all_rows(found)
        assert len(set(rows)) == len(rows)
        plain = [{_certain(row) for row in rows if row.reading in (None, reading)} for reading in ("least", "most")]
        assert plain == known
        assert {_certain(row) for row in rows if row.reading is None} == known[0] & known[1]


def _certain(row: DifferenceRow) -> DifferenceRow:
    return DifferenceRow(row.principal, row.hosts, row.resources, row.gained, row.lost, row.witness)


def test_what_a_guess_leaves_open_is_a_perhaps() -> None:
    lost = OpaqueBinding("a", "User:a", "*", 2, 3, None, 2)
    before, after = (Authorizer(held, opaque=[lost]) for held in ([], bindings("TOPIC:P:a User:a@* ALLOW READ")))
    rows = compare_access(before, after).rows
    assert {(str(row.resources), row.reading) for row in rows if row.resources.resource_type is _T.TOPIC} == {
        ("topics starting with `a` except `a`", None),
        ("topics starting with `a`", "perhaps"),
    }
    assert compare_access(before, before).is_empty
    # It comes, or goes.
    for sides in (
        (before, Authorizer([])),
        (Authorizer([]), before),
        (before, Authorizer(bindings("TOPIC:L:a User:a@* ALLOW READ"))),
    ):
        assert {row.reading for row in compare_access(*sides).rows} <= {None, "perhaps"}
    allowing = Authorizer([], opaque=[OpaqueBinding("a", "User:a", "*", 2, 3, None, 3)])
    for sides, moved_ in (((allowing, Authorizer([])), "lost"), ((Authorizer([]), allowing), "gained")):
        rows = compare_access(*sides).rows
        assert {row.reading for row in rows} == {"perhaps"}
        assert any(getattr(row, moved_) for row in rows)


def test_principals_with_the_same_entries_share_an_answer() -> None:
    def asked(count: int) -> int:
        held = [binding(f"TOPIC:L:a User:{n}@* ALLOW READ") for n in range(count)]
        before = Authorizer(held, (), False, VERSION)
        after = before.with_changes(bindings("TOPIC:P:a User:*@* ALLOW READ"))
        with patch.object(comparing, "permitted_by_api", side_effect=permitted_by_api) as counted:
            rows = compare_access(before, after).reached_with_exceptions()
        assert {row.principal for row in rows} == {f"User:{n}" for n in range(count)}
        return counted.call_count

    assert asked(20) == asked(2) == asked(1)


def test_what_the_apis_permit_is_what_the_entries_do_and_what_other_resources_do() -> None:
    names = {_T.TOPIC: ("a", "ab"), _T.GROUP: ("a", "*x"), _T.CLUSTER: ("kafka-cluster",)}
    every = [operation for operation in _O if operation > _O.ALL]
    for held, _ in changes(8, 40):
        for default_allow in (False, True):
            cluster = Cluster(held, (), default_allow, VERSION)
            interpretation = Authorizer(held, (), default_allow, VERSION).interpretations.least
            for who, host, kind in product(ASKERS, HOSTS[:2], names):
                for name in names[kind]:
                    found = permitted_by_api(interpretation, who, host, kind, literal(name))
                    expected = {one for one in every if allowed_plainly(cluster, Ask(who, host, one, kind, name))}
                    if kind is _T.TOPIC:
                        asks = [Ask(who, host, one, _T.CLUSTER, "kafka-cluster") for one in (_O.CREATE, _O.DELETE)]
                        expected |= {ask.operation for ask in asks if allowed_plainly(cluster, ask)}
                    if kind is _T.CLUSTER and on_some_resource(cluster, who, host, _O.WRITE, _T.TOPIC):
                        expected.add(_O.IDEMPOTENT_WRITE)
                    assert found == sum(1 << one for one in expected)


def test_who_becomes_a_super_user_is_told_apart_from_rows() -> None:
    held = bindings("TOPIC:L:a User:a@* ALLOW READ")
    before, after = Authorizer(held, ["User:s", "User:t"]), Authorizer([], ["User:s", "User:a"])
    difference = compare_access(before, after)
    assert difference.super_users_added == {"User:a"}
    assert difference.super_users_removed == {"User:t"}
    assert difference.rows == difference.exceptions == difference.reached() == ()
    assert not difference.is_empty
    for sides in ((before, Authorizer(held, ["User:s"])), (Authorizer(held, ["User:s"]), before)):
        assert not compare_access(*sides).is_empty
    assert compare_access(before, Authorizer(held, ["User:s", "User:t"])).is_empty


@pytest.mark.parametrize("default_allow", [False, True])
def test_who_may_do_something_is_in_a_row(default_allow: bool) -> None:
    asked = ("TOPIC:L:a", "TOPIC:P:a", "TOPIC:L:*", "GROUP:L:*", "GROUP:P:*", "CLUSTER:L:kafka-cluster")
    wanted = {_T.TOPIC: (_O.READ, _O.CREATE), _T.GROUP: (_O.READ,), _T.CLUSTER: (_O.CREATE, _O.IDEMPOTENT_WRITE)}
    for number, (held, _) in enumerate(changes(3, 150)):
        cluster = Cluster(held, ("User:s",), default_allow, VERSION)
        authorizer = Authorizer(held, ("User:s",), default_allow, VERSION)
        where = pattern(asked[number % len(asked)])
        kind = where.resource_type
        operation = wanted[kind][number // len(asked) % len(wanted[kind])]
        holders = who_can(authorizer, operation, where)
        rows = [*holders.rows, *holders.lacking]
        assert holders.super_users == {"User:s"}
        assert all(row.operations == {operation} and row.certain for row in holders.rows)
        assert not any(row.operations for row in holders.lacking)
        assert not holders.lacking or None in {row.principal for row in holders.rows}
        assert list(holders.rows) == sorted(holders.rows, key=lambda row: row.order)
        # Who has no bindings that count is like everybody else, and needs no row.
        counting = {kind}
        if kind is _T.TOPIC and operation is _O.CREATE:
            counting.add(_T.CLUSTER)
        if operation is _O.IDEMPOTENT_WRITE:
            counting.add(_T.TOPIC)
        own = {one.entry.principal for one in held if one.pattern.resource_type in counting}
        assert {row.principal for row in rows} <= own | {None}
        for who, host, (of, name) in product(ASKERS, HOSTS, POINTS):
            in_question = of is kind and (
                name.startswith(where.name) if where.pattern_type == 4 else where.name in ("*", name)
            )
            if not in_question:
                continue
            found = _told(rows, who, host, kind, name)
            assert len(found) <= 1
            told = bool(found and found[0].operations)
            assert told is (operation in reach(cluster, who, host, kind, name)), (held, where, who, host, name)
        for row in rows:
            who = "User:z" if row.principal is None else row.principal
            assert row.hosts.contains(row.host, VERSION)
            assert row.resources.contains(row.name)
            assert (operation in reach(cluster, who, row.host, kind, row.name)) is bool(row.operations)
            assert row.resources.witness() == row.name
        _check_admins(cluster, operation, where.resource_type, holders.cluster_admins)


def _told(rows: Iterable[Access], who: str, host: str, kind: ResourceType, name: str) -> list[Access]:
    found = [
        row
        for row in rows
        if row.resources.resource_type is kind and row.resources.contains(name) and row.hosts.contains(host, VERSION)
    ]
    return [row for row in found if row.principal == who] or [row for row in found if row.principal is None]


def _check_admins(cluster: Cluster, operation: AclOperation, kind: ResourceType, rows: Iterable[Access]) -> None:
    """Whoever may alter the cluster or its configs is told of, unless that was the question."""
    admins = list(rows)
    for who, host in product(ASKERS, HOSTS):
        held = reach(cluster, who, host, _T.CLUSTER, "kafka-cluster") & {_O.ALTER, _O.ALTER_CONFIGS}
        denied = any(row.principal == who for row in admins)
        everybody = [row for row in admins if row.principal is None and row.hosts.contains(host, VERSION)]
        mine = [row for row in admins if row.principal == who and row.hosts.contains(host, VERSION)]
        assert not held or mine or everybody
        assert not mine or held
        assert not everybody or held or denied or cluster.bindings
    assert all(len(row.operations) == 1 for row in admins)


def test_what_a_principal_may_do_is_certain_where_both_defaults_agree() -> None:
    for held, _ in changes(4, 60):
        for who in ("User:a", "User:z"):
            known = [access_of(Authorizer(held, (), setting, VERSION), who) for setting in (False, True)]
            found = access_of(Authorizer(held, (), None, VERSION), who)
            least, most = map(_rights, known)
            assert _rights(row for row in found if row.certain) == least & most
            assert _rights(row for row in found if not row.certain) == least ^ most
            assert found == sorted(found, key=lambda row: row.order)
            for row in known[0]:
                assert row.principal == who
                side = Cluster(held, (), False, VERSION)
                assert reach(side, who, row.host, row.resources.resource_type, row.name) == row.operations


def _rights(rows: Iterable[Access]) -> set[tuple[Hosts, ResourceSet, AclOperation]]:
    return {(row.hosts, row.resources, operation) for row in rows for operation in row.operations}


def test_the_work_of_a_difference_counts_each_decision_and_each_row() -> None:
    many = [binding(f"TOPIC:L:t{n} User:{n % 3}@10.0.0.{n % 7} ALLOW READ") for n in range(20)]
    more = bindings(
        "TOPIC:L:* User:*@* ALLOW READ", "TOPIC:P:t User:*@10.0.0.9 DENY READ", "TOPIC:P:t1 User:1@* DENY READ"
    )
    states = [
        ([], many),
        (many, many[::2]),
        (many, [*many, *more]),
        (more, [*many, *more]),
        (many[:1], []),
        *changes(5, 60),
    ]
    lost = OpaqueBinding("t1", "User:1", "*", 2, 3, None, 3)
    for (before, after), default_allow, opaque in product(states, (False, None), ([], [lost])):
        asked = 0

        def counted(*arguments: object) -> int:
            nonlocal asked
            asked += 1
            return permitted_by_api(*arguments)  # type: ignore[arg-type]

        work = Work()
        sides = [Authorizer(side, (), default_allow, VERSION, opaque=opaque) for side in (before, after)]
        with patch.object(comparing, "permitted_by_api", counted), patch.object(guessing, "permitted_by_api", counted):
            difference = compare_access(*sides, work=work)
            rows = [*all_rows(difference)]
        least = sum(ROW + len(row.resources.cuts) for row in dict.fromkeys(map(_certain, rows)))
        assert work.spent >= asked / 2
        assert work.spent >= least
        if work.spent:
            limited = Work(work.spent - 1)
            with pytest.raises(TooMuchToDecideError, match=f"takes more than {work.spent - 1:,} decisions"):
                compare_access(*sides, work=limited).reached()
            assert limited.spent > work.spent - 1
        exactly = Work(work.spent)
        compare_access(*sides, work=exactly).reached()
        assert exactly.spent == work.spent


def test_what_the_rows_of_one_zone_cost_is_what_was_asked_and_what_is_shown() -> None:
    held = bindings(
        "TOPIC:L:a User:a@* ALLOW READ", "TOPIC:L:b User:a@10.0.0.1 ALLOW READ", "TOPIC:P:c User:a@10.0.0.1 ALLOW READ"
    )
    interpretation = Authorizer(held, (), False, VERSION).interpretations.least
    work = Work()
    comparison = AccessComparison(None, interpretation, "User:z", work=work)
    rows = comparison.pieces("User:a", _T.TOPIC, ALL_NAMES)
    nodes, classes = len(comparison.nodes("User:a", _T.TOPIC, ALL_NAMES)), 2
    assert (nodes, len(rows)) == (4, 3)
    assert work.spent == nodes * classes + sum(ROW + len(row.resources.cuts) for row in rows)
    everything = comparison.pieces("User:a", _T.TOPIC, ALL_NAMES, unchanged=True)
    assert len(everything) == 5
    alone = Work()
    comparison = AccessComparison(None, interpretation, "User:z", work=alone)
    (row,) = comparison.pieces("User:a", _T.TOPIC, literal("b"))
    assert alone.spent == 2 + ROW
    assert (row.host, row.name, row.hosts) == ("10.0.0.1", "b", Hosts(any_host=False, listed=("10.0.0.1",)))


def test_a_limit_is_reached_by_one_more() -> None:
    work = Work(10)
    work.spend(7)
    work.spend(3)
    assert work.spent == 10
    with pytest.raises(TooMuchToDecideError) as raised:
        work.spend(1)
    assert raised.value.limit == 10
    assert str(raised.value) == "who gains and who loses access takes more than 10 decisions"
    counting = Work()
    counting.spend(10**9)
    assert counting.spent == 10**9
    few = work_for(3)
    few.spend(2_000_300)
    with pytest.raises(TooMuchToDecideError, match="2,000,300"):
        few.spend(1)
