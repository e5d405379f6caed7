"""What is unknown about a cluster, read in each way, by its definition; and kept along with changes as if read anew."""

import random
from collections.abc import Sequence
from unittest.mock import patch

from reconciler.access import index as module
from reconciler.access.authorizer import Authorizer
from reconciler.access.group import BindingGroup, changed_keys
from reconciler.access.index import Index
from reconciler.access.interpretation import Interpretation, Interpretations, covering, interpret, widest
from reconciler.access.names import NameSet, literal
from reconciler.model.acl import AclBinding, AclPermissionType, OpaqueBinding, ResourceType
from tests.worlds import binding, bindings

_DENY, _ALLOW = AclPermissionType.DENY, AclPermissionType.ALLOW
POOL = bindings(
    *(
        f"{where} {who} {what}"
        for where in ("TOPIC:L:a", "TOPIC:P:a", "GROUP:L:*")
        for who in ("User:a@*", "User:a@10.0.0.0/8", "User:*@10.0.0.1", "User:b@host/8", "User:b@::/0")
        for what in ("ALLOW READ", "DENY READ")
    )
)
RANGES = {one for one in POOL if one.entry.host in ("10.0.0.0/8", "::/0")}
OPAQUE = (
    OpaqueBinding("a", "User:a", "*", 2, 3, None, 3),
    OpaqueBinding("a", "User:a", "*", 2, 3, None, 2),
    OpaqueBinding("b", "User:b", "*", 2, None, 3, None),
    OpaqueBinding("b", "User:b", "*", None, 3, 3, None),
    OpaqueBinding("c", "User:a", "*", 2, 3, 3, 3),  # whose codes are all known
)
KNOWN = binding("TOPIC:L:c User:a@* ALLOW READ")
Described = tuple[frozenset[AclBinding], frozenset[AclBinding], bool]


def described(one: Interpretation) -> Described:
    return frozenset(one.index), frozenset(one.cover), one.default_allow


def shown(these: Interpretations) -> tuple[object, ...]:
    """All that decides, without the identity of the objects that hold it."""
    keys = sorted(these.group_keys())
    assert len(keys) == len(set(keys))
    by_group = {key: sorted(these.bindings_of(*key)) for key in keys}
    assert sorted(b for group in by_group.values() for b in group) == sorted(these.bindings)
    return (
        [described(one) for one in these.both],
        [described(one) for one in these.readings],
        frozenset(these.certain),
        these.doubtful,
        by_group,
        these.known,
        these.guesses,
    )


def _cases(seed: int, count: int) -> list[tuple[list[AclBinding], list[OpaqueBinding], bool | None, bool]]:
    chance = random.Random(seed)
    return [
        (
            chance.sample(POOL, chance.randrange(5)),
            chance.sample(OPAQUE, chance.choice((0, 0, 1, 2))),
            chance.choice((True, False, None)),
            chance.random() < 0.6,
        )
        for _ in range(count)
    ]


def test_what_is_kept_along_is_what_is_read_anew() -> None:
    chance = random.Random(9)
    for held, opaque, default_allow, known in _cases(1, 300):
        version = (4, 3) if known else None
        before = interpret(held, opaque, version, default_allow)
        added, removed = (chance.sample(POOL, chance.randrange(4)) for _ in range(2))
        removed = [one for one in removed if one not in added]
        after = (set(held) - set(removed)) | set(added)
        changed = before.with_changes(added, removed)
        anew = interpret(after, opaque, version, default_allow)
        assert shown(changed)[0] == shown(anew)[0]
        assert shown(changed)[2:5] == shown(anew)[2:5]
        assert changed.known or not anew.known
        # A guess that is gone may leave readings that are alike; none is lost.
        assert set(shown(changed)[1]) == set(shown(anew)[1])  # type: ignore[call-overload]
        assert shown(changed.with_changes((), ())) == shown(changed)
        assert set(changed.bindings) == after | ({KNOWN} if OPAQUE[4] in opaque else set())


def test_the_extremes_are_what_each_guess_makes_of_them() -> None:
    for held, opaque, default_allow, known in _cases(2, 300):
        found = interpret(held, opaque, (4, 3) if known else None, default_allow)
        unclear = [one for one in opaque if one != OPAQUE[4]]
        sure = frozenset(held) | ({KNOWN} if OPAQUE[4] in opaque else frozenset())
        doubtful = frozenset[AclBinding]() if known else sure & RANGES
        assert found.doubtful == (None if known else doubtful)
        certain = sure - doubtful
        guesses = {guess for one in unclear for guess in widest(one)} | doubtful
        denies, allows = ({one for one in guesses if one.entry.permission_type is kind} for kind in (_DENY, _ALLOW))
        assert frozenset(found.certain) == certain
        least, most = found.both
        assert described(least) == (certain | denies, certain | guesses, default_allow is True)
        covered = certain | {guess for one in unclear for guess in covering(one)} | doubtful
        assert described(most) == (certain | allows, covered, default_allow is not False)
        assert found.guesses is bool(guesses)
        assert found.known is (not guesses and default_allow is not None)
        assert len(found.readings) == 8
        for reading in found.readings:
            rules, cover, is_open = described(reading)
            assert certain <= rules <= sure | allows | denies
            # Opaque entries that deny are in no reading.
            assert not rules & (denies - doubtful)
            assert cover >= certain | doubtful
            assert is_open in (least.default_allow, most.default_allow)
        ranged, plain = found.readings[4:], found.readings[:4]
        assert all(not described(one)[0] & doubtful for one in plain) or not doubtful
        assert all(doubtful <= described(one)[0] for one in ranged)


def test_doubting_a_setting_leaves_the_rules() -> None:
    for held, opaque, default_allow, known in _cases(3, 60):
        found = interpret(held, opaque, (4, 3) if known else None, default_allow)
        doubted = found.doubting_default_allow()
        for before, after, setting in zip(found.both, doubted.both, (False, True), strict=True):
            assert described(after) == (*described(before)[:2], setting)
        assert not doubted.known
        authorizer = Authorizer(held, ["User:a", "User:b"], default_allow, (4, 3) if known else None, opaque=opaque)
        assert authorizer.doubting(["User:a"]).super_users == {"User:b"}
        assert authorizer.doubting(["User:a"]).interpretations is authorizer.interpretations
        assert authorizer.doubting(default_allow=True).super_users == {"User:a", "User:b"}
        assert not authorizer.doubting(default_allow=True).interpretations.known
        assert authorizer.doubting(default_allow=True).bindings == authorizer.bindings


def test_an_index_has_each_binding_once_and_shares_what_stays() -> None:
    chance = random.Random(5)
    for _ in range(150):
        held, added, removed = (chance.sample(POOL, chance.randrange(6)) for _ in range(3))
        index = Index([*held, *held], (4, 4))
        assert sorted(index) == sorted(held)
        groups = {key: index.group(*key) for key in index.group_keys()}
        assert groups.keys() == {(one.pattern.resource_type, one.entry.principal) for one in held}
        changed = index.with_changes(iter(added), iter(removed))
        assert set(changed) == (set(held) - set(removed)) | set(added)
        assert len(list(changed)) == len(set(changed))
        assert set(index) == set(held)
        touched = {(one.pattern.resource_type, one.entry.principal) for one in (*added, *removed)}
        moved = {key for key in touched if _of(held, key) != _of(list(changed), key)}
        for key, group in groups.items():
            assert (changed.group(*key) is group) is (key not in moved)
        assert index.changed_groups(changed) == changed.changed_groups(index) == sorted(moved)
        for kind, who in {*groups, (ResourceType.TOPIC, "User:z")}:
            assert set(index.bindings(kind, who)) == _of(held, (kind, who))
            assert index.knows(who) is any(one.entry.principal == who for one in held)


def _of(held: Sequence[AclBinding], key: tuple[ResourceType, str]) -> set[AclBinding]:
    return {one for one in held if (one.pattern.resource_type, one.entry.principal) == key}


def test_the_hosts_of_a_group_and_which_match_a_connection() -> None:
    held = bindings(
        *(
            f"GROUP:L:g{n} User:a@{host} ALLOW READ"
            for n, host in enumerate(("*", "10.0.0.1", "10.0.0.0/8", "::/0", "x/8"))
        )
    )
    expected = {
        "10.0.0.1": {"10.0.0.1", "10.0.0.0/8"},
        "10.0.0.2": {"10.0.0.0/8"},
        "11.0.0.1": set(),
        "0:0:0:0:0:0:0:1": {"::/0"},
        "*": set(),
        "x/8": {"x/8"},
    }
    for host, texts in expected.items():
        group = BindingGroup(held, (4, 4))
        assert set(group.labels(host)) == texts
        assert sorted(group.texts(host)) == sorted({"*", *texts})
        assert {id(table) for table in group.of_host(host)} == {id(group.tables[text]) for text in ("*", *texts)}
        older = BindingGroup(held[1:], (4, 3))
        assert set(older.texts(host)) == {text for text in texts if text == host}
    assert BindingGroup(held[:1], (4, 4)).hosts() is None
    assert BindingGroup(held[:1], (4, 4)).hosts_on(literal("g0")) == ()
    group = BindingGroup(held, (4, 4))
    assert set(group.hosts_on(literal("g1"))) == {"10.0.0.1"}
    assert set(group.hosts_on(NameSet("g"))) == {"10.0.0.1", "10.0.0.0/8", "::/0", "x/8"}
    assert set(group.hosts_on(literal("g"))) == set()


def test_the_names_on_which_two_groups_differ() -> None:
    chance = random.Random(6)
    pool = [one for one in POOL if one.pattern.resource_type is ResourceType.TOPIC and one.entry.principal == "User:a"]
    pool += bindings("TOPIC:L:a User:a@* ALLOW WRITE", "TOPIC:L:a User:a@10.0.0.0/8 ALLOW WRITE")
    keys = {"a3": literal("a"), "a4": NameSet("a")}
    for _ in range(200):
        sides = [chance.sample(pool, chance.randrange(5)) for _ in range(2)]
        before, after = (BindingGroup(side, (4, 4)) if side else None for side in sides)
        differing = set(sides[0]) ^ set(sides[1])
        expected = {keys[f"{one.pattern.name}{int(one.pattern.pattern_type)}"] for one in differing}
        assert changed_keys(before, after) == changed_keys(after, before) == expected
        write = 1 << 4
        writes = {keys["a3"] for one in differing if one.entry.operation == 4}
        assert changed_keys(before, after, write) == writes


def test_views_are_kept_up_to_a_bound() -> None:
    index = Index(bindings("TOPIC:L:a User:a@* ALLOW READ"), (4, 4))
    with patch.object(module, "_VIEWS", 3):
        first = index.view(ResourceType.TOPIC, "User:a", "10.0.0.1")
        assert len(first) == 1
        assert index.view(ResourceType.TOPIC, "User:a", "10.0.0.1") is first
        for number in range(10):
            assert index.view(ResourceType.TOPIC, "User:a", f"10.0.1.{number}") == first
            assert len(index._views) <= 3


def test_opaque_entries_whose_codes_are_known_change_an_index_once() -> None:
    opaque = [OpaqueBinding(f"t{n}", "User:a", "*", 2, 3, 3, 3) for n in range(50)]
    with patch.object(Index, "with_changes", autospec=True, side_effect=Index.with_changes) as changed:
        found = interpret([KNOWN], opaque, (4, 4), default_allow=False)
    assert changed.call_count == 1
    assert len(set(found.certain)) == 51
