"""Which clusters snapshot files stand for, for how many of them Spark starts, and whose run is the newest."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reconciler.app.reasons import WorkflowError
from reconciler.app.terms import stated_facts
from reconciler.cli.main import run
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.app import engines, runs
from reconciler.parts.fleet.app.members import file_readers
from reconciler.parts.fleet.engine import CLUSTERS_IN_A_TASK, LOCAL_TASKS, LocalEngine
from reconciler.parts.fleet.readings import SnapshotSource
from reconciler.parts.fleet.store import ClockError
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.history.update import FreshReading, keep_reading
from reconciler.results.fleet_drift import FleetRun
from reconciler.snapshot.document import snapshot_text
from tests.worlds import binding


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


def test_a_file_has_the_scope_and_the_facts_of_its_cluster_where_manifests_have_it() -> None:
    text = (
        "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: prod}\n"
        "spec: {superUsers: ['User:root'], scope: {include: [{topics: {prefix: ours.}}]}}\n"
    )
    manifests = load([Source("a.yaml", text)])
    prod, other = file_readers(manifests, ["live/prod.json", "live/other.json"])
    assert prod.scope == manifests.clusters["prod"].scope != Scope()
    assert prod.stated is not None
    assert prod.stated == stated_facts(manifests.clusters["prod"])
    assert (other.scope, other.stated) == (Scope(), None)


def test_files_are_read_whatever_a_connections_file_says_and_clusters_by_no_proposed_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever edits the manifests could send the operator's login elsewhere; files need none."""
    for directory in ("m", "live"):
        (tmp_path / directory).mkdir()
    head = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec:\n"
    (tmp_path / "m" / "all.yaml").write_text(f"{head}  vars: {{a: b}}\n", encoding="utf-8")
    login = "  bootstrapServers: ['b:9092']\n  client: {sasl.username: a, sasl.password: '${env:X}'}\n"
    (tmp_path / "m" / "proposed.conf").write_text(head + login, encoding="utf-8")
    (tmp_path / "live" / "c.json").write_text(snapshot_text(ClusterState("id")), encoding="utf-8")
    words = ["fleet", "snapshot", str(tmp_path / "m"), "--store", str(tmp_path / "s"), "--engine", "local"]
    words += ["--connections", str(tmp_path / "m" / "proposed.conf"), "--attempts", "1"]
    assert run([*words, "--from", str(tmp_path / "live" / "c.json")]) == 0
    assert run([*words, "--snapshots", str(tmp_path / "live")]) == 0
    assert run(words) == 1
    assert "could redirect the secrets of cluster c" in capsys.readouterr().err


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


def test_drivers_whose_clocks_differ_write_the_newest_run_in_turn_and_one_that_is_far_behind_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, clock = store_at(str(tmp_path)), datetime.datetime(2026, 11, 27, 12, tzinfo=datetime.UTC)
    bindings = [binding(f"User:{number} ALLOW READ on TOPIC a") for number in range(3)]

    def snapshot(ahead: float, number: int) -> FleetRun:
        state = ClusterState("id", frozenset(bindings[: number + 1]))
        monkeypatch.setattr(runs, "now", lambda: clock + datetime.timedelta(seconds=ahead))
        return runs.take(LocalEngine(), store, [SnapshotSource("c", Scope(), lambda: state)])

    for number, ahead in enumerate((50, 0, -5)):
        assert snapshot(ahead, number) == store.run()
        (reading,) = store.run().readings
        assert (reading.rows, reading.taken) == (number + 1, "2026-11-27T12:00:50Z")
    known = store.run_ids()
    with pytest.raises(
        WorkflowError, match=r"no run can be added to .* is of 2026-11-27T12:00:50Z, and it is .*11:59:0"
    ):
        snapshot(-60, 0)
    early = clock - datetime.timedelta(seconds=90)
    fresh = FreshReading("c", ClusterState("id"), Scope(), early, early)
    with pytest.raises(ClockError, match="correct the clock that is wrong"):
        keep_reading(store, fresh)
    assert store.run_ids() == known
