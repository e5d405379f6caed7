"""Locks that tests meet, that the operator's file demands or lets end, and that servers and fleets keep."""

import datetime
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from reconciler.app.access_checks import checks_of
from reconciler.app.apply import ApplyOptions, Unattended, apply_plan
from reconciler.app.approvals import approve
from reconciler.app.connections import read_connections
from reconciler.app.lock import list_locks, plan_unlock, unlock
from reconciler.app.options import ApprovalRule, PlanOptions
from reconciler.app.plan import plan
from reconciler.app.reasons import FailedChecksError, RequestError, UnvouchedPlanError, WorkflowError
from reconciler.app.records import RecordOptions, save_plan
from reconciler.app.session import Target
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.acl import AclOperation
from reconciler.model.desired import Expiry
from reconciler.model.locks import LockMark, lock_denials
from reconciler.model.state import ClusterState
from reconciler.parts.edit.app.break_glass import plan_break_glass
from reconciler.parts.edit.app.grant import AskedAccess, GrantTerms
from reconciler.parts.serve.rounds import DirectorySource, ServeOptions, run_round
from reconciler.plan.difference import SkipReason
from reconciler.plan.file import plan_id
from reconciler.ports import ReadRequest
from reconciler.show.reading import read_result
from reconciler.show.rounds import Round
from reconciler.show.verdicts import Tone, verdict
from reconciler.snapshot.document import snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from tests.security.test_approvals import Place as Signers
from tests.security.test_locks import ACLS, NAME, NOW, OPERATOR, STAYS, WHY, Stage, may_anything, stage
from tests.worlds import binding

__all__ = ["stage"]

CLAIMS = """\
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: claims}
spec:
  tests:
    - {name: svc reads, must: [READ], topics: [team.orders], principals: [User:svc]}
    - {name: svc never writes, mustNot: [WRITE], topics: [team.orders], principals: [User:svc]}
"""


def test_a_demand_that_only_a_lock_breaks_is_held_back_by_it(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.declare(ACLS + CLAIMS)
    stage.lock()
    at = ["-c", stage.cluster, "--connections", str(stage.connections)]
    for command in (["plan", stage.path, *at], ["test", stage.path, *at], ["test", stage.path, *at, "--as-is"]):
        assert run(command) == Exit.OK, command
        said = capsys.readouterr()
        assert "denied by a lock" in said.out + said.err, command
    assert stage.apply().succeeded
    stage.declare(ACLS.replace("READ", "DESCRIBE") + CLAIMS)
    assert run(["plan", stage.path, *at, "--allow-deletes"]) == Exit.FAILED_CHECK, "it fails without the lock too"


def test_a_lock_is_no_reason_to_pass_a_test(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.lock()
    stage.declare(ACLS.replace("READ", "[READ, WRITE]") + CLAIMS)
    at = ["-c", stage.cluster, "--connections", str(stage.connections)]
    assert run(["plan", stage.path, *at]) == Exit.FAILED_CHECK
    assert "svc never writes" in capsys.readouterr().out
    stage.write(binding("User:svc ALLOW WRITE on TOPIC team.orders"))
    assert run(["test", stage.path, *at, "--as-is"]) == Exit.FAILED_CHECK
    stage.declare(ACLS + CLAIMS)
    with pytest.raises(FailedChecksError):
        unlock(stage.path, stage.cluster, WHY, stage.connection)
    assert not may_anything(stage.live())


def test_whom_the_operators_file_locks_no_plan_gives_anything(stage: Stage) -> None:
    stage.rule(OPERATOR.replace("false", "false\n  locked: [User:svc]"))
    stage.declare(ACLS.replace("READ", "[READ, WRITE]"))
    made = stage.plan()
    assert made.steps == ()
    (left,) = made.skipped
    assert left.reason is SkipReason.IMPOSSIBLE
    assert left.detail == "the operator's file locks User:svc: no plan gives it access"
    assert any("the cluster has no whole lock" in text for text in made.warnings)
    assert list_locks(stage.path, stage.cluster, stage.connection).demanded == (NAME,)
    stage.lock()
    assert list_locks(stage.path, stage.cluster, stage.connection).whole
    with pytest.raises(RequestError, match="the operator's file locks User:svc"):
        unlock(stage.path, stage.cluster, WHY, stage.connection)


def test_no_file_among_the_manifests_states_it(stage: Stage) -> None:
    stage.rule(OPERATOR.replace("false", "false\n  locked: [User:svc]"))
    proposed = stage.manifests / "connections.yaml"
    proposed.write_text(stage.connections.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(WorkflowError):
        plan(stage.path, stage.cluster, PlanOptions())


def test_an_unlock_asks_for_the_signatures_that_the_operators_file_names(stage: Stage, tmp_path: Path) -> None:
    stage.rule(OPERATOR.replace("false", "false\n  unlock: {approvals: 2}"))
    stage.lock()
    with pytest.raises(RequestError, match="asks for 2 approvals"):
        unlock(stage.path, stage.cluster, WHY, stage.connection)
    file = str(tmp_path / "unlock.json")
    save_plan(plan_unlock(stage.path, stage.cluster, WHY, stage.connection).plan, file)
    with pytest.raises(UnvouchedPlanError):
        apply_plan(file, stage.path, stage.cluster, stage.connection)
    (tmp_path / "keys").mkdir()
    signers = Signers(tmp_path / "keys")
    keys = [signers.person("alice"), signers.person("bob")]
    signers.signers.write_text("\n".join(signers.lines) + "\n", encoding="utf-8")
    for key, required in zip(keys, (1, 2), strict=True):
        approve(file, str(key))
        rule = ApprovalRule(required, str(signers.signers))
        if required < 2:
            with pytest.raises(RequestError, match="asks for 2 approvals"):
                apply_plan(file, stage.path, stage.cluster, stage.connection, ApplyOptions(approvals=rule))
    assert not may_anything(stage.live())
    assert apply_plan(file, stage.path, stage.cluster, stage.connection, ApplyOptions(approvals=rule)).succeeded
    assert stage.locked() is None


def test_who_locks_again_is_not_overruled_by_an_older_approval(stage: Stage, tmp_path: Path) -> None:
    stage.lock()
    made = plan_unlock(stage.path, stage.cluster, WHY, stage.connection).plan
    earlier = replace(made, created_at="2026-01-01T00:00:00Z")
    options = ApplyOptions(require_id=plan_id(earlier))
    result = apply_plan(earlier, stage.path, stage.cluster, stage.connection, options)
    assert not result.succeeded
    assert "was locked again" in result.stopped
    assert not may_anything(stage.live())


class Server:
    """A server that acts on the stage, with an audit log of its own."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        records = RecordOptions(audit=str(stage.root / "server.jsonl"), operator="serve:one")
        self.options = ServeOptions(stage.cluster, act=True, apply=ApplyOptions(records=records))

    def round(self) -> Round:
        found = run_round(DirectorySource(self.stage.path), self.options, self.stage.connection, Unattended())
        assert not found.failure
        return found


@pytest.mark.parametrize("what", ["mark", "DENYs", "all"])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_server_puts_back_what_vanished_of_a_lock(stage: Stage, what: str, *, restarted: bool) -> None:
    stage.lock()
    server = Server(stage)
    assert server.round().held_back == ()
    lock = stage.locked()
    assert lock is not None
    marks = [mark.binding for mark in lock.marks]
    stage.delete(*(marks if what == "mark" else lock_denials(NAME)[:4] if what == "DENYs" else ()))
    if what == "all":
        stage.delete(*marks, *lock_denials(NAME))
    (said,) = (Server(stage) if restarted else server).round().held_back
    assert "no unlock says why" in said
    assert stage.locked() == lock
    assert not may_anything(stage.live())


def test_a_server_leaves_it_where_a_person_unlocked_from_any_machine(stage: Stage) -> None:
    stage.lock()
    server = Server(stage)
    server.round()
    stage.unlock()
    assert server.round().held_back == ()
    assert Server(stage).round().held_back == (), "nor does one that was started since"
    assert stage.locked() is None
    assert may_anything(stage.live())


@pytest.mark.parametrize("permitted", [False, True])
def test_time_ends_a_lock_only_where_the_operators_file_says_so(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, *, permitted: bool
) -> None:
    stage.rule(OPERATOR.replace("false", f"false\n  locksEnd: {str(permitted).lower()}"))
    stage.lock(replace(WHY, until=NOW + datetime.timedelta(hours=1)))
    server = Server(stage)
    for minutes in (0, 59):
        monkeypatch.setattr(
            "reconciler.parts.serve.rounds.now", lambda at=minutes: NOW + datetime.timedelta(minutes=at)
        )
        server.round()
        assert not may_anything(stage.live())
    monkeypatch.setattr("reconciler.parts.serve.rounds.now", lambda: NOW + datetime.timedelta(hours=2))
    server.round()
    assert may_anything(stage.live()) is permitted


def test_no_forged_end_ends_a_lock(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that was over when it was first seen, nor one in place of the mark without an end."""
    stage.rule(OPERATOR.replace("false", "false\n  locksEnd: true"))
    stage.lock()
    server = Server(stage)
    server.round()
    lock = stage.locked()
    assert lock is not None
    stage.delete(*(mark.binding for mark in lock.marks))
    hour = datetime.timedelta(hours=1)
    stage.write(*(LockMark(NAME, NOW - 2 * hour, end).binding for end in (NOW - hour, NOW + hour)))
    server.round()
    monkeypatch.setattr("reconciler.parts.serve.rounds.now", lambda: NOW + 2 * hour)
    server.round()
    assert not may_anything(stage.live())


def test_a_server_locks_whom_the_operators_file_locks(stage: Stage) -> None:
    stage.rule(OPERATOR.replace("false", "false\n  locked: [User:svc]"))
    assert len(Server(stage).round().held_back) == 1
    assert not may_anything(stage.live())
    assert Server(stage).round().held_back == ()


def test_whom_no_lock_can_hold_is_named_and_not_half_locked(stage: Stage) -> None:
    """No ACL binds a super user: the operator's file demands it in vain, and the others are locked all the same."""
    text = OPERATOR.replace("false", "false\n  superUsers: [User:root]\n  locked: [User:root, User:svc]")
    stage.rule(text)
    for _ in range(2):
        said = [one for one in Server(stage).round().held_back if "is not locked" in one]
        assert ["User:root is not locked, as the operator's file demands: " in one for one in said] == [True]
        assert not [one for one in stage.live() if one.entry.principal == "User:root"]
        assert not may_anything(stage.live())


def test_of_an_audit_log_only_what_is_whole_and_of_this_cluster_counts(stage: Stage, tmp_path: Path) -> None:
    """A line that nobody can read, or that is about another cluster, says nothing of a lock here."""
    stage.lock()
    server = Server(stage)
    server.round()
    log = stage.root / "server.jsonl"
    lines = [line for line in log.read_text(encoding="utf-8").splitlines() if '"lock"' in line]
    stage.unlock()
    here = json.loads(lines[0])["cluster"]["id"]
    broken = [lines[0].replace('"since"', '"sinces"'), lines[0].replace(f'"{here}"', '"another"')]
    log.write_text("\n".join([*broken, '{"record":"lock"}', ""]), encoding="utf-8")
    assert Server(stage).round().held_back == ()
    assert stage.locked() is None
    log.write_text("\n".join([broken[0], *lines, ""]), encoding="utf-8")
    assert "no unlock says why" not in " ".join(Server(stage).round().held_back), "the unlock's mark is on the cluster"


@pytest.mark.parametrize("gone", [0, 3])
def test_half_a_lock_is_none_for_the_operators_file(stage: Stage, gone: int) -> None:
    """Of one that this server never saw whole: what is left of it looks like a lock, and lets its principal through."""
    stage.lock()
    lock = stage.locked()
    assert lock is not None
    stage.delete(*lock_denials(NAME)[:gone])
    stage.rule(OPERATOR.replace("false", "false\n  locked: [User:svc]"))
    assert len(Server(stage).round().held_back) == bool(gone)
    assert not may_anything(stage.live())
    assert set(lock_denials(NAME)) <= stage.live()


def test_an_unlock_of_the_same_second_ends_a_lock_in_the_audit_log_too(stage: Stage) -> None:
    """Both instants are to the second: whoever unlocked came after."""
    stage.lock()
    server = Server(stage)
    server.round()
    lock = stage.locked()
    assert lock is not None
    (mark,) = lock.marks
    log = stage.root / "server.jsonl"
    line = json.loads(next(line for line in log.read_text(encoding="utf-8").splitlines() if '"lock"' in line))
    stage.delete(*lock_denials(NAME), mark.binding)
    ended = {**line, "action": "unlock"}
    log.write_text("".join(f"{json.dumps(one, separators=(',', ':'))}\n" for one in (line, ended)), encoding="utf-8")
    assert Server(stage).round().held_back == ()
    assert stage.locked() is None
    # An unlock before it ended another one.
    later = {**line, "since": "2099-01-01T00:00:00Z"}
    log.write_text("".join(f"{json.dumps(one, separators=(',', ':'))}\n" for one in (later, ended)), encoding="utf-8")
    assert len(Server(stage).round().held_back) == 1
    stage.delete(*(one for one in stage.live() if one.entry.principal == NAME or "lock" in one.pattern.name))
    log.write_text("".join(f"{json.dumps(one, separators=(',', ':'))}\n" for one in (ended, line)), encoding="utf-8")
    assert len(Server(stage).round().held_back) == 1
    assert stage.locked() == lock


def test_a_fleet_is_locked_cluster_by_cluster_and_one_that_is_away_holds_up_no_other(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: stage.root / f"{name}.json" for name in ("eu", "us")}
    document = OPERATOR.replace("spec:\n", "spec:\n  bootstrapServers: [b.invalid:9092]\n")
    stage.rule("---\n".join(document.replace("name: prod", f"name: {name}") for name in (*files, "away")))
    known = read_connections(str(stage.connections))

    @contextmanager
    def live(name: str, *_: object, **__: object) -> Iterator[Target]:
        if name == "away":
            raise WorkflowError("no broker answers")
        yield Target(name, SnapshotCluster(files[name]), None, operator=known[name].facts)

    monkeypatch.setattr("reconciler.app.session.live", live)
    for name, file in files.items():
        file.write_text(snapshot_text(ClusterState(name, frozenset({STAYS}), {})), encoding="utf-8")
    words = ["fleet", "lock", NAME, "--reason", "key leaked", "--connections", str(stage.connections), "--yes"]
    assert run([*words, "--output", "json"]) == Exit.ERROR
    found = {one["cluster"]: one for one in json.loads(capsys.readouterr().out)["clusters"]}
    assert found["away"]["failure"] == "no broker answers"
    for name, file in files.items():
        assert found[name]["whole"]
        assert not may_anything(SnapshotCluster(file).read(ReadRequest(all_topics=False)).bindings)


def test_break_glass_access_over_a_test_needs_the_operators_word_signatures_and_a_near_end(
    stage: Stage, tmp_path: Path
) -> None:
    # The tests may have been collected long ago.
    start = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    stage.declare(ACLS + CLAIMS)
    write = AskedAccess(NAME, (AclOperation.WRITE,), STAYS.pattern)
    end = Expiry(start + datetime.timedelta(minutes=30))
    terms = GrantTerms(end, "outage", "INC-9", ("svc never writes",))
    ask = partial(plan_break_glass, stage.path, stage.cluster, write, connection=stage.connection)
    with pytest.raises(RequestError, match="lets no break-glass access break an access test"):
        ask(terms)
    stage.rule(OPERATOR.replace("false", "false\n  breakGlass: {override: [access-tests], approvals: 2, longest: 40m}"))
    with pytest.raises(RequestError, match="for 40 minutes at most"):
        ask(replace(terms, expires=Expiry(start + datetime.timedelta(hours=12))))
    assert checks_of(ask(replace(terms, override=()))).stops
    planned = ask(terms)
    assert not checks_of(planned).stops
    file = str(tmp_path / "plan.json")
    save_plan(planned.plan, file)
    told = verdict(read_result(json.loads(Path(file).read_text(encoding="utf-8"))))
    assert told.tone is not Tone.CALM, "report --notify-webhook tells people before anything is sent"
    (tmp_path / "keys").mkdir()
    signers = Signers(tmp_path / "keys")
    keys = [signers.person("alice"), signers.person("bob")]
    signers.signers.write_text("\n".join(signers.lines) + "\n", encoding="utf-8")
    for key in keys:
        approve(file, str(key))
    options = ApplyOptions(records=stage.records, approvals=ApprovalRule(1, str(signers.signers)))
    with pytest.raises(RequestError, match="asks for 2 approvals"):
        apply_plan(file, stage.path, stage.cluster, stage.connection, options)
    both = replace(options, approvals=ApprovalRule(2, str(signers.signers)))
    assert apply_plan(file, stage.path, stage.cluster, stage.connection, both).succeeded
    lines = [json.loads(line) for line in stage.audit.read_text(encoding="utf-8").splitlines()]
    assert [line["overrode"] for line in lines if line["record"] == "break-glass"] == [["svc never writes"]]
    stage.lock()
    with pytest.raises(RequestError, match="is locked"):
        ask(replace(terms, expires=Expiry(start + datetime.timedelta(minutes=20))))
