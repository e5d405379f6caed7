"""A fleet of snapshot files by the command line: stored, compared, asked about, forgotten; what failed stays named."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.cli.main import run
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.fleet.tables import store_at
from reconciler.snapshot.document import snapshot_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MANIFESTS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: orders, labels: {team: orders}}
spec:
  principal: User:svc-orders
  rules:
    - {allow: [READ, WRITE], topics: [orders.é]}
    - {allow: READ, groups: ["🦀"]}
"""


def binding(principal: str, operation: AclOperation, name: str, kind: ResourceType = ResourceType.TOPIC) -> AclBinding:
    return AclBinding(
        ResourcePattern(kind, name), AccessControlEntry(principal, "*", operation, AclPermissionType.ALLOW)
    )


DECLARED = frozenset(
    {
        binding("User:svc-orders", AclOperation.READ, "orders.x"),
        binding("User:svc-orders", AclOperation.WRITE, "orders.x"),
        binding("User:svc-orders", AclOperation.READ, "🦀", ResourceType.GROUP),
    }
)
MALLORY = binding("User:mallory", AclOperation.WRITE, "orders.x")
ORDERS = Topic("orders.x", 3, 1, {"retention.ms": "1"})


class Fleet:
    """Five clusters whose snapshot files are in one directory."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory, self.capsys, self.said = directory, capsys, ""
        for name in ("manifests", "live"):
            (directory / name).mkdir()
        (directory / "manifests" / "acls.yaml").write_text(MANIFESTS.replace("orders.é", "orders.x"), encoding="utf-8")
        clusters = [
            f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: c{number}, labels: {{env: prod}}}}\n"
            "spec: {allowEveryoneIfNoAclFound: false, superUsers: [User:root]}\n"
            for number in range(5)
        ]
        (directory / "manifests" / "clusters.yaml").write_text("---\n".join(clusters), encoding="utf-8")
        facts = [text.replace(", labels: {env: prod}", "") for text in clusters]
        (directory / "operator.yaml").write_text("---\n".join(facts), encoding="utf-8")
        for number in range(5):
            self.put(f"c{number}", DECLARED)

    def put(self, name: str, bindings: frozenset[AclBinding], topic: Topic = ORDERS) -> None:
        state = ClusterState(f"id-{name}", bindings, {topic.name: topic})
        (self.directory / "live" / f"{name}.json").write_text(snapshot_text(state), encoding="utf-8")

    def run(self, command: str, *arguments: str) -> tuple[int, Any]:
        self.capsys.readouterr()
        store = str(self.directory / "store")
        where = ["-f", str(self.directory / "manifests"), "--store", store, "--output", "json"]
        facts = ["--connections", str(self.directory / "operator.yaml")] if command == "query" else []
        status = run(["fleet", command, *arguments, *where, *facts])
        shown = self.capsys.readouterr()
        self.said = shown.err
        document = json.loads(shown.out or "null")
        assert document is None or document["kind"] == f"Fleet{command.capitalize()}"
        return status, document

    def snapshot(self, *arguments: str) -> tuple[int, Any]:
        return self.run("snapshot", "--snapshots", str(self.directory / "live"), "--attempts", "1", *arguments)

    def ask(self, *question: str) -> list[Any]:
        status, document = self.run("query", *question)
        assert status == 0
        found: list[Any] = document["rows"]
        return found


@pytest.fixture
def fleet(tmp_path: Path, spark: "SparkSession", capsys: pytest.CaptureFixture[str]) -> Fleet:
    return Fleet(tmp_path, capsys)


def test_what_is_as_declared_is_equal_by_digest(fleet: Fleet) -> None:
    assert fleet.snapshot()[0] == 0
    status, drift = fleet.run("drift")
    assert status == 0
    assert (drift["buckets"], drift["bucketsSkipped"], drift["bytesRead"]) == (5, 5, 0)


def test_a_fleet_that_differs_is_reported_and_asked_about(fleet: Fleet, tmp_path: Path) -> None:
    assert fleet.snapshot()[0] == 0
    fleet.put("c2", DECLARED | {MALLORY})
    fleet.put("c3", DECLARED - {binding("User:svc-orders", AclOperation.READ, "orders.x")})
    (tmp_path / "live" / "c4.json").unlink()
    status, document = fleet.snapshot()
    assert status == 1
    assert [failure["cluster"] for failure in document["failures"]] == ["c4"]
    page, metrics = tmp_path / "drift.html", tmp_path / "drift.prom"
    status, drift = fleet.run("drift")
    (tmp_path / "drift.json").write_text(json.dumps(drift), encoding="utf-8")
    outputs = ["-o", f"html={page}", "-o", f"prometheus={metrics}"]
    assert run(["report", str(tmp_path / "drift.json"), *outputs]) == 0
    assert status == 1
    assert [item["cluster"] for item in drift["clusters"] if item["failure"]] == ["c4"]
    assert drift["totals"]["creates"] == drift["totals"]["deletes"] == 1
    assert "<title>c3, orders: 1</title>" in page.read_text(encoding="utf-8")
    series = metrics.read_text(encoding="utf-8")
    assert 'reconciler_fleet_bindings_undeclared{cluster="c2"} 1.0\n' in series
    assert 'reconciler_fleet_cluster_known{cluster="c4"} 0.0\n' in series
    assert 'reconciler_fleet_bindings_missing{cluster="c4"}' not in series

    assert [row[0] for row in fleet.ask("furthest")] == ["c3", "c2"]
    assert [(row[0], row[4]) for row in fleet.ask("undeclared")] == [("c2", "User:mallory")]
    outliers = fleet.ask("outliers", "--by", "env")
    assert [(row[0], row[-2], row[-1]) for row in outliers] == [
        ("prod", "only here", ["c2"]),
        ("prod", "only missing here", ["c3"]),
    ]
    moved = fleet.ask("moved")
    assert sorted((row[0], row[-1]) for row in moved) == [("c2", "appeared"), ("c3", "went")]
    holders = fleet.ask("who-can", "WRITE", "topic/orders.x")
    assert ["c2", "User:mallory"] in [row[:2] for row in holders]
    assert {row[0] for row in holders if row[1] == "User:root"} == {"c0", "c1", "c2", "c3"}
    assert fleet.ask("sql", "select failure from clusters where cluster = 'c4'") == [["snapshot_unreadable"]]
    assert fleet.ask("sql", "select count(*) from configs where key = 'retention.ms'") == [[4]]
    assert 'reconciler_fleet_read_timestamp_seconds{cluster="c2"} 1' in series
    assert 'reconciler_fleet_read_timestamp_seconds{cluster="c4"}' not in series
    assert "without c4: not known" in fleet.said
    assert fleet.run("query", "sql", "select nothing")[0] == 64


#: A value of each SQL type, and what JSON has of it.
VALUES: dict[str, object] = {
    "timestamp '2026-03-01 12:00:00.5 UTC'": "2026-03-01T12:00:00.500000Z",
    "timestamp_ntz '2026-03-01 12:00:00'": "2026-03-01 12:00:00",
    "date '2026-03-01'": "2026-03-01",
    "cast(12345678901234567890.10 as decimal(38, 2))": "12345678901234567890.10",
    "1.5D": 1.5,
    "double('NaN')": "nan",
    "double('-Infinity')": "-inf",
    "9223372036854775807L": 9223372036854775807,
    "true": True,
    "null": None,
    "X'00ff'": "00ff",
    "array(date '2026-03-01', null)": ["2026-03-01", None],
    "map(date '2026-03-01', X'01')": {"2026-03-01": "01"},
    "named_struct('a', 1, 'b', named_struct('c', 0.10BD))": {"a": 1, "b": {"c": "0.10"}},
    "array(named_struct('at', timestamp '2026-03-01 00:00:00+01:00'))": [{"at": "2026-02-28T23:00:00Z"}],
    "interval '1 02:03:04' day to second": "INTERVAL '1 02:03:04' DAY TO SECOND",
    "interval '1-2' year to month": "INTERVAL '1-2' YEAR TO MONTH",
    "make_interval(1, 2, 0, 3)": "1 years 2 months 3 days",
    "array(interval '1-2' year to month)": ["INTERVAL '1-2' YEAR TO MONTH"],
    """parse_json('{"a": [1, 1.50]}')""": {"a": [1, 1.5]},
}


def test_values_of_each_sql_type_are_json(fleet: Fleet) -> None:
    """In one column each, of which two have one name."""
    fleet.snapshot()
    columns = ", ".join([f"{value} as `c.{number // 2}`" for number, value in enumerate(VALUES)])
    (found,) = fleet.ask("sql", f"select {columns}")
    assert dict(zip(VALUES, found, strict=True)) == VALUES


def test_how_far_principals_reach_respects_every_deny(fleet: Fleet, tmp_path: Path) -> None:
    deny = AccessControlEntry("User:mallory", "*", AclOperation.ALL, AclPermissionType.DENY)
    grant = AccessControlEntry("User:mallory", "*", AclOperation.ALL, AclPermissionType.ALLOW)
    everything = ResourcePattern(ResourceType.TOPIC, "*")
    fleet.put("c0", DECLARED | {AclBinding(everything, grant)})
    fleet.put("c1", DECLARED | {AclBinding(everything, grant), AclBinding(everything, deny)})
    assert fleet.snapshot()[0] == 0
    rows = {row[0]: row[1:] for row in fleet.ask("blast-radius")}
    # clusters, over clusters, on every topic; topics to delete, to write, to read; certain
    assert rows["User:root"][:5] == [5, 5, 5, 5, 5]
    assert rows["User:mallory"] == [1, 0, 1, 1, 1, 1, True]
    assert rows["User:svc-orders"][0] == 5
    names = fleet.ask("sql", "select names from access where cluster = 'c0' and principal = 'User:mallory' limit 1")
    assert names == [[["all topics"]]]

    store = store_at(str(tmp_path / "store"))
    reading = store.run().reading("c0")
    assert reading is not None
    (tmp_path / "store" / reading.buckets[0].file).unlink()
    assert "User:mallory" not in {row[0] for row in fleet.ask("blast-radius")}
    assert "without c0: its access is not known: FileNotFoundError" in fleet.said


def test_what_moved_between_two_runs(fleet: Fleet, tmp_path: Path) -> None:
    assert fleet.snapshot()[0] == 0
    fleet.put("c0", DECLARED, Topic("orders.x", 6, 1, {"retention.ms": "2", "cleanup.policy": "compact"}))
    fleet.put("c1", DECLARED, Topic("orders.y", 3, 1))
    (tmp_path / "live" / "c2.json").unlink()
    assert fleet.snapshot()[0] == 1
    moved = [(row[0], row[2], row[-2], row[-1]) for row in fleet.ask("moved")]
    assert sorted(moved) == [
        ("c0", "orders.x", "cleanup.policy compact", "appeared"),
        ("c0", "orders.x", "partitions 3 → 6", "changed"),
        ("c0", "orders.x", "retention.ms 1 → 2", "changed"),
        ("c1", "orders.x", "", "went"),
        ("c1", "orders.x", "retention.ms 1", "went"),
        ("c1", "orders.y", "", "appeared"),
    ]
    assert "without c2: read in one of the two runs only" in fleet.said
    count = fleet.ask("sql", "--since", "previous", "select count(*) from moved where what = 'changed'")
    assert count == [[2]]


def test_snapshot_files_fit_in_and_the_rest_is_taken_over(fleet: Fleet, tmp_path: Path) -> None:
    assert fleet.snapshot()[0] == 0
    fleet.put("elsewhere", DECLARED | {MALLORY})
    status, document = fleet.run("snapshot", "--from", f"c1={tmp_path / 'live' / 'elsewhere.json'}")
    assert status == 0
    assert {item["cluster"]: item["bindings"] for item in document["clusters"]} == {
        "c0": 3,
        "c1": 4,
        "c2": 3,
        "c3": 3,
        "c4": 3,
    }


def test_no_answer_hides_what_it_leaves_out(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "live" / "c4.json").unlink()
    assert fleet.snapshot()[0] == 1
    file = tmp_path / "live" / "c1.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"aclGap": null', '"aclGap": "read in parts"'), "utf-8")
    assert fleet.snapshot("--cluster", "c1")[0] == 0
    # c4 is not read in the newest run either, which says why it was not in the one before.
    status, answer = fleet.run("query", "sql", "select cluster from bindings", "--limit", "2")
    assert (status, len(answer["rows"]), answer["more"], answer["unread"]) == (0, 2, True, ["c4"])
    assert fleet.run("query", "blast-radius")[1]["unread"] == ["c1", "c4"]
    # A name that holds the name of a view asks nothing of it: nothing has been compared yet.
    assert fleet.ask("sql", "select cluster from bindings where name = 'exchanges'") == []
    assert fleet.ask("sql", "select failure from clusters where cluster = 'c4'") == [["snapshot_unreadable"]]
    assert "without c4: not known" in fleet.said
    holders = {row[0]: row[2] for row in fleet.ask("who-can", "WRITE", "topic/nothing")}
    assert holders["c1"] == "not known: the ACL listing may not be whole: read in parts"
    status, drift = fleet.run("drift")
    assert status == 1
    doubt = "the ACL listing may not be whole: read in parts"
    assert {item["cluster"]: item["doubt"] for item in drift["clusters"] if item["doubt"]} == {"c1": doubt}
    assert f"c1: {doubt}" in fleet.said
    answer = fleet.run("query", "furthest")[1]
    assert answer["unread"] == ["c4"]


def test_old_runs_go_and_what_is_still_named_stays(fleet: Fleet, tmp_path: Path) -> None:
    assert fleet.snapshot()[0] == 0
    assert fleet.snapshot("--cluster", "c0")[0] == 0
    assert fleet.snapshot("--cluster", "c1", "--keep", "0")[0] == 0
    store = store_at(str(tmp_path / "store"))
    # The first one of the day, and the newest.
    assert len(store.run_ids()) == 2
    # c2 to c4 were read in the first run, c0 in the second: their files are still named.
    assert len(store.files.names("bindings")) == 3
    assert fleet.snapshot("--keep", "0")[0] == 0
    assert len(store.files.names("bindings")) == 2
    # What was derived of runs that go is kept.
    assert len(store.files.names("intervals")) == 5
    assert fleet.run("drift")[0] == 0


def test_without_a_snapshot_there_is_no_answer(fleet: Fleet) -> None:
    assert fleet.run("drift")[0] == 1
    assert fleet.run("query", "furthest")[0] == 1


def test_a_file_that_is_gone_makes_its_cluster_unknown(fleet: Fleet, tmp_path: Path) -> None:
    fleet.put("c2", DECLARED | {MALLORY})
    assert fleet.snapshot()[0] == 0
    store = store_at(str(tmp_path / "store"))
    reading = store.run().reading("c2")
    assert reading is not None
    (tmp_path / "store" / reading.buckets[0].file).unlink()
    status, drift = fleet.run("drift")
    assert status == 1
    assert [item["cluster"] for item in drift["clusters"] if item["failure"]] == ["c2"]


def test_what_is_damaged_in_a_store_is_said_and_hides_no_more(fleet: Fleet, tmp_path: Path) -> None:
    fleet.put("c2", DECLARED | {MALLORY})
    assert fleet.snapshot()[0] == 0
    assert fleet.run("drift")[0] == 2
    (tmp_path / "store" / "results" / "run=cut-off").mkdir()
    assert [row[0] for row in fleet.ask("furthest")] == ["c2"]
    # Two of one week, of which one stays.
    older, old = (tmp_path / "store" / "runs" / f"2020010{day}T000000.000000Z-00.json" for day in (1, 2))
    for file in (older, old):
        file.write_text("{", encoding="utf-8")
    assert fleet.snapshot("--cluster", "c1")[0] == 0
    assert f"no run was forgotten: runs/{older.name} is not as it was written" in fleet.said
    newest = tmp_path / "store" / "runs" / "99990101.json"
    old.rename(newest)
    assert fleet.snapshot("--cluster", "c1")[0] == 1
    assert "the run before cannot be read" in fleet.said


def test_the_past_of_all_clusters_is_a_view(fleet: Fleet) -> None:
    """What came between two readings, even of one second, has the time after which it came."""
    assert fleet.snapshot()[0] == 0
    fleet.put("c2", DECLARED | {MALLORY})
    assert fleet.snapshot()[0] == 0
    found = fleet.ask(
        "sql",
        "select cluster, principal, operation, from_lo is null, to_lo is null from intervals "
        "where from_lo is not null and to_hi is null",
    )
    assert found == [["c2", MALLORY.entry.principal, MALLORY.entry.operation.name, False, True]]
    assert fleet.ask("sql", "select count(distinct cluster) from intervals") == [[5]]


def test_a_store_may_be_an_address(fleet: Fleet, tmp_path: Path) -> None:
    place = f"file://{tmp_path}/by-address"
    arguments = [str(tmp_path / "manifests"), "--store", place]
    assert run(["fleet", "snapshot", *arguments, "--snapshots", str(tmp_path / "live")]) == 0
    assert run(["fleet", "drift", *arguments]) == 0
    assert run(["fleet", "query", "blast-radius", "-f", *arguments]) == 0
