"""``adopt`` asks a person about each difference: what is answered is what is kept."""

import io
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text
from tests.worlds import binding

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec: {bootstrapServers: ["b:9092"], allowEveryoneIfNoAclFound: false}
"""
LIVE = [binding(f"User:{name} ALLOW READ on TOPIC orders") for name in ("a", "b", "c")]


class _Terminal(io.StringIO):
    """Answers that somebody types."""

    def isatty(self) -> bool:
        """As a terminal."""
        return True


@pytest.mark.parametrize(
    ("answers", "kept", "asked"),
    [("y\nn\ny\n", "ac", 3), ("n\na\n", "bc", 2), ("y\nq\n", "a", 2), ("q\n", "", 1), ("what\ny\nq\n", "a", 3)],
)
def test_what_is_answered_is_what_is_kept(
    answers: str,
    kept: str,
    asked: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "live.json").write_text(snapshot_text(ClusterState("demo", frozenset(LIVE))), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", _Terminal(answers))
    assert run(["adopt", str(tmp_path / "m"), "-c", f"snapshot:{tmp_path / 'live.json'}", "--write"]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("Keep as the cluster has it?") == asked
    files = {path.stem for path in (tmp_path / "m").rglob("*.yaml")} - {"cluster"}
    assert files == set(kept)
