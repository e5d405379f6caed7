"""How the command line names the clusters that snapshot files stand for, and for how many Spark starts."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reconciler.app.reasons import WorkflowError
from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.app import engines
from reconciler.parts.fleet.app.members import file_readers
from reconciler.parts.fleet.engine import CLUSTERS_IN_A_TASK, LOCAL_TASKS
from reconciler.snapshot.document import snapshot_text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("prod=live.json", "prod"),
        ("live/prod.json", "prod"),
        ("env=live/prod.json", "env"),
        ("live/env=eu/a.json", "a"),
    ],
)
def test_a_file_is_of_the_cluster_that_is_named_or_of_its_stem(text: str, name: str) -> None:
    assert [source.cluster for source in file_readers(None, [text])] == [name]


def test_what_was_compiled_before_and_a_plan_start_no_spark_of_however_many_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    @contextmanager
    def start(*_: object, **__: object) -> Iterator[None]:
        begun.append("spark")
        if begun:
            raise WorkflowError("Spark begins")
        yield

    monkeypatch.setattr(engines, "starting_session", start)
    monkeypatch.setattr(engines, "is_running", lambda: False)
    monkeypatch.chdir(tmp_path)
    names = [f"c{number}" for number in range(LOCAL_TASKS * CLUSTERS_IN_A_TASK + 1)]
    for directory in ("m", "live"):
        (tmp_path / directory).mkdir()
    head = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: "
    (tmp_path / "m" / "all.yaml").write_text("---\n".join(f"{head}{name}}}\nspec: {{}}\n" for name in names))
    for name in names:
        (tmp_path / "live" / f"{name}.json").write_text(snapshot_text(ClusterState(f"id-{name}")), encoding="utf-8")
    assert run(["fleet", "snapshot", "m", "--store", "s", "--snapshots", "live", "--engine", "local"]) == 0
    drift = ["fleet", "drift", "m", "--store", "s"]
    assert run(drift) == 1
    assert begun == ["spark"]
    assert run([*drift, "--engine", "local"]) == 0
    assert run(drift) == 0
    assert run(["fleet", "plan", "m", "--out", "plans", "--snapshots", "live"]) == 0
    assert begun == ["spark"]
