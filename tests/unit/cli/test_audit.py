"""The audit log: who did what, when, by which plan of which commit, and what became of it, a line for each step."""

import datetime
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text
from tests.worlds import binding

MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false, barrier: {wait: 10ms}}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules: [{allow: [READ, WRITE], topics: [x]}]
"""
APPLY = ["apply", "plan.json", "m", "--cluster", "snapshot:live.json", "--yes", "--audit", "audit.jsonl"]


def _git(*words: str) -> str:
    own = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words]
    return subprocess.run(own, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Manifests in a repository, and a saved plan of their commit."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "all.yaml").write_text(MANIFESTS)
    live = ClusterState(
        "id", frozenset({binding("User:b ALLOW READ on TOPIC x"), binding("User:a ALLOW READ on TOPIC x")})
    )
    (tmp_path / "live.json").write_text(snapshot_text(live))
    _git("init", "-q")
    _git("add", "m")
    _git("commit", "-q", "-m", "wish")
    assert run(["plan", "m", "--cluster", "snapshot:live.json", "--allow-deletes", "--out", "plan.json"]) == 0
    return _git("rev-parse", "HEAD")


def _records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("audit.jsonl").read_text().splitlines()]


def test_every_step_is_told_whole(commit: str) -> None:
    assert run([*APPLY, "--operator", "dana"]) == 0
    began, *steps, ended = _records()
    assert (began["record"], ended["record"], ended["succeeded"]) == ("run", "end", True)
    assert [(step["action"], step["outcome"]) for step in steps] == [("CreateAcl", "done"), ("DeleteAcl", "done")]
    for record in (began, *steps):
        assert record["commit"] == commit
        assert record["operator"] == "dana"
        assert record["cluster"] == {"id": "id", "name": "c"}
        assert record["planId"].startswith("plan-")
        assert record["changeId"].startswith("change-")
        assert datetime.datetime.fromisoformat(record["time"]).tzinfo is not None
    assert len({record["run"] for record in (began, *steps, ended)}) == 1
    assert steps[0]["after"]["principal"] == "User:a"
    assert steps[1]["before"]["principal"] == "User:b"


def test_runs_follow_one_another_in_one_log(commit: str) -> None:
    assert run(APPLY) == 0
    assert run(APPLY) == 0
    records = _records()
    assert [record["record"] for record in records] == ["run", "step", "step", "end"] * 2
    assert [record["outcome"] for record in records if record["record"] == "step"] == [
        "done",
        "done",
        "already",
        "already",
    ]
    assert len({record["run"] for record in records}) == 2
    assert {record.get("commit", commit) for record in records} == {commit}


def test_a_log_that_cannot_be_kept_stops_before_anything_is_sent(
    commit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("live.json").read_bytes()
    words = [word if word != "audit.jsonl" else str(tmp_path / "missing" / "audit.jsonl") for word in APPLY]
    assert run(words) == 1
    assert "nothing was sent" in capsys.readouterr().err
    assert Path("live.json").read_bytes() == before
    assert commit


@pytest.mark.parametrize("option", ["--audit", "--journal"])
def test_a_record_that_cannot_be_kept_says_which_option_to_mend(
    option: str, commit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = APPLY[: APPLY.index("--audit")]
    assert run([*words, option, "nowhere/file"]) == 1
    assert f"  give {option} FILE, in a directory that can be written to\n" in capsys.readouterr().err
