"""What commands write can be read again, however the cluster, or the file that stands for it, is called."""

from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import snapshot_text

LIVE = ClusterState("id", topics={"orders": Topic("orders", 3, 1, {"cleanup.policy": "compact, delete"})})


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    file = tmp_path / "my clüster.json"
    file.write_text(snapshot_text(LIVE), encoding="utf-8")
    return f"snapshot:{file}"


def test_an_export_of_a_snapshot_plans_to_nothing(
    snapshot: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    assert run(["export", "--cluster", snapshot, "--out", out]) == 0
    assert run(["validate", out]) == 0
    capsys.readouterr()
    assert run(["plan", out, "--cluster", snapshot, "--detailed-exitcode"]) == 0
    assert "Nothing to do." in capsys.readouterr().out


def test_a_proposed_policy_is_a_manifest(snapshot: str, tmp_path: Path) -> None:
    manifests = tmp_path / "out"
    assert run(["export", "--cluster", snapshot, "--out", str(manifests)]) == 0
    assert run(["policy", "init", "--cluster", snapshot, "--out", str(manifests / "policy.yaml")]) == 0
    assert run(["validate", str(manifests)]) == 0


@pytest.mark.parametrize(
    "words",
    [
        ["init", "{}/new", "--cluster", "a: b"],
        ["convert", "--from", "strimzi", "{}/topic.yaml", "--name", "a b"],
        ["policy", "init", "--cluster", "snapshot:{}/my clüster.json", "--name", "-"],
    ],
)
def test_a_name_that_no_document_can_have_is_refused(
    words: list[str], snapshot: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "topic.yaml").write_text("kind: KafkaTopic\nmetadata: {name: t}\nspec: {partitions: 1}\n")
    assert run([word.replace("{}", str(tmp_path)) for word in words]) == 64
    assert "is not a valid document name" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
