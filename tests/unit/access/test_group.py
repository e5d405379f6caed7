"""A compiled group that comes from another one by few changes: the same as one that is compiled of what is there."""

import random
from itertools import product

import pytest

from reconciler.access import names as module
from reconciler.access.group import BindingGroup, changed_keys
from reconciler.access.names import ASTERISK_NAMES, NameSet, literal, meets, outermost
from reconciler.model.acl import AclOperation
from tests.worlds import bindings

POOL = bindings(
    *(
        f"GROUP:{where} User:a@{host} {what}"
        for where in ("L:*", "P:*", "L:a", "P:a", "P:ab", "L:abc", "P:abc", "L:*x", "P:*x", "L:b")
        for host in ("*", "10.0.0.1", "10.0.0.0/8")
        for what in ("ALLOW READ", "DENY READ", "ALLOW ALL", "DENY DESCRIBE")
    )
)
TEXTS = ("", "*", "a", "ab", "abc", "abcd", "*x", "*xy", "b", "bc", "c")
ASKED = [*map(NameSet, TEXTS), *map(literal, TEXTS), ASTERISK_NAMES]
VERSION = (4, 4)


def shown(group: BindingGroup) -> tuple[object, ...]:
    """What a group answers."""
    return (
        group.rules,
        group.ordered,
        {host: [table.at_names(key) for key in ASKED] for host, table in group.tables.items()},
        {host: [table.at(text) for text in TEXTS] for host, table in group.tables.items()},
        {host: table.base for host, table in group.tables.items()},
        [sorted(group.hosts_on(key)) for key in ASKED],
        [sorted(group.texts(host)) for host in ("*", "10.0.0.1", "10.0.0.2", "11.0.0.1", "10.0.0.0/8")],
        sorted(group.allowed("10.0.0.1", POOL[0].entry.operation)),
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_chain_of_changes_is_as_if_compiled(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        held = dict.fromkeys(chance.sample(POOL, chance.randrange(1, 30)))
        group = BindingGroup(held, VERSION)
        for _ in range(8):
            gone = chance.sample([*held], chance.randrange(min(3, len(held))))
            new = [one for one in chance.sample(POOL, chance.randrange(3)) if one not in held]
            held = dict.fromkeys([*(one for one in held if one not in gone), *new])
            after, plain = group.with_changes(held, [*gone, *new], VERSION), BindingGroup(held, VERSION)
            assert shown(after) == shown(plain)
            for operation in (AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE):
                said = any(mask >> operation & 1 for own in plain.rules.values() for mask in own.values())
                assert plain.may_say(1 << operation) is said
                assert after.may_say(1 << operation) or not said
            for bits in (-1, 1 << POOL[0].entry.operation):
                expected = changed_keys(BindingGroup(group.bindings, VERSION), plain, bits)
                assert changed_keys(group, after, bits) == changed_keys(after, group, bits) == expected
            group = after


def test_what_lists_of_names_share_is_the_same_whichever_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(3)
    for _ in range(2_000):
        ordered = sorted(chance.sample(ASKED, chance.randrange(8)))
        disjoint = outermost(chance.sample(ASKED, chance.randrange(4)))
        plain = {key if zone.contains(key) else zone for key, zone in product(ordered, disjoint) if key.meets(zone)}
        for fewer in (0, 1_000):
            monkeypatch.setattr(module, "_FEWER", fewer)
            assert set(meets(ordered, disjoint)) == plain
