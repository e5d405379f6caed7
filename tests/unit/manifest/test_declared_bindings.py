"""Where and why each binding is declared: made of a rule's names when it is asked for."""

import copy
import datetime
import re
from struct import pack

import pytest

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.parts.bindings import Declarations
from reconciler.manifest.parts.resources import Permission
from reconciler.manifest.parts.rules import RuleDeclaration
from reconciler.manifest.read.findings import Source
from reconciler.model.acl import AclOperation, AclPermissionType, ResourcePattern, ResourceType
from reconciler.model.desired import Declaration, DesiredState, Expiry, Origin

TEXT = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {}
---
apiVersion: reconciler/v1
kind: Role
metadata: {name: both}
spec: {parameters: [topics], rules: [{allow: [READ, WRITE], topics: $topics}]}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules:
    - {allow: [READ, WRITE], topics: [x, y], reason: why, ticket: T-1, keep: drills}
    - {allow: READ, groups: g, expires: 2027-03-01}
    - {allow: READ, topics: old, expires: 2026-03-01}
    - {role: both, topics: [z, z]}
"""
END = Expiry(datetime.date(2027, 3, 1))


def _desired() -> DesiredState:
    return desired_state(load([Source("a.yaml", TEXT)]), "c", datetime.date(2027, 1, 1))


def _at(text: str) -> Origin:
    before = TEXT[: TEXT.index(text)].split("\n")
    return Origin("a.yaml", len(before), len(before[-1]) + 1)


def _said(bindings: object) -> dict[str, Declaration]:
    assert hasattr(bindings, "items")
    return {str(binding).removeprefix("User:a ALLOW "): said for binding, said in bindings.items()}


def test_each_name_has_its_place_and_the_terms_of_its_rule() -> None:
    x, y = (Declaration(_at(text), "why", "T-1", keep="drills") for text in ("x, y", "y], reason"))
    z = Declaration(_at("z, z"), role=_at("{allow: [READ, WRITE], topics: $"))
    found = _desired()
    assert _said(found.bindings) == {
        "READ on TOPIC x": x,
        "WRITE on TOPIC x": x,
        "READ on TOPIC y": y,
        "WRITE on TOPIC y": y,
        "READ on GROUP g": Declaration(_at("g, expires"), expires=END),
        "READ on TOPIC z": z,
        "WRITE on TOPIC z": z,
    }
    assert _said(found.expired)["READ on TOPIC old"].origin == _at("old")


def test_they_are_a_mapping_like_any_other() -> None:
    bindings = _desired().bindings
    plain = dict(bindings.items())
    assert bindings == plain == dict(bindings) == {**bindings} == {key: bindings[key] for key in bindings}
    assert bindings.keys() == plain.keys()
    assert list(bindings.values()) == list(plain.values())
    assert len(bindings) == 7
    assert next(iter(plain)) in bindings
    assert repr(bindings) == repr(plain)
    assert copy.deepcopy(bindings) == plain


def _wanted(principals: str, *rules: str) -> DesiredState:
    """What documents of one rule each declare."""
    texts = [TEXT[: TEXT.rindex("---")]]
    for number, rule in enumerate(rules):
        texts.append(f"---\napiVersion: reconciler/v1\nkind: Acls\nmetadata: {{name: n{number}}}\nspec:\n")
        texts.append(f"  principals: [{principals}]\n  rules:\n    - {rule}\n")
    return desired_state(load([Source("a.yaml", "".join(texts))]), "c", datetime.date(2027, 1, 1))


def test_a_rule_for_many_is_asked_by_entry() -> None:
    many = [f"User:{number}" for number in range(40)]
    declared = _wanted(", ".join(many), "{allow: READ, topics: [x, y]}").bindings
    found = [*declared]
    assert (len(declared), len({*found})) == (80, 80)
    assert all(one in declared for one in found)
    one = found[0]
    assert one._replace(entry=one.entry._replace(principal="User:40")) not in declared
    assert one._replace(entry=one.entry._replace(host="10.0.0.1")) not in declared


def test_a_pattern_of_several_rules_has_the_entries_of_each_for_as_long_as_each() -> None:
    found = _wanted(
        "User:a",
        "{allow: READ, topics: [x, y]}",
        "{allow: WRITE, topics: x, expires: 2026-03-01}",
        "{deny: READ, topics: x, expires: 2027-03-01}",
    )
    assert [str(binding) for binding in found.bindings] == [
        "User:a ALLOW READ on TOPIC x",
        "User:a DENY READ on TOPIC x",
        "User:a ALLOW READ on TOPIC y",
    ]
    assert [declared.expires for declared in found.bindings.values()] == [None, END, None]
    assert [str(binding) for binding in found.expired] == ["User:a ALLOW WRITE on TOPIC x"]
    (gone,) = found.expired
    assert gone not in found.bindings
    assert found.bindings.get(gone) is None


def test_what_a_role_names_itself_ends_with_the_rule_that_uses_it() -> None:
    role = (
        "apiVersion: reconciler/v1\nkind: Role\nmetadata: {name: own}\n"
        "spec: {parameters: [], rules: [{allow: READ, topics: shared}]}\n---\n"
    )
    head = TEXT[: TEXT.rindex("---\n") + 4]
    acls = TEXT[TEXT.rindex("---\n") + 4 : TEXT.rindex("    - {allow: [READ, WRITE]")]
    source = Source("a.yaml", head + role + acls + "    - {role: own, expires: 2026-03-01}\n")
    found = desired_state(load([source]), "c", datetime.date(2027, 1, 1))
    assert (len(found.bindings), [str(binding) for binding in found.expired]) == (
        0,
        ["User:a ALLOW READ on TOPIC shared"],
    )


@pytest.mark.parametrize("size", [3, 100])
def test_each_name_of_a_rule_has_its_place_however_many_there_are(size: int) -> None:
    names = [f"t{number}" for number in range(size)]
    rules = "\n".join(f"    - {{allow: {what}, topics: [{', '.join(names)}]}}" for what in ("READ", "WRITE"))
    head = TEXT[: TEXT.index("---")] + "---\napiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: a}\n"
    text = f"{head}spec:\n  principal: User:a\n  rules:\n{rules}\n"
    found = desired_state(load([Source("a.yaml", text)]), "c", datetime.date(2027, 1, 1)).bindings
    lines = text.split("\n")
    assert len(found) == 2 * size
    for bindings in (found, copy.deepcopy(found)):
        assert dict(bindings.items()) == {binding: bindings[binding] for binding in sorted(bindings, reverse=True)}
        for binding, declaration in bindings.items():
            line = lines[declaration.origin.line - 1]
            name = re.match(r"\w+", line[declaration.origin.column - 1 :])
            assert name is not None
            assert name[0] == binding.pattern.name
            assert binding.entry.operation.name in line


def test_of_many_names_none_is_searched_for() -> None:
    class Searched(tuple[ResourcePattern, ...]):
        __slots__ = ()

        def index(self, *_: object) -> int:
            raise AssertionError("each name of a rule is compared with all others")

    patterns = Searched(ResourcePattern(ResourceType.TOPIC, f"t{number % 30}") for number in range(40))
    places = b"".join(pack("2I", number + 1, 7) for number in range(40))
    read = Permission(AclPermissionType.ALLOW, (AclOperation.READ,))
    terms = Declaration(Origin("a.yaml", 1, 1))
    rule = RuleDeclaration(read, ("User:a",), ("*",), (ResourceType.TOPIC,), patterns, places, terms)
    declarations = Declarations()
    assert [declarations.of(rule, pattern).origin.line for pattern in patterns] == [n % 30 + 1 for n in range(40)]
