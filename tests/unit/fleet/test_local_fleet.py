"""A fleet of snapshot files without Spark: stored, compared, asked about, planned, in this process."""

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.app.reasons import WorkflowError
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.model.acl import AclBinding
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.fleet.app import engines
from reconciler.parts.fleet.app.access import access_of_units
from reconciler.parts.fleet.app.query import FleetQuestion
from reconciler.parts.fleet.app.runs import read_fleet_plan
from reconciler.parts.fleet.engine import LocalEngine
from reconciler.parts.fleet.tables import store_at
from reconciler.snapshot.document import snapshot_text
from tests.worlds import binding

_ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: orders, labels: {team: orders}}
spec:
  principal: User:orders
  rules:
    - {allow: [READ, WRITE], topics: [orders.x]}
    - {allow: READ, groups: [g]}
"""
_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: NAME, labels: {env: ENV}}
spec:
  allowEveryoneIfNoAclFound: false
  superUsers: [User:root]
  scope: {include: [{topics: {any: true}}, {groups: {any: true}}]}
"""
_SCOPE = "  scope: {include: [{topics: {any: true}}, {groups: {any: true}}]}\n"
_FLEET = """\
apiVersion: reconciler/v1
kind: Fleet
metadata: {name: world}
spec:
  waves:
    - {name: first, clusters: {matchLabels: {env: dev}}, gate: {soak: 1h}}
    - {name: rest, clusters: {matchLabels: {env: prod}}}
  limits: {maxChangedClustersPercent: 80, maxDeletes: 2}
"""
READ = binding("User:orders ALLOW READ on TOPIC orders.x")
WRITE = binding("User:orders ALLOW WRITE on TOPIC orders.x")
GROUP = binding("User:orders ALLOW READ on GROUP g")
MALLORY = binding("User:mallory ALLOW WRITE on TOPIC orders.x")
DECLARED = frozenset({READ, WRITE, GROUP})
#: Two of the environment dev, three of prod.
NAMES = {"c0": "dev", "c1": "dev", "c2": "prod", "c3": "prod", "c4": "prod"}


class Fleet:
    """Manifests, a snapshot file of each cluster, and a store."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Every cluster is as declared."""
        self.root, self.capsys, self.said, self.shown = root, capsys, "", ""
        for name in ("m", "live"):
            (root / name).mkdir()
        named = [(_CLUSTER.replace("NAME", name), env) for name, env in NAMES.items()]
        facts = "---\n".join(text.replace(", labels: {env: ENV}", "").replace(_SCOPE, "") for text, _ in named)
        (root / "operator.yaml").write_text(facts, encoding="utf-8")
        clusters = "---\n".join(text.replace("ENV", env) for text, env in named)
        (root / "m" / "clusters.yaml").write_text(clusters, encoding="utf-8")
        (root / "m" / "acls.yaml").write_text(_ACLS, encoding="utf-8")
        for name in NAMES:
            self.put(name, DECLARED)

    def put(self, name: str, bindings: frozenset[AclBinding], *topics: Topic) -> None:
        """Let a cluster have these."""
        state = ClusterState(f"id-{name}", bindings, {topic.name: topic for topic in topics})
        (self.root / "live" / f"{name}.json").write_text(snapshot_text(state), encoding="utf-8")

    def run(self, *words: str, output: str = "json") -> tuple[int, Any]:
        """The exit status and the JSON of a command; ``said`` is its stderr."""
        self.capsys.readouterr()
        status = run(["fleet", *words, "--engine", "local", "-o", output])
        shown = self.capsys.readouterr()
        self.said, self.shown = shown.err, shown.out
        return status, json.loads(shown.out or "null") if output == "json" else None

    @property
    def store(self) -> tuple[str, str]:
        """As an option."""
        return "--store", str(self.root / "store")

    @property
    def live(self) -> tuple[str, str]:
        """As an option."""
        return "--snapshots", str(self.root / "live")

    def snapshot(self, *words: str) -> tuple[int, Any]:
        """Read all clusters."""
        return self.run("snapshot", str(self.root / "m"), *self.store, *self.live, "--attempts", "1", *words)

    def drift(self, *words: str) -> tuple[int, Any]:
        """Compare what was read."""
        return self.run("drift", str(self.root / "m"), *self.store, *words)

    def ask(self, *words: str) -> list[list[Any]]:
        """The rows of an answer."""
        facts = ("--connections", str(self.root / "operator.yaml"))
        status, found = self.run("query", *words, "-f", str(self.root / "m"), *self.store, *facts)
        assert status == Exit.OK, self.said
        self.answer = found
        rows: list[list[Any]] = found["rows"]
        return rows

    def plan(self, *words: str, output: str = "json") -> tuple[int, Any]:
        """Plan all clusters, into a directory that is new."""
        number = len([*self.root.glob("plans*")])
        self.plans = self.root / f"plans{number}"
        return self.run("plan", str(self.root / "m"), "--out", str(self.plans), *self.live, *words, output=output)


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fleet:
    """In threads instead of forks."""
    monkeypatch.setattr(engines, "ForkingEngine", LocalEngine)
    monkeypatch.chdir(tmp_path)
    return Fleet(tmp_path, capsys)


def test_what_each_cluster_has_more_and_less_is_told_with_its_place(fleet: Fleet) -> None:
    fleet.put("c1", DECLARED - {READ})
    fleet.put("c2", DECLARED | {MALLORY})
    fleet.put("c3", frozenset({MALLORY}))
    assert fleet.snapshot()[0] == Exit.OK
    status, found = fleet.drift()
    assert status == Exit.DIFFERENT
    names = ("creates", "deletes", "desired", "owned")
    counts = {one["cluster"]: [one["counts"][name] for name in names] for one in found["clusters"]}
    assert counts == {
        "c0": [0, 0, 3, 3],
        "c1": [1, 0, 3, 2],
        "c2": [0, 1, 3, 4],
        "c3": [3, 1, 3, 1],
        "c4": [0, 0, 3, 3],
    }
    assert [found["totals"][name] for name in names] == [4, 2, 15, 13]
    # Equal ones are equal by digest, and are not read.
    assert (found["buckets"], found["bucketsSkipped"], found["bytesRead"] > 0) == (5, 2, True)
    told = {
        one["cluster"]: [(item["sign"], item["text"], item["place"]) for item in one["differences"]]
        for one in found["clusters"]
    }
    undeclared = ("-", str(MALLORY), "")
    missing = [
        ("+", str(READ), "acls.yaml:7:39"),
        ("+", str(WRITE), "acls.yaml:7:39"),
        ("+", str(GROUP), "acls.yaml:8:30"),
    ]
    assert told == {"c0": [], "c1": missing[:1], "c2": [undeclared], "c3": [*missing, undeclared], "c4": []}
    teams = {one["cluster"]: one["teams"] for one in found["clusters"] if one["teams"]}
    assert teams == {"c1": {"orders": 1}, "c2": {"(nobody)": 1}, "c3": {"orders": 3, "(nobody)": 1}}
    fleet.run("drift", str(fleet.root / "m"), *fleet.store, output="text")
    assert "5 clusters: 2 as declared, 3 differ, 0 not known; 6 differences among 13 bindings in scope" in fleet.shown
    # The furthest first.
    assert [line.split(":")[0].strip() for line in fleet.shown.splitlines() if line.startswith("  c")] == [
        "c3",
        "c2",
        "c1",
    ]
    assert [row[:2] for row in fleet.ask("furthest")] == [["c3", 4], ["c1", 1], ["c2", 1]]


def test_who_can_and_how_far_each_reaches(fleet: Fleet) -> None:
    everything = binding("User:eve ALLOW ALL on TOPIC *")
    denied = binding("User:eve DENY ALL on TOPIC *")
    fleet.put("c1", DECLARED - {WRITE}, Topic("orders.x", 1, 1))
    fleet.put("c2", DECLARED | {everything}, Topic("orders.x", 1, 1), Topic("other", 1, 1))
    fleet.put("c3", DECLARED | {everything, denied}, Topic("orders.x", 1, 1))
    (fleet.root / "live" / "c4.json").unlink()
    assert fleet.snapshot()[0] == Exit.ERROR
    found = fleet.ask("who-can", "WRITE", "topic/orders.x")
    assert {(row[0], row[1]) for row in found if row[1] != "User:root"} == {
        ("c0", "User:orders"),
        ("c2", "User:orders"),
        ("c2", "User:eve"),
        ("c3", "User:orders"),
    }
    assert {row[0] for row in found if row[1] == "User:root"} == {"c0", "c1", "c2", "c3"}
    assert all(row[-1] for row in found), "the operator states what the answer rests on"
    assert (fleet.answer["unread"], fleet.answer["more"]) == (["c4"], False)
    assert "without c4: not known in run" in fleet.said
    assert fleet.ask("who-can", "WRITE", "topic/orders.x", "--limit", "2") == found[:2]
    assert (fleet.answer["more"], "there are more rows than these 2" in fleet.said) == (True, True)
    assert fleet.ask("who-can", "WRITE", "topic/orders.x", "--limit", str(len(found))) == found
    assert fleet.answer["more"] is False
    reach = {row[0]: row[1:] for row in fleet.ask("blast-radius")}
    # clusters, over clusters, on every topic; topics to delete, to write, to read; certain
    assert reach["User:root"] == [4, 4, 4, 4, 4, 4, True]
    assert reach["User:eve"] == [1, 0, 1, 2, 2, 2, True]
    assert reach["User:orders"] == [4, 0, 0, 0, 2, 3, True]


def test_who_may_delete_comes_before_who_may_write_more_and_read_most(fleet: Fleet) -> None:
    names = {
        "deletes": "DELETE on TOPIC orders.x",
        "reads": "READ on TOPIC PREFIXED orders.",
        "writes": "WRITE on TOPIC PREFIXED orders.",
    }
    given = {binding(f"User:{name} ALLOW {words}") for name, words in names.items()}
    fleet.put("c0", DECLARED | given, Topic("orders.x", 1, 1), Topic("orders.y", 1, 1))
    assert fleet.snapshot()[0] == Exit.OK
    found = [row[0] for row in fleet.ask("blast-radius")]
    assert found == ["User:root", "User:deletes", "User:writes", "User:orders", "User:reads"]


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        # One of five lacks it, or has it: always told. Two of five are more than two percent, and fewer than 45.
        ((), {("WRITE", "only missing here", "c3")}),
        (
            ("45",),
            {
                ("WRITE", "only missing here", "c3"),
                ("READ", "only missing here", "c1 c2"),
                ("ALL", "only here", "c0 c4"),
            },
        ),
        # Of a group of two, neither is the odd one.
        (
            ("--by", "env"),
            {("READ", "only missing here", "c2"), ("WRITE", "only missing here", "c3"), ("ALL", "only here", "c4")},
        ),
    ],
)
def test_what_few_clusters_have_or_lack(fleet: Fleet, words: tuple[str, ...], rows: set[tuple[str, str, str]]) -> None:
    everything = binding("User:eve ALLOW ALL on TOPIC *")
    fleet.put("c0", DECLARED | {everything})
    fleet.put("c1", DECLARED - {READ})
    fleet.put("c2", DECLARED - {READ})
    fleet.put("c3", DECLARED - {WRITE})
    fleet.put("c4", DECLARED | {everything})
    assert fleet.snapshot()[0] == Exit.OK
    found = fleet.ask("outliers", *words)
    assert {(row[6], row[10], " ".join(row[11])) for row in found} == rows
    assert {row[0] for row in found} == ({"prod"} if words[:1] == ("--by",) else {"fleet"})
    # The rarest first, and of these what few have.
    rarity = [(min(row[8], row[9] - row[8]), row[10] != "only here") for row in found]
    assert rarity == sorted(rarity)
    assert fleet.ask("outliers", *words, "--limit", "1") == found[:1]
    assert fleet.answer["more"] is (len(found) > 1)


def test_a_reading_that_fails_is_named_and_the_one_before_is_no_substitute(fleet: Fleet) -> None:
    assert fleet.snapshot()[0] == Exit.OK
    (fleet.root / "live" / "c4.json").write_text("{", encoding="utf-8")
    status, found = fleet.snapshot()
    assert (status, [one["cluster"] for one in found["clusters"]]) == (Exit.ERROR, ["c0", "c1", "c2", "c3"])
    (failure,) = found["failures"]
    assert (failure["cluster"], failure["code"], failure["attempts"]) == ("c4", "invalid_snapshot", 1)
    status, drift = fleet.drift()
    assert status == Exit.ERROR
    assert [one["cluster"] for one in drift["clusters"] if one["failure"]] == ["c4"]
    assert "nothing can be said of 1 cluster" in fleet.said
    # One that is read alone joins the others of the run before.
    fleet.put("c4", DECLARED)
    status, found = fleet.snapshot("--cluster", "c4")
    assert (status, len(found["clusters"]), found["failures"]) == (Exit.OK, 5, [])
    assert fleet.drift()[0] == Exit.OK
    assert fleet.drift("--run", found["run"])[0] == Exit.OK
    assert fleet.drift("--run", "20200101T000000.000000Z-00000000")[0] == Exit.ERROR


def test_two_names_of_one_cluster_are_both_refused(fleet: Fleet) -> None:
    """Whichever is meant, a comparison of the other one would delete what is declared for it."""
    fleet.put("c1", DECLARED)
    text = (fleet.root / "live" / "c1.json").read_text(encoding="utf-8")
    (fleet.root / "live" / "c2.json").write_text(text, encoding="utf-8")
    status, found = fleet.snapshot()
    assert status == Exit.ERROR
    assert {(one["cluster"], one["code"]) for one in found["failures"]} == {
        ("c1", "same_cluster"),
        ("c2", "same_cluster"),
    }


def test_a_store_keeps_as_many_runs_as_it_is_told(fleet: Fleet) -> None:
    for number, keep in enumerate(("30", "30", "0", "0")):
        fleet.put("c0", DECLARED if number % 2 else DECLARED | {MALLORY})
        assert fleet.snapshot("--keep", keep)[0] == Exit.OK
    store = store_at(str(fleet.root / "store"))
    # The first one of the day, and the newest.
    assert len(store.run_ids()) == 2
    assert store.run().id == max(store.run_ids())
    assert fleet.drift()[0] == Exit.OK


def test_what_is_asked_in_sql_needs_spark(fleet: Fleet) -> None:
    assert fleet.snapshot()[0] == Exit.OK
    for words in (("moved",), ("undeclared",), ("sql", "select 1")):
        assert fleet.run("query", *words, "-f", str(fleet.root / "m"), *fleet.store)[0] == Exit.USAGE
        assert "which needs Spark" in fleet.said


def _members(document: Any) -> dict[str, list[tuple[str, int, int]]]:
    return {
        wave["name"]: [(one["cluster"], one["steps"], one["deletes"]) for one in wave["members"]]
        for wave in document["waves"]
    }


def test_a_fleet_is_planned_wave_by_wave(fleet: Fleet) -> None:
    fleet.put("c1", DECLARED - {READ})
    fleet.put("c2", DECLARED | {MALLORY})
    fleet.put("c3", DECLARED - {READ, WRITE})
    status, found = fleet.plan()
    assert status == Exit.OK
    # Without a Fleet all are one wave, and what no manifest declares stays unless deletions are allowed.
    assert _members(found) == {"all": [("c1", 1, 0), ("c3", 2, 0)]}
    stated = "Nothing to do, as far as facts hold that only the manifests state"
    words = "Nothing that this plan is allowed to do: 1 difference skipped"
    unmoved = {one["cluster"]: one["words"] for one in found["unmoved"]}
    assert (found["unchanged"], unmoved) == ([], {"c0": stated, "c2": words, "c4": stated})
    fleet.plan(output="text")
    assert {f"  c2: {words}", f"  c0, c4: {stated}"} <= set(fleet.shown.splitlines())
    assert "; 0 need nothing, 3 to look at, 0 not planned" in fleet.shown
    assert sorted(file.name for file in fleet.plans.rglob("*.json")) == ["c1.json", "c3.json", "fleet.json"]
    (fleet.root / "m" / "fleet.yaml").write_text(_FLEET, encoding="utf-8")
    status, found = fleet.plan("--allow-deletes")
    assert (status, _members(found)) == (Exit.OK, {"first": [("c1", 1, 0)], "rest": [("c2", 1, 1), ("c3", 2, 0)]})
    assert [(wave["soak"], wave["max_failures"]) for wave in found["waves"]] == [(3600.0, 0), (0.0, 0)]
    assert run(["fleet", "plan", str(fleet.root / "m"), "--out", str(fleet.plans), *fleet.live]) == Exit.USAGE, (
        "not new"
    )
    fleet.plan("--allow-deletes", output="text")
    assert [line for line in fleet.shown.splitlines() if line and "change-" not in line and "fleet-" not in line] == [
        f"Plan for fleet world  as of {found['as_of']}",
        "wave first: 1 cluster",
        "  c1: 1 step, 0 deletions: widens",
        "── gate: no failure, then wait 1h ──",
        "wave rest: 2 clusters",
        "  c3: 2 steps, 0 deletions: widens, narrows",
        "  c2: 1 step, 1 deletion: narrows",
        f"  c0, c4: {stated}",
        "3 clusters to change, 4 steps, 1 deletion, widens in 2, narrows in 2; 0 need nothing, 2 to look at, "
        "0 not planned",
    ]
    assert f"saved {fleet.plans}: 3 plans and fleet.json" in fleet.said


def test_the_same_change_has_one_id_on_every_cluster(fleet: Fleet) -> None:
    for name in ("c1", "c3", "c4"):
        fleet.put(name, DECLARED - {READ})
    fleet.put("c2", DECLARED - {WRITE})
    _, found = fleet.plan()
    ids = {one["cluster"]: one["change_id"] for wave in found["waves"] for one in wave["members"]}
    assert len({ids["c1"], ids["c3"], ids["c4"]}) == 1
    assert ids["c2"] != ids["c1"]
    fleet.plan(output="text")
    assert "  c1, c3, c4: 1 step, 0 deletions: widens" in fleet.shown.splitlines()


@pytest.mark.parametrize(
    ("limits", "allowed", "why"),
    [
        ("maxDeletes: 2", True, ""),
        ("maxDeletes: 1", True, "2 deletions in all clusters together, but limits.maxDeletes is 1"),
        ("maxDeletes: 1", False, ""),
        ("maxChangedClustersPercent: 40", True, ""),
        ("maxChangedClustersPercent: 39", True, "limits.maxChangedClustersPercent"),
    ],
)
def test_a_limit_of_the_fleet_refuses_all_of_it(fleet: Fleet, limits: str, allowed: bool, why: str) -> None:
    text = _FLEET.replace("maxChangedClustersPercent: 80, maxDeletes: 2", limits)
    (fleet.root / "m" / "fleet.yaml").write_text(text, encoding="utf-8")
    for name in ("c1", "c2"):
        fleet.put(name, DECLARED | {MALLORY})
    status, _ = fleet.plan(*(["--allow-deletes"] if allowed else []))
    assert status == (Exit.REFUSED if why else Exit.OK)
    assert why in fleet.said
    assert ("it was not saved" in fleet.said) is bool(why)
    assert fleet.plans.exists() is not bool(why)


def test_a_cluster_that_cannot_be_planned_keeps_its_gate_shut_and_no_other_cluster(fleet: Fleet) -> None:
    (fleet.root / "m" / "fleet.yaml").write_text(_FLEET, encoding="utf-8")
    (fleet.root / "live" / "c0.json").write_text("{", encoding="utf-8")
    fleet.put("c3", DECLARED - {READ})
    status, found = fleet.plan()
    assert (status, _members(found)) == (Exit.ERROR, {"first": [], "rest": [("c3", 1, 0)]})
    assert [(one["cluster"], one["code"]) for one in found["failures"]] == [("c0", "not_planned")]
    assert [wave["unplanned"] for wave in found["waves"]] == [["c0"], []]
    assert "c0" not in found["unchanged"]
    fleet.plan(output="text")
    assert "  1 cluster not planned: the gate stays shut" in fleet.shown.splitlines()


def test_a_cluster_of_no_wave_is_named(fleet: Fleet) -> None:
    text = _FLEET.replace("{env: prod}", "{env: other}")
    (fleet.root / "m" / "fleet.yaml").write_text(text, encoding="utf-8")
    fleet.put("c3", DECLARED - {READ})
    status, found = fleet.plan()
    assert (status, _members(found)) == (Exit.OK, {"first": [], "rest": []})
    assert all(name in fleet.said for name in ("c2", "c3", "c4"))


def test_a_safety_check_leaves_out_what_it_refuses(fleet: Fleet) -> None:
    clusters = fleet.root / "m" / "clusters.yaml"
    text = clusters.read_text(encoding="utf-8")
    clusters.write_text(
        text.replace("  scope:", "  protect: [{principals: [User:mallory]}]\n  scope:"), encoding="utf-8"
    )
    fleet.put("c1", DECLARED | {MALLORY})
    fleet.put("c2", DECLARED - {READ})
    status, found = fleet.plan("--allow-deletes")
    assert status == Exit.REFUSED
    assert _members(found) == {"all": [("c2", 1, 0)]}
    assert [(one["cluster"], one["code"]) for one in found["failures"]] == [("c1", "refused")]
    # What else a cluster needs is planned without it.
    fleet.put("c1", DECLARED - {READ} | {MALLORY})
    status, found = fleet.plan("--allow-deletes")
    assert (status, _members(found)) == (Exit.REFUSED, {"all": [("c1", 1, 0), ("c2", 1, 0)]})
    assert "safety checks refuse changes of 1 of the clusters: their plans are the rest" in fleet.said
    fleet.plan("--allow-deletes", output="text")
    assert "  c1: 1 change refused, and not in the plan: reconciler show names them" in fleet.shown.splitlines()


def test_what_only_manifests_state_is_not_certain(fleet: Fleet) -> None:
    """Super users and the default of the manifests: with the operator's file the same answer is certain."""
    assert fleet.snapshot()[0] == Exit.OK
    for question in (("who-can", "WRITE", "topic/orders.x"), ("blast-radius",)):
        sure = fleet.ask(*question)
        status, found = fleet.run("query", *question, "-f", str(fleet.root / "m"), *fleet.store)
        assert status == Exit.OK
        assert all(row[-1] is True for row in sure)
        by_name = {tuple(row[:2]): row[-1] for row in found["rows"]}
        # Nor is the default, so that of everybody else nothing is known.
        assert {key for key in by_name if "everybody else" not in key} == {tuple(row[:2]) for row in sure}
        root = [certain for key, certain in by_name.items() if "User:root" in key]
        assert root
        assert not any(root)


def test_whoever_may_alter_a_cluster_can_give_itself_the_rest(fleet: Fleet) -> None:
    fleet.put("c0", DECLARED | {binding("User:adm ALLOW ALTER on CLUSTER kafka-cluster")})
    fleet.put("c1", DECLARED | {binding("User:cfg ALLOW ALTER_CONFIGS on CLUSTER kafka-cluster")})
    assert fleet.snapshot()[0] == Exit.OK
    found = {(row[0], row[1]): row[2] for row in fleet.ask("who-can", "WRITE", "topic/orders.x")}
    assert found["c0", "User:adm"] == "(may ALTER the cluster)"
    assert found["c1", "User:cfg"] == "(may ALTER_CONFIGS on the cluster)"
    assert not {name for name, who in found if who in ("User:adm", "User:cfg")} - {"c0", "c1"}
    reach = {row[0]: row[1:3] for row in fleet.ask("blast-radius")}
    assert [reach[who] for who in ("User:adm", "User:cfg", "User:orders")] == [[1, 1], [1, 1], [5, 0]]


def test_a_reading_that_is_damaged_hides_no_other_and_is_named(fleet: Fleet) -> None:
    assert fleet.snapshot()[0] == Exit.OK
    store = store_at(str(fleet.root / "store"))
    reading = store.run().reading("c2")
    assert reading is not None
    (fleet.root / "store" / reading.buckets[0].file).unlink()
    rows = fleet.ask("who-can", "WRITE", "topic/orders.x")
    assert [row[2].split(":")[0] for row in rows if row[0] == "c2"] == ["not known"]
    assert {row[0] for row in rows} == set(NAMES)
    reach = {row[0]: row[1] for row in fleet.ask("blast-radius")}
    assert (reach["User:orders"], fleet.answer["unread"]) == (4, ["c2"])
    assert "without c2: its access is not known" in fleet.said
    manifests = load([Source(file.name, file.read_text(encoding="utf-8")) for file in (fleet.root / "m").iterdir()])
    units = [(one, manifests.clusters[one.cluster]) for one in store.run().readings if one.cluster in ("c1", "c2")]
    lines = [json.loads(line) for line in access_of_units(store)(units, "0")]
    assert [line[0] for line in lines if line[1] is None] == ["c2"]
    assert {line[1] for line in lines if line[0] == "c1"} >= {"User:orders", "User:root"}


@pytest.mark.parametrize(
    ("asked", "drift", "access", "past"),
    [
        (FleetQuestion(furthest=True), True, False, False),
        (FleetQuestion(undeclared=True), True, False, False),
        (FleetQuestion(blast_radius=True), False, True, False),
        (FleetQuestion(outliers=True), False, False, False),
        (FleetQuestion(since="previous"), False, False, False),
        (FleetQuestion(sql="select * from Changes"), True, False, False),
        (FleetQuestion(sql="select * from access a join changes"), True, True, False),
        (FleetQuestion(sql="select * from intervals"), False, False, True),
        (FleetQuestion(sql="select exchanges, accessed from bindings"), False, False, False),
    ],
)
def test_a_question_says_what_its_answer_rests_on(asked: FleetQuestion, drift: bool, access: bool, past: bool) -> None:
    assert (asked.of_drift, asked.of_access, asked.of_the_past) == (drift, access, past)


@pytest.mark.parametrize("change", ["one step less", "another cluster's", "gone", "not JSON"])
def test_plans_that_are_not_those_that_were_saved_are_not_read(fleet: Fleet, change: str) -> None:
    for name in ("c1", "c3"):
        fleet.put(name, DECLARED - {READ})
    assert fleet.plan()[0] == Exit.OK
    assert [*read_fleet_plan(fleet.plans).texts] == ["c1", "c3"]
    file, other = (fleet.plans / "plans" / f"{name}.json" for name in ("c1", "c3"))
    match change:
        case "one step less":
            file.write_text(file.read_text(encoding="utf-8").replace('"READ"', '"WRITE"'), encoding="utf-8")
        case "another cluster's":
            file.write_text(other.read_text(encoding="utf-8"), encoding="utf-8")
        case "gone":
            file.unlink()
        case _:
            (fleet.plans / "fleet.json").write_text("{", encoding="utf-8")
    with pytest.raises(WorkflowError):
        read_fleet_plan(fleet.plans)


def test_an_answer_says_what_it_lacks_and_nothing_where_it_lacks_nothing(fleet: Fleet) -> None:
    assert fleet.snapshot()[0] == Exit.OK
    fleet.ask("who-can", "WRITE", "topic/orders.x")
    assert fleet.said.strip() == ""
    file = fleet.root / "live" / "c1.json"
    text = file.read_text(encoding="utf-8").replace('"aclGap": null', '"aclGap": "read in parts"')
    file.write_text(text, encoding="utf-8")
    assert fleet.snapshot("--cluster", "c1")[0] == Exit.OK
    rows = fleet.ask("who-can", "WRITE", "topic/orders.x")
    doubt = "the ACL listing may not be whole: read in parts"
    assert [row[2] for row in rows if row[0] == "c1"] == [f"not known: {doubt}"]
    assert f"c1: {doubt}" in fleet.said
    fleet.ask("outliers")
    assert f"c1: {doubt}" in fleet.said
    _, drift = fleet.drift()
    assert {one["cluster"]: one["doubt"] for one in drift["clusters"] if one["doubt"]} == {"c1": doubt}
