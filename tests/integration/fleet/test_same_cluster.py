"""Two clusters of a fleet that answer with one id: a connection points at the wrong cluster, and nothing is planned."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text
from tests.worlds import binding, step_words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: eu}
---
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: us}
---
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: asia}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: orders}
spec: {principal: User:svc-orders, rules: [{allow: READ, topics: [orders]}]}
"""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet of three in the working directory, of which two were read from one cluster."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "manifests").mkdir()
    (tmp_path / "live").mkdir()
    (tmp_path / "manifests" / "all.yaml").write_text(_MANIFESTS.replace("}\n---", "}\nspec: {}\n---"))
    for name, cluster_id in (("eu", "c1"), ("us", "c1"), ("asia", "c2")):
        (tmp_path / "live" / f"{name}.json").write_text(snapshot_text(ClusterState(cluster_id)))
    return tmp_path


def test_it_is_a_problem_of_snapshot_drift_and_plan(
    fleet: Path, spark: "SparkSession", capsys: pytest.CaptureFixture[str]
) -> None:
    read = ["fleet", "snapshot", "manifests", "--store", "store", "--snapshots", "live", "--output", "json"]
    assert run(read) == 1
    taken = json.loads(capsys.readouterr().out)
    assert taken["kind"] == "FleetSnapshot"
    assert [item["cluster"] for item in taken["clusters"]] == ["asia"]
    assert [(item["cluster"], item["code"]) for item in taken["failures"]] == [
        ("eu", "same_cluster"),
        ("us", "same_cluster"),
    ]
    assert run(["fleet", "drift", "manifests", "--store", "store"]) == 1, "of two nothing is known"
    drift = capsys.readouterr().out
    assert "as us: both connect to one cluster\n      correct the address of the one" in drift
    assert f"- {step_words(binding('TOPIC:L:orders User:svc-orders@* ALLOW READ'))}  all.yaml:19:67\n" in drift
    (fleet / "manifests" / "more.yaml.bak").write_text("")
    assert run(["fleet", "plan", "manifests", "--out", "plans", "--snapshots", "live"]) == 1
    told = capsys.readouterr()
    assert "as us: both connect to one cluster" in told.out
    assert "more.yaml.bak:1:1: warning KR016" in told.err
    assert [file.name for file in (fleet / "plans" / "plans").iterdir()] == ["asia.json"]
