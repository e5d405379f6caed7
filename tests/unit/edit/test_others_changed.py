"""An edit changes rules, items and what is new, and nothing else of any document: whatever else differs is named."""

import pytest

from reconciler.manifest.write.pages import read
from reconciler.parts.edit.app.editing import others_changed

_CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {allowEveryoneIfNoAclFound: false}\n"
_ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a, labels: {team: x}}
spec:
  principal: User:a
  exceptions: [{check: KA008, reason: r, expires: 2027-01-31}]
  rules: [{allow: READ, topics: [x]}]
"""
_TESTS = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: t}
spec: {tests: [{name: t, onlyReaders: ["User:a"], topics: [x]}]}
"""
_BASE = {"c.yaml": _CLUSTER, "a.yaml": _ACLS, "t.yaml": _TESTS}
_NEW = _ACLS.replace("name: a,", "name: new,").replace("[x]", "[z]")


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        # What an edit is for.
        ("a.yaml", "topics: [x]", "topics: [y]", []),
        ("a.yaml", "principal: User:a", "principal: User:b", []),
        ("a.yaml", _ACLS, f"{_ACLS}---\n{_NEW}", []),
        ("a.yaml", _ACLS, "", []),
        # Anything else.
        ("a.yaml", "team: x", "team: y", ["Acls a"]),
        ("a.yaml", "reason: r", "reason: s", ["Acls a"]),
        ("a.yaml", "spec:\n", "spec:\n  clusters: {matchLabels: {}}\n", ["Acls a"]),
        ("c.yaml", "false", "true", ["Cluster c"]),
        ("c.yaml", "name: c", "name: d", ["Cluster c", "Cluster d"]),
        ("c.yaml", _CLUSTER, f"{_CLUSTER}---\n{_CLUSTER.replace('name: c', 'name: d')}", ["Cluster d"]),
        ("t.yaml", "User:a", "User:b", ["AccessTests t"]),
        ("t.yaml", _TESTS, "", ["AccessTests t"]),
        ("t.yaml", _TESTS, f"{_TESTS}---\n{_TESTS.replace('{name: t}', '{name: u}', 1)}", ["AccessTests u"]),
    ],
)
def test_what_no_edit_may_change_is_named(file: str, old: str, new: str, named: list[str]) -> None:
    assert old in _BASE[file]
    after = {**_BASE, file: _BASE[file].replace(old, new, 1)}
    books = [read(texts) for texts in (_BASE, after)]
    assert others_changed(books[0], books[1], {}) == [f"the document {one} is not the same" for one in named]


def test_what_is_meant_is_as_it_is_meant() -> None:
    before = read(_BASE)
    opened = read({**_BASE, "c.yaml": _CLUSTER.replace("false", "true")})
    meant = {page.key: page.root.plain for page in opened.pages if page.heading.kind == "Cluster"}
    assert others_changed(before, opened, meant) == []
    assert others_changed(before, before, meant) == ["the document Cluster c is not the same"]
