"""Principals that are called alike become uses of one role: at least three, with three rules each, and two names."""

import pytest

from reconciler.manifest.write.roles import ExportedRule, _with_word, applications
from reconciler.model.acl import AclOperation, AclPermissionType, ResourcePattern, ResourceType


@pytest.mark.parametrize(
    ("name", "word", "found"),
    [
        ("pay", "pay", "$id"),
        ("pay.in", "pay", "$id.in"),
        ("in.pay", "pay", "in.$id"),
        ("in-pay_out", "pay", "in-$id_out"),
        ("pay.pay", "pay", "$id.$id"),
        # A letter or a digit beside it goes on with another word.
        ("repay", "pay", "repay"),
        ("pays", "pay", "pays"),
        ("pay2", "pay", "pay2"),
        ("repay.pay", "pay", "repay.$id"),
        ("pays.pay", "pay", "pays.$id"),
        ("other", "pay", "other"),
        ("pay", "", "pay"),
    ],
)
def test_an_id_is_a_word_of_a_name(name: str, word: str, found: str) -> None:
    assert _with_word(name, word) == found


def _rules(word: str, count: int = 3, *, hosts: tuple[str, ...] = ("*",), odd: bool = False) -> list[ExportedRule]:
    operations = (AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER)[:count]
    names = [f"{word}.{number}" for number in range(count)]
    if odd:
        names[1:] = [f"other{word}.{number}" for number in range(1, count)]
    return [
        ExportedRule((ResourcePattern(ResourceType.TOPIC, name),), AclPermissionType.ALLOW, (operation,), hosts)
        for name, operation in zip(names, operations, strict=True)
    ]


def _uses(*words: str, **how: object) -> dict[str, tuple[str, str]]:
    found = applications({f"User:svc-{word}": _rules(word, **how) for word in words})  # type: ignore[arg-type]
    return {principal: (use.role, use.id) for principal, use in found.uses.items()}


def test_three_that_differ_in_their_id_alone_share_a_role() -> None:
    assert _uses("pay", "web", "log") == {f"User:svc-{word}": ("application", word) for word in ("pay", "web", "log")}
    assert _uses("pay", "web") == {}
    assert _uses("pay", "web", "log", count=2) == {}
    assert _uses("pay", "web", "log", count=4).keys() == {"User:svc-pay", "User:svc-web", "User:svc-log"}
    # One name in which the id is: that may be chance.
    assert _uses("pay", "web", "log", odd=True) == {}


def test_a_role_is_of_the_same_names_for_each_and_of_one_set_of_hosts() -> None:
    rules = {f"User:svc-{word}": _rules(word) for word in ("pay", "web", "log")}
    (role,) = applications(rules).roles.values()
    assert [rule.patterns[0].name for rule in role] == ["$id.0", "$id.1", "$id.2"]
    mixed = {**rules, "User:svc-log": [*_rules("log")[:2], *_rules("log", hosts=("10.0.0.1",))[2:]]}
    assert applications(mixed).uses == {}
    elsewhere = {name: _rules(name.removeprefix("User:svc-"), hosts=("10.0.0.1",)) for name in rules}
    assert {use.hosts for use in applications(elsewhere).uses.values()} == {("10.0.0.1",)}
    assert applications({**rules, "User:svc-odd": _rules("odd$")}).uses.keys() == rules.keys()


def test_of_two_shapes_the_one_that_more_share_comes_first() -> None:
    few = {f"User:svc-{word}": _rules(word) for word in ("a", "b", "c")}
    many = {f"User:svc-{word}": _rules(word, 4) for word in ("d", "e", "f", "g")}
    found = applications({**few, **many})
    assert {name: use.role for name, use in found.uses.items()} == {
        **dict.fromkeys(few, "application-2"),
        **dict.fromkeys(many, "application"),
    }
