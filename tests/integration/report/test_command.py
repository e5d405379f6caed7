"""The command line: several results become one report, and what is no result is refused in words."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.show.formats import FORMATS
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.integration.report.results import printed

_BEGINNINGS = {
    "text": "Widens: Access widens and narrows\n",
    "markdown": "<!-- reconciler:demo -->\n",
    "summary": "<!-- reconciler:demo -->\n",
    "github": "::warning title=reconciler::Access",
    "sarif": '{\n  "$schema"',
    "junit": '<?xml version="1.0"',
    "gitlab-terraform": '{\n  "create": 24',
    "gitlab-codequality": "[\n",
    "cloudevents": '{"data":',
    "prometheus": "# HELP reconciler_plan_steps",
    "html": "<!doctype html>",
    "json": '{\n  "checks"',
}


@pytest.fixture
def files(documents: dict[str, Any], tmp_path: Path) -> dict[str, str]:
    for name, document in documents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return {name: str(tmp_path / f"{name}.json") for name in documents}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_of_a_plan_with_findings(
    form: str, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["report", files["plan"], files["lint"], "--as-of", "2026-11-21T08:30:00Z", "-o"]
    assert run([*arguments, form]) == Exit.OK
    printed_text = capsys.readouterr().out
    assert printed_text.lstrip().startswith(_BEGINNINGS[form])
    assert run([*arguments, f"{form}={tmp_path / 'report'}"]) == Exit.OK
    assert (tmp_path / "report").read_text(encoding="utf-8") == printed_text
    assert capsys.readouterr().out == ""


def test_a_result_comes_by_stdin(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = Path(files["drift"]).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run(["report", "-", "-o", "json"]) == Exit.OK
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "The cluster differs from what is declared: 29 differences"
    assert (len(document["drifts"]), document["plans"]) == (1, [])


@pytest.mark.parametrize(("gap", "tone"), [(None, "calm"), ("read in parts", "caution")])
def test_a_cluster_that_was_not_seen_whole_is_not_calm(
    gap: str | None, tone: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests, live, result = tmp_path / "manifests", tmp_path / "live.json", tmp_path / "drift.json"
    manifests.mkdir()
    cluster = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: prod}\nspec: {}\n"
    (manifests / "cluster.yaml").write_text(cluster, encoding="utf-8")
    live.write_text(snapshot_text(ClusterState("x", acl_gap=gap), BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    assert run(["drift", str(manifests), "--cluster", f"prod=snapshot:{live}", "--output", "json"]) == Exit.OK
    result.write_text(capsys.readouterr().out, encoding="utf-8")
    assert run(["report", str(result), "-o", "json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["tone"] == tone


def test_a_saved_plan_is_a_result_as_long_as_nobody_touched_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "plan.json"
    live = tmp_path / "live.json"
    _empty(live)
    name = next(iter(printed("validate", "examples/topics")["clusters"]))
    assert run(["plan", "examples/topics", "--cluster", f"{name}=snapshot:{live}", "--out", str(saved)]) == Exit.OK
    capsys.readouterr()
    assert run(["report", str(saved)]) == Exit.OK
    assert f"{name}: " in capsys.readouterr().out
    saved.write_text(saved.read_text(encoding="utf-8").replace('"phase":4', '"phase":2', 1), encoding="utf-8")
    assert run(["report", str(saved)]) == Exit.STALE
    assert "altered" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "it is no JSON object: pass what plan,"),
        ('{"states": [{"kept": []}]}', "it has no field 'kind', and is no saved plan either: pass what plan,"),
        ('{"planId": 1, "steps": []}', "it has no field 'kind', and is no saved plan either: pass what plan,"),
        ('{"kind": "Access", "states": []}', "its kind 'Access' has no report: pass what plan,"),
        ('{"kind": "plan", "states": []}', "its kind 'plan' is not known: pass what plan,"),
        ('{"kind": ["Plan"]}', "its kind ['Plan'] is not known: pass what plan,"),
        ('{"kind": null}', "its kind None is not known: pass what plan,"),
        ('{"kind": "Tighten", "patch": ""}', "expected an object, found null"),
        ('{"kind": "Plan", "planId": 1, "steps": []}', "formatVersion: expected a string, found null"),
        ('{"kind": "Lint", "states": [{"findings": 1, "cluster": "x"}]}', "states[0].basis: is missing"),
        (
            '{"kind": "Test", "passed": true, "clusters": [{"cluster": "x", "basis": "live", "claims": [{}]}]}',
            "clusters[0].claims[0].test: is missing",
        ),
        ('{"kind": "Validate", "valid": true, "problems": [{}]}', "problems[0].code: is missing"),
    ],
)
def test_what_is_no_result_is_refused(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "result.json"
    file.write_text(text, encoding="utf-8")
    assert run(["report", str(file)]) == Exit.ERROR
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""


def test_a_plan_whose_steps_are_not_its_own_is_refused(
    documents: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({**documents["plan"], "steps": documents["plan"]["steps"][1:]}), encoding="utf-8")
    assert run(["report", str(file)]) == Exit.ERROR
    assert "do not belong to its content" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--path", "/etc"],
        ["--path", "../other"],
        ["--marker", "a--b"],
        ["--marker", "x --><script>"],
        ["--as-of", "yesterday"],
        ["--as-of", "2026-11-21T08:30:00"],
        ["--notify-secret", "${env:KEY}"],
        ["--notify-webhook", "http://127.0.0.1/"],
        ["--notify-webhook", "https://127.0.0.1/", "--notify-secret", "plain"],
        ["--notify-webhook", "https://127.0.0.1/", "--notify-secret", "${env:NOT_ALLOWED}"],
    ],
)
def test_options_that_cannot_be_are_refused(arguments: list[str], files: dict[str, str]) -> None:
    assert run(["report", files["plan"], *arguments]) == Exit.USAGE


def test_a_file_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "nowhere.json"]) == Exit.USAGE
    assert "there is no nowhere.json" in capsys.readouterr().err


def _empty(file: Path) -> None:

    file.write_text(snapshot_text(ClusterState("empty"), BrokerFacts(broker_ids=(1, 2, 3))), encoding="utf-8")
