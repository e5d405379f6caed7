"""Scope: a binding is in it only if its own pattern lies wholly inside."""

import copy
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given

from reconciler.model import scope as module
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import ListedItem
from reconciler.model.scope import NameSelector, Scope, Selector, beyond, bounded, is_reserved, on_reserved_names
from tests.property.strategies import bindings

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
PAYMENTS = Selector(resource_type=TOPIC, names=NameSelector(prefixes=("payments.",)))
ANY_TOPIC = Selector(resource_type=TOPIC, names=NameSelector(any_name=True))
SERVICES = Selector(principals=NameSelector(prefixes=("User:svc-",)))
LEDGER = Selector(resource_type=TOPIC, names=NameSelector(literal=("ledger.v1", "ledger.v2")))


def binding(
    name: str, principal: str = "User:a", pattern_type: PatternType = PatternType.LITERAL, kind: ResourceType = TOPIC
) -> AclBinding:
    entry = AccessControlEntry(principal, "*", AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(kind, name, pattern_type), entry)


PREFIXED = PatternType.PREFIXED


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (PAYMENTS, [binding("payments.a"), binding("payments."), binding("payments.", pattern_type=PREFIXED)]),
        (PAYMENTS, [binding("payments.eu.", pattern_type=PREFIXED)]),
        (ANY_TOPIC, [binding("*"), binding("a"), binding("a", pattern_type=PREFIXED)]),
        (LEDGER, [binding("ledger.v1"), binding("ledger.v2")]),
        (SERVICES, [binding("a", "User:svc-a"), binding("*", "User:svc-", kind=GROUP)]),
        (Selector(NameSelector(any_name=True)), [binding("a"), binding("a", "User:*")]),
        (Selector(NameSelector(literal=("User:*",))), [binding("a", "User:*")]),
    ],
)
def test_what_lies_wholly_inside_is_selected(selector: Selector, selected: list[AclBinding]) -> None:
    assert all(selector.selects(item) for item in selected)


@pytest.mark.parametrize(
    ("selector", "others"),
    [
        (PAYMENTS, [binding("pay", pattern_type=PREFIXED), binding("payments"), binding("*")]),
        (PAYMENTS, [binding("payments.a", kind=GROUP), binding("payments.a", kind=ResourceType.TRANSACTIONAL_ID)]),
        (ANY_TOPIC, [binding("*", kind=GROUP)]),
        (LEDGER, [binding("ledger.v1", pattern_type=PREFIXED), binding("ledger.v10"), binding("*")]),
        (SERVICES, [binding("a", "User:sv"), binding("a", "user:svc-a"), binding("a", "User:*")]),
        (Selector(NameSelector(prefixes=("User:",))), [binding("a", "User:*")]),
        (Selector(NameSelector(literal=("User:a",))), [binding("a", "User:ab")]),
        (Selector(NameSelector()), [binding("a")]),
        (Selector(), [binding("a")]),
    ],
)
def test_what_reaches_outside_is_not(selector: Selector, others: list[AclBinding]) -> None:
    assert not any(selector.selects(item) for item in others)


def test_the_fields_of_an_item_are_anded_and_items_ored() -> None:
    both = Selector(SERVICES.principals, PAYMENTS.resource_type, PAYMENTS.names)
    assert both.selects(binding("payments.a", "User:svc-a"))
    assert not both.selects(binding("payments.a"))
    assert not both.selects(binding("a", "User:svc-a"))
    either = Scope(include=(SERVICES, PAYMENTS))
    assert either.owns(binding("payments.a"))
    assert either.owns(binding("a", "User:svc-a"))
    assert not either.owns(binding("a"))


def test_no_scope_is_every_acl_and_the_declared_topics() -> None:
    scope = Scope()
    assert scope.owns(binding("*", "User:*"))
    assert scope.owns_topic("a", declared=True)
    assert not scope.owns_topic("a", declared=False)


def test_an_empty_scope_owns_nothing() -> None:
    scope = Scope(include=())
    assert not scope.owns(binding("a"))
    assert not scope.owns_topic("a", declared=True)


def test_exclude_comes_after_include_and_ignore_is_told_apart() -> None:
    scope = Scope(include=(ANY_TOPIC,), exclude=(PAYMENTS,), ignore=(LEDGER,))
    assert scope.owns(binding("a"))
    assert not scope.owns(binding("payments.a"))
    assert not scope.ignores(binding("payments.a"))
    assert not scope.owns(binding("ledger.v1"))
    assert scope.ignores(binding("ledger.v1"))


def test_an_exclusion_takes_only_what_lies_wholly_inside_it() -> None:
    assert Scope(exclude=(PAYMENTS,)).owns(binding("pay", pattern_type=PREFIXED))


def test_topics_are_meant_by_items_with_topics_and_no_principals_only() -> None:
    assert Scope(include=(PAYMENTS,)).owns_topic("payments.a", declared=False)
    assert not Scope(include=(PAYMENTS,)).owns_topic("ledger", declared=True)
    assert not Scope(include=(SERVICES,)).owns_topic("payments.a", declared=True)
    both = Selector(SERVICES.principals, PAYMENTS.resource_type, PAYMENTS.names)
    assert not Scope(include=(both,)).owns_topic("payments.a", declared=True)
    groups = Selector(resource_type=GROUP, names=NameSelector(any_name=True))
    assert not Scope(include=(groups,)).owns_topic("payments.a", declared=True)
    assert not Scope(exclude=(PAYMENTS,)).owns_topic("payments.a", declared=True)
    assert not Scope(ignore=(PAYMENTS,)).owns_topic("payments.a", declared=True)


def test_names_and_prefixes_in_one_list_select_what_each_of_them_does() -> None:
    mixed = Selector(resource_type=TOPIC, names=NameSelector(("ledger",), ("pay.", "pii.")))
    found = [name for name in ("ledger", "ledger.v1", "pay.a", "pii.b", "other") if mixed.selects_topic(name)]
    assert found == ["ledger", "pay.a", "pii.b"]
    assert mixed.selects(binding("pay.x", pattern_type=PREFIXED))
    assert not mixed.selects(binding("ledger", pattern_type=PREFIXED))
    alone = tuple(Selector(resource_type=TOPIC, names=part) for part in (mixed.names or NameSelector()).parts())
    assert not beyond(Scope(include=(mixed,)), Scope(include=alone))
    assert not beyond(Scope(include=alone), Scope(include=(mixed,)))
    assert beyond(Scope(include=(mixed,)), Scope(include=alone[1:]))
    narrower = Selector(resource_type=TOPIC, names=NameSelector(("pii.a", "x"), ("pay.b.", "p")))
    shared = bounded(Scope(include=(narrower,)), Scope(include=(mixed,))).include or ()
    named = [one.names for one in shared]
    assert named == [NameSelector(("pii.a",), ("pay.b.", "pay.", "pii."))]


@pytest.mark.parametrize("name", ["__kr.", "__kr.1.bridge", "__kr-flag.1"])
def test_reserved_names_belong_to_nobody(name: str) -> None:
    assert is_reserved(name)
    assert not Scope().owns(binding(name))
    assert Scope().ignores(binding(name, pattern_type=PREFIXED))
    assert not Scope().owns_topic(name, declared=True)


@pytest.mark.parametrize("name", ["__kr", "__kr-", "__krypton", "a__kr.", "__consumer_offsets"])
def test_other_names_are_not_reserved(name: str) -> None:
    assert not is_reserved(name)
    assert Scope().owns(binding(name))


@given(bindings)
def test_what_is_excluded_or_ignored_is_never_owned(item: AclBinding) -> None:
    prefix = NameSelector(prefixes=("a",))
    selector = Selector(resource_type=item.pattern.resource_type, names=prefix)
    inside = ResourcePattern(item.pattern.resource_type, "a", PREFIXED).contains(item.pattern)
    for scope in (Scope(exclude=(selector,)), Scope(ignore=(selector,))):
        assert scope.owns(item) is not inside
    assert Scope(include=(selector,)).owns(item) is inside


def test_reserved_names_are_those_of_the_set_that_is_asked_about() -> None:
    """Whatever was asked before, also of sets that are equal, and of others that lay at the same place in memory."""
    for number in range(200):
        mark = binding(f"__kr.{number}")
        named = frozenset({mark, binding("a")}) if number % 3 else frozenset({binding("a")})
        own = frozenset({mark}) if number % 3 else frozenset()
        assert on_reserved_names(named) == on_reserved_names(frozenset(sorted(named))) == own
        assert on_reserved_names(iter(named)) == own


def _drawn(chance: Random) -> Selector:
    texts = ["User:a", "User:b", "User:", "User:*", "a", "ab", "payments.", "*", ""]
    names = [
        NameSelector(tuple(chance.sample(texts[:-1], 2))),
        NameSelector((), tuple(chance.sample(texts[:-2], 2))),
        NameSelector((chance.choice(texts[:-1]),), (chance.choice(texts[:-2]),)),
        NameSelector(any_name=True),
    ]
    who = chance.choice([None, *names])
    kind = chance.choice([None, TOPIC, GROUP]) if who is not None else chance.choice([TOPIC, GROUP])
    return Selector(who, kind, None if kind is None else chance.choice(names))


def test_many_items_own_what_each_of_them_says() -> None:
    """Items are looked up by what they name; to ask each of them gives the same."""
    chance = Random(3)
    asked = [
        binding(name, who, form, kind)
        for name in ("a", "ab", "abc", "payments.x", "*", "*x", "b")
        for who in ("User:a", "User:ab", "User:*", "Group:a")
        for form in PatternType
        if form in (PatternType.LITERAL, PREFIXED)
        for kind in (TOPIC, GROUP)
    ]
    listed: list[ListedItem] = [ScramUser("a"), ScramUser("c"), GroupConfig("ab"), GroupConfig("payments.x")]
    for _ in range(60):
        items = tuple(_drawn(chance) for _ in range(chance.choice((1, 5, 9))))
        included, excluded, ignored = Scope(items), Scope(None, items), Scope(ignore=items)
        for one in asked:
            selected = any(item.selects(one) for item in items)
            assert included.owns(one) is selected
            assert excluded.owns(one) is ignored.owns(one) is not selected
            assert ignored.ignores(one) is selected
        for name in ("a", "ab", "payments.x", "c"):
            selected = any(item.selects_topic(name) for item in items)
            assert included.owns_topic(name, declared=True) is selected
            assert excluded.owns_topic(name, declared=True) is not selected
        for resource in listed:
            selected = any(item.selects_listed(resource) for item in items)
            assert included.owns_listed(resource, declared=True) is selected
            assert ignored.owns_listed(resource, declared=True) is not selected


def test_of_many_items_few_are_asked_about_a_binding() -> None:
    items = [Selector(NameSelector((f"User:s{n}",))) for n in range(50)]
    items += [Selector(NameSelector(prefixes=(f"User:p{n}-",))) for n in range(50)]
    items += [Selector(resource_type=TOPIC, names=NameSelector((f"t{n}",))) for n in range(50)]
    with patch.object(Selector, "selects", autospec=True, side_effect=Selector.selects) as selects:
        scope = Scope(ignore=tuple(items))
        for n in range(50):
            assert scope.ignores(binding("x", f"User:s{n}"))
            assert scope.ignores(binding("x", f"User:p{n}-x"))
            assert scope.ignores(binding(f"t{n}"))
            assert not scope.ignores(binding("x", f"User:x{n}"))
    assert selects.call_count == 150


def test_many_names_select_what_each_of_them_does(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(4)
    texts = ["", "a", "ab", "abc", "b", "bc", "User:", "User:*", "User:a"]
    for _ in range(500):
        literal, prefixes = (tuple(chance.sample(texts, chance.randrange(4))) for _ in range(2))
        monkeypatch.setattr(module, "_MOST_COMPARED", chance.choice((0, 100)))
        selector, inner = NameSelector(literal, prefixes), NameSelector(("a", "b"), tuple(chance.sample(texts, 2)))
        for name in (*texts, "abcd", "User:ab", "c"):
            begins = any(name.startswith(prefix) for prefix in prefixes)
            assert selector.selects_name(name) is (name in literal or begins)
            assert selector.selects_principal(name) is (name in literal or (begins and name != "User:*"))
        whole = all(any(prefix.startswith(outer) for outer in prefixes) for prefix in inner.prefixes)
        assert selector.contains(inner, principals=False) is (whole and all(map(selector.selects_name, inner.literal)))
        assert copy.copy(selector) == selector


def test_a_name_is_looked_up_among_many_and_not_compared_with_each() -> None:
    class Counted(str):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return super().__eq__(other)

        __hash__ = str.__hash__

    selector = NameSelector(tuple(Counted(f"t{n}") for n in range(1_000)), ("x.", *(f"p{n}." for n in range(100))))
    assert [selector.selects_name(name) for name in ("t999", "p7.a", "x.y", "t1000", "p7")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert Counted.compared < 20
