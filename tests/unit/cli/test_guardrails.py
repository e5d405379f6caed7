"""A proposal that edits its own judge says so first, in every format, and can be stopped."""

from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import BrokerFacts, snapshot_text

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c, labels: {env: prod}}
spec: {superUsers: [User:admin], allowEveryoneIfNoAclFound: false}
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: guards}
spec:
  clusters: {matchLabels: {env: prod}}
  tests: [{name: only payroll, onlyReaders: [User:svc-payroll], topics: [payroll.salaries]}]
"""
_OPERATOR = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("base", "proposal"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cluster.yaml").write_text(_CLUSTER)
    (tmp_path / "operator.yaml").write_text(_OPERATOR)
    state = ClusterState("abc", frozenset(), {})
    (tmp_path / "live.json").write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))))
    return tmp_path


def _plan(*more: str) -> int:
    return run(["plan", "proposal", "--cluster", "c=snapshot:live.json", "--connections", "operator.yaml", *more])


def _weaken(place: Path) -> None:
    text = _CLUSTER.replace("[User:admin]", "[User:admin, User:mallory]").replace(
        "labels: {env: prod}", "labels: {env: p}"
    )
    (place / "proposal" / "cluster.yaml").write_text(text)


def test_the_plan_begins_with_what_became_looser(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _weaken(place)
    assert _plan("--base", "base") == Exit.OK
    shown = capsys.readouterr().out
    assert shown.startswith("c: The guardrails change. Nothing to do.\n\n")
    assert shown.split("\n")[2].startswith("Guardrails changed: this proposal edits rules that judge it")
    assert shown.split("\n")[3].startswith("  looser ")
    assert "Cluster c, spec.superUsers[User:mallory]: added" in shown
    assert "AccessTests guards: it no longer applies to the cluster c" in shown


def test_a_pipeline_can_stop_there(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _plan("--base", "base", "--fail-on", "guardrails") == Exit.OK
    _weaken(place)
    assert _plan("--base", "base", "--fail-on", "guardrails") == Exit.FAILED_CHECK
    assert "change rules that judge them" in capsys.readouterr().err


def test_a_base_that_cannot_be_read_is_no_base_without_guardrails(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "base" / "cluster.yaml").write_text(_CLUSTER.replace("kind: AccessTests", "kind: AccessTest"))
    _weaken(place)
    assert _plan("--base", "base", "--fail-on", "guardrails") == Exit.ERROR
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "the guardrails of base cannot be compared: cluster.yaml:7:7: there is no kind 'AccessTest'" in shown.err


def test_without_a_base_there_is_nothing_to_compare_with(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _plan("--fail-on", "guardrails") == Exit.USAGE
    assert "add --base DIR" in capsys.readouterr().err


def test_a_report_has_them_before_anything_else_and_is_not_calm(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _weaken(place)
    assert _plan("--base", "base", "--output", "json") == Exit.OK
    (place / "result.json").write_text(capsys.readouterr().out)
    assert run(["report", "result.json", "-o", "markdown"]) == Exit.OK
    shown = capsys.readouterr().out
    assert "### ⚠️" in shown
    order = ["Weakens guardrails", "**Guardrails**", "**Warning**", "#### Guardrails changed"]
    assert sorted(order, key=shown.index) == order
    assert run(["report", "result.json", "-o", "sarif"]) == Exit.OK
    assert "guardrail-looser" in capsys.readouterr().out
