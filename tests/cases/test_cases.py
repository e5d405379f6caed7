"""Every ``*.yaml`` beside this file is a story: manifests and a live state, the plan that must come of them.

The runner plans, compares the text, applies, checks the exit statuses, and plans again.
"""

import datetime
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import snapshot_text
from tests.worlds import binding

CASES = sorted(Path(__file__).parent.glob("*.yaml"))
_OPERATOR = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec:\n"
_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec:
  barrier: {wait: 100ms}
"""


def live_state(case: dict[str, Any]) -> ClusterState:
    live = case.get("live") or {}
    topics = {
        name: Topic(name, topic["partitions"], topic["replicas"], topic.get("configs") or {}, f"id-{name}")
        for name, topic in (live.get("topics") or {}).items()
    }
    return ClusterState("cluster-of-the-case", frozenset(map(binding, live.get("bindings") or ())), topics)


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    then = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    monkeypatch.setattr("reconciler.app.options.now", lambda: then)
    monkeypatch.setattr("reconciler.system.process.SystemClock.now", lambda _: then.isoformat())
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    facts = case.get("cluster", "allowEveryoneIfNoAclFound: false")
    (manifests / "cluster.yaml").write_text(_CLUSTER + _indented(facts))
    (manifests / "wishes.yaml").write_text(case["manifests"])
    live = tmp_path / "live.json"
    live.write_text(snapshot_text(live_state(case)), encoding="utf-8")
    arguments = [str(manifests), "--cluster", f"snapshot:{live}", *case.get("options", [])]
    if (stated := yaml.safe_load(facts).get("allowEveryoneIfNoAclFound")) is not None:
        operator = tmp_path / "operator.yaml"
        operator.write_text(f"{_OPERATOR}  allowEveryoneIfNoAclFound: {str(stated).lower()}\n")
        arguments += ["--connections", str(operator)]

    status = run(["plan", *arguments])
    shown = capsys.readouterr()
    assert _body(shown.out).split("\n") == case["plan"].rstrip("\n").split("\n"), shown.err
    assert status == case.get("exit", 0), shown.err

    assert run(["apply", *arguments, "--yes"]) == case.get("apply-exit", status)
    capsys.readouterr()
    if "afterwards" in case:
        run(["plan", *arguments])
        assert _body(capsys.readouterr().out).split("\n") == case["afterwards"].rstrip("\n").split("\n")


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.rstrip("\n").split("\n"))


def _body(text: str) -> str:
    """The plan without its ids and what closes it (times, counts of what was read), which other tests look at."""
    kept = (line for line in text.split("\n") if not re.match(r"Approve with |as of |declared \d", line))
    return "\n".join(kept).strip("\n")
