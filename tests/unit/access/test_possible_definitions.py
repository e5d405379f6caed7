"""Differences where an entry has lost a code: at each point what every truth changes, and what some truth does."""

import random
from collections.abc import Iterable
from itertools import product

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import DifferenceRow, compare_access
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, OpaqueBinding, ResourceType
from tests.property.access_naive import Cluster, reach
from tests.unit.access.test_difference_definitions import POOL, all_rows, here
from tests.worlds import bindings

_O, _T = AclOperation, ResourceType
VERSION = (4, 4)
TRUTHS = {
    OpaqueBinding(name, who, host, kind, pattern_type, operation, permission): bindings(
        *(
            f"{of}:{how}:{name} {who}@{host} {what} {verb}"
            for of in ([_T(kind).name] if kind is not None else ["TOPIC", "GROUP", "CLUSTER"])
            for how in (["LP"[pattern_type - 3]] if pattern_type is not None else "LP")
            for verb in (
                [_O(operation).name]
                if operation is not None
                else ["ALL", "READ", "WRITE", "CREATE", "DELETE", "DESCRIBE", "IDEMPOTENT_WRITE"]
            )
            for what in ([AclPermissionType(permission).name] if permission is not None else ["DENY", "ALLOW"])
        )
    )
    for name, who, host, kind, pattern_type, operation, permission in (
        ("a", "User:a", "*", 2, 3, None, 3),
        ("a", "User:a", "*", 2, 3, None, 2),
        ("a", "User:*", "10.0.0.1", 2, 3, 4, None),
        ("a", "User:a", "*", 2, None, 3, 3),
        ("a", "User:b", "*", 2, None, 3, 2),
        ("*", "User:a", "*", None, 3, 3, 2),
        ("kafka-cluster", "User:a", "*", 4, 3, None, 3),
        ("kafka-cluster", "User:*", "*", 4, 3, 5, None),
        ("ab", "User:b", "10.0.0.2", 2, 4, None, None),
    )
}
WHO = ("User:a", "User:b", "User:z")
HOSTS = ("10.0.0.1", "10.0.0.2")
POINTS = [
    *((_T.TOPIC, name) for name in ("a", "ab", "b")),
    *((_T.GROUP, name) for name in ("g", "*x")),
    (_T.CLUSTER, "kafka-cluster"),
]
Operations = frozenset[AclOperation]


def shown(
    rows: Iterable[DifferenceRow], who: str, host: str, kind: ResourceType, name: str
) -> tuple[Operations, Operations]:
    found = here(rows, who, host, kind, name)
    return frozenset().union(*(row.gained for row in found)), frozenset().union(*(row.lost for row in found))


def _apart(entry: OpaqueBinding, truths: list[AclBinding]) -> list[list[AclBinding]]:
    """Of a kind that this version does not know it decides nothing here; where its pattern is known, it covers."""
    if entry.resource_type is None or entry.pattern_type is None:
        return [[]]
    return [[truths[0]._replace(entry=truths[0].entry._replace(principal="User:nobody"))]]


def test_certain_is_what_every_truth_changes_and_possible_what_one_does() -> None:
    chance = random.Random(4)
    exact, points = 0, 0
    for number in range(60):
        entry, truths = chance.choice([*TRUTHS.items()])
        default_allow = chance.random() < 0.4
        held, changed = chance.sample(POOL, chance.randrange(4)), chance.sample(POOL, 2)
        before, after = (held, [*held, *changed]) if number % 2 else ([*held, *changed], held)
        before, after = [*dict.fromkeys(before)], [*dict.fromkeys(after)]
        old = Authorizer(before, (), default_allow, VERSION, opaque=[entry])
        new = old.with_changes(set(after) - set(before), set(before) - set(after))
        rows = all_rows(compare_access(old, new))
        assert {row.reading for row in rows} <= {None, "perhaps"}
        certain = [row for row in rows if row.reading is None]
        for who, host, (kind, name) in product(WHO, HOSTS, POINTS):
            ups, downs = [], []
            for truth in [[one] for one in truths] + _apart(entry, truths):
                sides = [Cluster([*side, *truth], (), default_allow, VERSION) for side in (before, after)]
                was, now = (reach(side, who, host, kind, name) for side in sides)
                ups.append(now - was)
                downs.append(was - now)
            some, every = (
                (frozenset().union(*ups), frozenset().union(*downs)),
                (ups[0].intersection(*ups), downs[0].intersection(*downs)),
            )
            told, sure = shown(rows, who, host, kind, name), shown(certain, who, host, kind, name)
            for part in (0, 1):
                assert sure[part] <= every[part]
                assert some[part] <= told[part], (before, after, entry, who, host, name)
                # A right that no state grants in any truth does not move.
                exact += bool(told[part]) and told[part] == some[part]
                points += bool(told[part])
    assert exact > 0.97 * points


def test_what_gives_nobody_write_moves_no_idempotent_write_whatever_the_entry_is() -> None:
    """WRITE on any topic permits it, and the entry may be such an ALLOW: before the change as well as after it."""
    held = (
        "TOPIC:L:a User:a@* ALLOW READ",
        "TOPIC:L:b User:a@* DENY READ",
        "CLUSTER:L:kafka-cluster User:a@* ALLOW CREATE",
    )
    changes = [*bindings(*held), *bindings("CLUSTER:L:kafka-cluster User:*@* DENY CREATE")]
    for entry, change, default_allow in product(TRUTHS, changes, (True, False)):
        old = Authorizer([], (), default_allow, VERSION, opaque=[entry])
        new = old.with_changes([change])
        moved = {row.principal for row in all_rows(compare_access(old, new)) if _O.IDEMPOTENT_WRITE in row.gained}
        assert moved == set(), (entry, change)
