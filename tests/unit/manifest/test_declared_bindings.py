"""Where and why each binding is declared: made of a rule's names when it is asked for."""

import copy
import datetime

from reconciler.manifest import Source, desired_state, load
from reconciler.model import Declaration, DesiredState, Expiry, Origin

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
