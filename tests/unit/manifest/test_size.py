"""A short manifest cannot multiply to more than a machine holds: rules are reckoned before they are made."""

import datetime

import pytest

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.parts.bindings import MAX_BINDINGS
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError

CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {allowEveryoneIfNoAclFound: false}\n"


def _listed(prefix: str, number: int) -> str:
    return "[" + ", ".join(f"{prefix}{index}" for index in range(number)) + "]"


def _declared(principals: int, names: int, action: str, hosts: str = "") -> int:
    rule = f"{{{action}, topics: {_listed('t', names)}{hosts}}}"
    text = (
        f"---\napiVersion: reconciler/v1\nkind: Acls\nmetadata: {{name: a}}\n"
        f"spec:\n  principals: {_listed('User:u', principals)}\n  rules: [{rule}]\n"
    )
    manifests = load([Source("a.yaml", CLUSTER + text)])
    return len(desired_state(manifests, "c", datetime.date(2026, 1, 1)).bindings)


def test_what_a_cluster_may_hold_is_declared() -> None:
    assert _declared(50, 100, "allow: [READ, WRITE]") == 10_000


@pytest.mark.parametrize(
    ("principals", "names", "action", "hosts", "size"),
    [
        (2_000, 5_000, "allow: [READ, WRITE, DESCRIBE, ALTER]", "", "40,000,000"),
        (2_000, 5_000, "role: producer", "", ""),
        (
            1_000,
            1,
            "allow: READ",
            f", hosts: [{', '.join(f'10.0.{n // 250}.{n % 250}' for n in range(5_000))}]",
            "5,000,000",
        ),
    ],
)
def test_more_is_refused_before_it_is_made(principals: int, names: int, action: str, hosts: str, size: str) -> None:
    with pytest.raises(ManifestError) as refused:
        _declared(principals, names, action, hosts)
    (problem,) = refused.value.problems
    assert problem.code == "KR051"
    assert f"{size} bindings; all rules of a cluster may come to {MAX_BINDINGS:,}" in problem.message


def test_rules_that_are_too_many_only_together_are_refused_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconciler.manifest.parts.bindings.MAX_BINDINGS", 5_000)
    rule = f"    - {{allow: [READ, WRITE], topics: {_listed('t', 200)}}}\n"
    documents = "".join(
        f"---\napiVersion: reconciler/v1\nkind: Acls\nmetadata: {{name: a{number}}}\n"
        f"spec:\n  principals: {_listed(f'User:u{number}-', 5)}\n  rules:\n{rule}"
        for number in range(3)
    )
    manifests = load([Source("a.yaml", CLUSTER + documents)])
    with pytest.raises(ManifestError) as refused:
        desired_state(manifests, "c", datetime.date(2026, 1, 1))
    assert [problem.code for problem in refused.value.problems] == ["KR051"]
