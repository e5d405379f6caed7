"""Every example is valid, plans on an empty cluster, applies, and then plans to nothing."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.adapters.sandbox import Sandbox, SandboxSpec, running
from reconciler.adapters.snapshot import BrokerFacts, snapshot_text
from reconciler.cli.main import run
from reconciler.model import ClusterState

_ROOT = Path(__file__).parents[2] / "examples"
# How pipelines run is no directory of manifests: tests/integration/ci.
_EXAMPLES = sorted(path for path in _ROOT.iterdir() if path.is_dir() and path.name != "ci")


def _clusters(example: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert run(["validate", str(example), "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["problems"] == []
    return list(document["clusters"])


@pytest.mark.parametrize("example", _EXAMPLES, ids=lambda path: path.name)
def test_an_example_turns_an_empty_cluster_into_what_it_declares(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clusters = _clusters(example, capsys)
    assert clusters
    for name in clusters:
        file = tmp_path / f"{name}.json"
        empty = ClusterState(name, quotas=frozenset())
        file.write_text(snapshot_text(empty, BrokerFacts(broker_ids=(1, 2, 3))), encoding="utf-8")
        cluster = ["--cluster", f"{name}=snapshot:{file}"]
        assert run(["plan", str(example), *cluster, "--detailed-exitcode"]) == 2
        assert run(["apply", str(example), *cluster, "--yes"]) == 0
        capsys.readouterr()
        assert run(["plan", str(example), *cluster, "--allow-deletes", "--detailed-exitcode"]) == 0
        assert "Nothing to do." in capsys.readouterr().out
        assert run(["drift", str(example), *cluster]) == 0


@pytest.fixture(scope="module")
def demo(sandbox_root: Path) -> Iterator[Sandbox]:
    with running(SandboxSpec(name="demo"), root=sandbox_root) as sandbox:
        yield sandbox


@pytest.mark.broker
def test_the_first_example_applies_on_a_real_broker(demo: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    reach = ["--cluster", "demo", "--connections", str(demo.connections)]
    assert run(["apply", str(_ROOT / "acls"), *reach, "--yes"]) == 0
    assert "Applied and verified" in capsys.readouterr().out
    assert run(["drift", str(_ROOT / "acls"), *reach]) == 0
