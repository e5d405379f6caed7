"""``lint --fix``: what says nothing goes, access stays the same on every day, and roles are not taken apart."""

from datetime import date
from pathlib import Path

import pytest

from reconciler.app.options import StateRequest
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.parts.edit.app.editing import ManifestEdit
from reconciler.parts.edit.app.simplify import LintFix, fix_lint, fix_simplify

MANIFESTS = """\
# Everything
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec: {bootstrapServers: ["b:9092"], allowEveryoneIfNoAclFound: false}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules:
    # broad
    - {allow: [READ, WRITE], topics: {prefix: pay.}}
    # narrow
    - {allow: READ, topics: [pay.x, other]}   # twice
    - {allow: READ, topics: [old], expires: 2020-01-01}
    - {allow: READ, topics: {prefix: tmp.}, expires: 2030-01-01}
    - {allow: READ, topics: [tmp.x]}
    - {role: consumer, topics: [pay.z], groups: [g]}
    - {deny: WRITE, topics: [nothing]}
"""
FIXED = MANIFESTS.replace("[pay.x, other]", "[other]").replace(
    "    - {allow: READ, topics: [old], expires: 2020-01-01}\n", ""
)
DAY = date(2026, 11, 23)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "all.yaml").write_text(MANIFESTS, encoding="utf-8")
    return tmp_path


def fixed(place: Path, *also: str) -> LintFix:
    return fix_lint(StateRequest(str(place), as_of=DAY), also=also)


def test_what_is_covered_or_over_goes_and_nothing_else(place: Path) -> None:
    found = fixed(place)
    assert found.edit.files == {"all.yaml": FIXED}
    assert not any(review.access_changes for review in found.edit.access.values())
    # tmp.x outlives what covers it today, and pay.z is half of a role.
    assert {item.binding.pattern.name for item in found.kept if item.binding is not None} == {"tmp.x", "pay.z"}


def test_nothing_is_written_until_somebody_says_so(place: Path) -> None:
    edit = fixed(place).edit
    assert (place / "all.yaml").read_text(encoding="utf-8") == MANIFESTS
    edit.write()
    assert (place / "all.yaml").read_text(encoding="utf-8") == FIXED
    assert fixed(place).edit.files == {}


def test_a_guard_goes_only_if_it_is_named(place: Path) -> None:
    text = fixed(place, "idle-deny").edit.files["all.yaml"]
    assert text is not None
    assert "deny" not in text
    with pytest.raises(RequestError, match="KA012 cannot be fixed: what to do about it is for people to say"):
        fixed(place, "KA012")
    with pytest.raises(RequestError, match="KA999 cannot be fixed: there is no such lint rule"):
        fixed(place, "KA999")


def test_minimised_manifests_are_the_same_edit(place: Path) -> None:
    found: ManifestEdit = fix_simplify(StateRequest(str(place), as_of=DAY))
    text = found.files["all.yaml"]
    assert text is not None
    assert "[other]" in text
    assert "tmp.x" in text
    assert "# twice" in text


def test_a_file_that_changed_meanwhile_is_left_alone(place: Path) -> None:
    edit = fixed(place).edit
    (place / "all.yaml").write_text(MANIFESTS + "# mine\n", encoding="utf-8")
    with pytest.raises(WorkflowError, match="changed while it was edited"):
        edit.write()
    assert (place / "all.yaml").read_text(encoding="utf-8").endswith("# mine\n")
