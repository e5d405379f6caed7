"""How the clusters of a fleet end, without Spark: a task says what came of a plan, a child process of an apply."""

import datetime
import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.app import connections
from reconciler.app.apply import apply_plan
from reconciler.app.connections import address_of
from reconciler.app.manifests import read_sources
from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.app.plan import plan
from reconciler.app.reasons import INTERRUPTED, WorkflowError
from reconciler.app.records import RecordOptions, save_plan
from reconciler.apply.environment import LeasePatience, LeaseRequest, Result
from reconciler.apply.lease import lease_claims, marker
from reconciler.cli.main import run
from reconciler.manifest.connections import connections as parsed_connections
from reconciler.manifest.manifests import load
from reconciler.model.listing import Create
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.app import apply as child
from reconciler.parts.fleet.app.apply import ChildResult, ChildTask, MemberJob, record_of, task_on_stdin
from reconciler.parts.fleet.app.members import MemberConnections
from reconciler.parts.fleet.app.plan import MemberPlan, PlanTerms, plan_members
from reconciler.parts.fleet.app.runs import wanted
from reconciler.parts.fleet.tasks import comparing
from reconciler.plan.file import plan_id
from reconciler.ports import ReadRequest
from reconciler.snapshot.document import snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from tests.worlds import binding

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: {name}, labels: {{name: {name}}}}}
spec: {{principal: User:us, superUsers: [User:us], allowEveryoneIfNoAclFound: false, barrier: {{wait: 1ms}}, {more}}}
---
"""
TEAM = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules: [{allow: READ, topics: [orders]}]
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: closed}
spec:
  clusters: {matchLabels: {name: disagreeing}}
  tests:
    - {name: nobody reads, mustNot: READ, principals: ["User:*"], topics: [orders]}
"""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five clusters: one to change, one as declared, one that a guard holds, one that a test holds, one unreadable."""
    monkeypatch.delenv("CI", raising=False)
    more = {"guarded": "deleteLimits: {maxDeletes: 0}"}
    names = ("changing", "declared", "guarded", "disagreeing", "absent")
    texts = [CLUSTER.format(name=name, more=more.get(name, "")) for name in names]
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "all.yaml").write_text("".join(texts) + TEAM, encoding="utf-8")
    declared, old = binding("User:svc ALLOW READ on TOPIC orders"), binding("User:old ALLOW READ on TOPIC orders")
    live = {"changing": {old}, "declared": {declared}, "guarded": {declared, old}, "disagreeing": set()}
    for name, bindings in live.items():
        (tmp_path / f"{name}.json").write_text(snapshot_text(ClusterState(f"id-{name}", frozenset(bindings))))
    return tmp_path


def test_a_task_says_of_each_cluster_what_came_of_planning_it(fleet: Path) -> None:
    texts = tuple(read_sources(str(fleet / "m")))
    members = MemberConnections(ConnectionOptions(), str(fleet))
    terms = PlanTerms(texts, members, PlanOptions(allow_deletes=True), "commit")
    lines = plan_members(["changing", "declared", "guarded", "disagreeing", "absent"], "0", terms=terms)
    made = {one.cluster: one for one in (MemberPlan.parse(line) for line in lines)}
    assert {name: one.failure and one.failure.code for name, one in made.items()} == {
        "changing": None,
        "declared": None,
        "guarded": "refused",
        "disagreeing": "disagreed",
        "absent": "not_planned",
    }
    member, refused = made["changing"].member, made["guarded"].failure
    assert member is not None
    assert (member.steps, member.deletes) == (2, 1)
    assert bool(made["changing"].text) is True
    assert (made["declared"].member, made["declared"].text) == (None, "")
    assert refused is not None
    assert refused.message.startswith("limit: ")


def _task(fleet: Path, plan_id: str) -> ChildTask:
    result, journal = str(fleet / "result.json"), str(fleet / "journal")
    records = RecordOptions(journal, str(fleet / "audit"), operator="op")
    lease = LeaseRequest("op", ("dead",))
    return ChildTask(
        str(fleet / "plan.json"), str(fleet / "m"), result, plan_id, records, ConnectionOptions(), lease=lease
    )


def _ended(task: ChildTask, monkeypatch: pytest.MonkeyPatch) -> ChildResult:
    monkeypatch.setattr("sys.stdin", io.StringIO(task.text()))
    child.main()
    return ChildResult.parse(Path(task.result_file).read_text(encoding="utf-8"))


@pytest.fixture
def planned(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of a saved plan, whose cluster is where its snapshot is."""
    place = f"changing=snapshot:{fleet / 'changing.json'}"
    made = plan(str(fleet / "m"), place, PlanOptions(allow_deletes=True)).plan
    save_plan(made, str(fleet / "plan.json"))

    def on_snapshot(file: str, path: str, _: None, *others: Any, **more: Any) -> Result:
        return apply_plan(file, path, place, *others, **more)

    monkeypatch.setattr(child, "apply_plan", on_snapshot)
    return plan_id(made)


def test_a_task_survives_being_text(fleet: Path) -> None:
    task = _task(fleet, "plan-1")
    assert ChildTask.parse(task.text()) == task


def test_a_child_says_what_it_did_and_says_so_again(fleet: Path, planned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task = _task(fleet, planned)
    first = _ended(task, monkeypatch)
    assert first == ChildResult("", "", done=2), first.message
    assert _ended(task, monkeypatch) == ChildResult("", "", already=2)


def test_a_child_says_why_it_did_nothing(fleet: Path, planned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = _ended(_task(fleet, "plan-other"), monkeypatch)
    assert (other.reason, other.done) == ("stale", 0)
    assert other.message.startswith("this is not the plan plan-other; it is plan-")
    (fleet / "changing.json").write_text(snapshot_text(ClusterState("id-other", frozenset())))
    gone = _ended(_task(fleet, planned), monkeypatch)
    assert (gone.reason, gone.done) == ("stale", 0)
    (fleet / "changing.json").unlink()
    unreadable = _ended(_task(fleet, planned), monkeypatch)
    assert (unreadable.reason, unreadable.done) == ("failed", 0)


def test_a_child_that_says_nothing_has_unknown_outcomes(tmp_path: Path) -> None:
    job = MemberJob("c", "plan-1", "", "")
    killed = record_of(job, tmp_path / "none", -9, "")
    assert (killed.reason, killed.succeeded) == ("unknown", False)
    assert killed.message == "the process was ended by signal 9: its outcomes are unknown"
    (tmp_path / "half").write_text('{"reason": "')
    (tmp_path / "late").write_text(ChildResult(INTERRUPTED, "interrupted", 2).text(), encoding="utf-8")
    late = record_of(job, tmp_path / "late", 0, "stopped after 3 s; ")
    assert (late.reason, late.message) == (WorkflowError.reason, "stopped after 3 s; interrupted")
    assert record_of(job, tmp_path / "late", 0, "").reason == INTERRUPTED
    cut = record_of(job, tmp_path / "half", 0, "stopped after 3 s; ")
    assert cut.message == "stopped after 3 s; the process ended with 0 and no result: its outcomes are unknown"


def test_a_child_keeps_an_audit_log_or_sends_nothing(
    fleet: Path, planned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = _task(fleet, planned)
    nowhere = _ended(replace(task, records=replace(task.records, audit=str(fleet / "no" / "audit"))), monkeypatch)
    assert (nowhere.reason, nowhere.done) == ("failed", 0)
    assert "nothing was sent, because it could not be written down" in nowhere.message
    assert _ended(task, monkeypatch).done == 2
    records = [json.loads(line) for line in (fleet / "audit").read_text(encoding="utf-8").splitlines()]
    assert {record["operator"] for record in records if "operator" in record} == {"op"}


@pytest.mark.parametrize(("holder", "reason", "done"), [("other", "held", 0), ("dead", "", 2)])
def test_a_child_gives_way_to_the_lease_of_a_run_that_may_be_alive(
    fleet: Path, planned: str, monkeypatch: pytest.MonkeyPatch, holder: str, reason: str, done: int
) -> None:
    monkeypatch.setattr(child, "_PATIENCE", LeasePatience())
    file = SnapshotCluster(fleet / "changing.json")
    lease = marker(holder, "20260101T000000Z-0", datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=2))
    file.send([Create(lease)])
    ended = _ended(_task(fleet, planned), monkeypatch)
    assert (ended.reason, ended.done) == (reason, done), ended.message
    left = lease_claims(file.read(ReadRequest()).bindings)
    assert [claim.holder for claim in left] == ([holder] if reason else [])


def test_a_child_ends_with_the_task_that_began_it(fleet: Path) -> None:
    os.mkfifo(fleet / "plan.json")  # to read it takes forever
    process = subprocess.Popen([sys.executable, "-P", "-c", child._CHILD], stdin=subprocess.PIPE, text=True)
    try:
        with task_on_stdin(process, _task(fleet, "plan-1").text()), pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)
        assert process.wait(30) == -signal.SIGTERM
    finally:
        process.kill()
        process.wait()


def test_a_fleet_of_which_no_cluster_could_be_planned_is_not_applied_with_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The manifests declare nothing, so a safety check refuses each cluster: the apply has the status of the plan."""
    for name in ("m", "live"):
        (tmp_path / name).mkdir()
    spec = "spec: {principal: User:us, superUsers: [User:us], allowEveryoneIfNoAclFound: false}\n"
    head = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: {name}}}\n"
    clusters = "---\n".join(head.format(name=name) + spec for name in "ab")
    (tmp_path / "m" / "clusters.yaml").write_text(clusters, encoding="utf-8")
    for name in "ab":
        state = ClusterState(f"id-{name}", frozenset({binding("User:old ALLOW READ on TOPIC orders")}))
        (tmp_path / "live" / f"{name}.json").write_text(snapshot_text(state), encoding="utf-8")
    manifests, plans = str(tmp_path / "m"), str(tmp_path / "plans")
    where = ["--snapshots", str(tmp_path / "live"), "--engine", "local", "--allow-deletes"]
    assert run(["fleet", "plan", manifests, "--out", plans, *where]) == 5
    capsys.readouterr()
    assert run(["fleet", "apply", plans, manifests, "--yes", "--engine", "local"]) == 5
    assert "0 of 0 clusters as planned, 0 failed, 0 not begun, 2 not planned" in capsys.readouterr().out


def test_manifests_and_the_operator_s_file_are_read_once_however_many_clusters_ask(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fleet's file names all clusters, and each of them asks it: read for each, a thousand were a million."""
    file, read = fleet / "connections.yaml", Counter[str]()

    def counted(what: str, whole: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def once_more(sources: Any) -> Any:
            read[what] += 1
            return whole(sources)

        return once_more

    monkeypatch.setattr(connections, "connections", counted("connections", parsed_connections))
    monkeypatch.setattr(comparing, "load", counted("manifests", load))
    comparing.loaded.cache_clear()
    names = ("changing", "declared", "guarded", "disagreeing")
    for servers in ("one:9092", "other:9092"):
        texts = [CLUSTER.format(name=name, more=f"bootstrapServers: ['{servers}']") for name in names]
        file.write_text("".join(texts), encoding="utf-8")
        given = wanted(str(fleet / "m"), connection=ConnectionOptions(str(file)))
        members = MemberConnections(ConnectionOptions(str(file)), str(fleet))
        terms = PlanTerms(tuple(given.sources), members, PlanOptions(), "commit")
        for name in names:
            assert list(plan_members([name], "0", terms=terms))
            assert address_of(name, None, ConnectionOptions(str(file))).servers == (servers,)
    assert read == {"manifests": 1, "connections": 2}  # that has changed
