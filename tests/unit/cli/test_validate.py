"""``validate`` says everything at once, also what only some of the clusters show."""

import json
from pathlib import Path

import pytest

from reconciler.cli.main import run

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: %s}
spec: {scope: {include: [{topics: {prefix: %s.}}]}}
---
"""
RULES = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules:
    - {allow: READ, topics: [pay.orders]}
    - {allow: READ, topics: [log.lines]}
"""


@pytest.fixture
def manifests(tmp_path: Path) -> str:
    clusters = "".join(CLUSTER % pair for pair in (("pay", "pay"), ("log", "log"), ("pay-too", "pay")))
    (tmp_path / "all.yaml").write_text(clusters + RULES, encoding="utf-8")
    return str(tmp_path)


def test_the_problems_of_every_cluster_are_shown(manifests: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", manifests]) == 1
    told = capsys.readouterr().err
    assert "3 problems" in told
    for name in ("pay", "log", "pay-too"):
        assert f"is outside the scope of the cluster {name}\n" in told


def test_the_problems_of_every_cluster_are_in_the_json(manifests: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", manifests, "--output", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["valid"] is False
    assert [problem["line"] for problem in document["problems"]] == [22, 23, 23]
