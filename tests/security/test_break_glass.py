"""Break-glass on a snapshot: access at once, listed by drift, kept by plans, ended on time, longer for no manifest."""

import datetime
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.app.access_checks import checks_of
from reconciler.app.admission import check_break_glass
from reconciler.app.apply import ApplyOptions, Supervisor, Unattended, apply, apply_plan
from reconciler.app.cleanup import cleanup
from reconciler.app.options import ApprovalRule, ConnectionOptions, PlanOptions
from reconciler.app.plan import drift
from reconciler.app.reasons import (
    DeclinedError,
    FailedChecksError,
    NotApprovedError,
    RequestError,
    StaleError,
    UnvouchedPlanError,
    WorkflowError,
)
from reconciler.app.records import RecordOptions, save_plan
from reconciler.apply.audit import GENESIS, LogIdentity, Sight, about_command, break_glass_lines, chained
from reconciler.apply.environment import Identity, LeaseRequest, Result
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, ResourcePattern, ResourceType
from reconciler.model.desired import Expiry, moment_text
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.markers import break_glass_mark, read_break_glass
from reconciler.model.state import ClusterState
from reconciler.parts.edit.app.adopt import adopt
from reconciler.parts.edit.app.break_glass import break_glass, end_break_glass, plan_break_glass
from reconciler.parts.edit.app.grant import AskedAccess, GrantTerms
from reconciler.parts.serve.narrowing import ApprovedPlans
from reconciler.parts.serve.rounds import DirectorySource, ServeOptions, run_round
from reconciler.plan.difference import SkipReason
from reconciler.plan.proposal import Plan
from reconciler.plan.review.access_change import DataOwners
from reconciler.policy.owners import Agreement
from reconciler.ports import Answer, ReadRequest
from reconciler.results.audit import entries, log_lines
from reconciler.show.rounds import ApprovedStatus, Round
from reconciler.snapshot.document import snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from tests.security.test_approvals import Place as Signers
from tests.worlds import binding

DENY = AclPermissionType.DENY
NOW = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
HOUR = datetime.timedelta(hours=1)
CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec:
  bootstrapServers: [unused.invalid:9092]
  allowEveryoneIfNoAclFound: false
  scope: {include: [{topics: {prefix: team.}}]}
---
"""
ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:svc
  rules:
    - {allow: READ, topics: [team.orders]}
"""
STAYS = binding("User:svc ALLOW READ on TOPIC team.orders")
GIVEN = binding("User:ops ALLOW READ on TOPIC team.orders")
MARK = break_glass_mark(GIVEN, NOW + HOUR, NOW)
ASKED = AskedAccess("User:ops", (AclOperation.READ,), ResourcePattern(ResourceType.TOPIC, "team.orders"))
DECLARED = ACLS + "---\n" + ACLS.replace("{name: a}", "{name: b}").replace("User:svc", "User:ops")


class Stage:
    """Manifests, and a snapshot file that stands for the cluster."""

    def __init__(self, root: Path) -> None:
        self.manifests, self.snapshot = root / "manifests", root / "prod.json"
        self.audit = root / "audit.jsonl"
        self.manifests.mkdir()
        #: One server, which remembers what it saw.
        self.server = ServeOptions(self.cluster, act=True, apply=ApplyOptions(lease=LeaseRequest("me")))
        self.declare(ACLS)
        self.snapshot.write_text(snapshot_text(ClusterState("abc", frozenset({STAYS}), {})), encoding="utf-8")

    def declare(self, acls: str) -> None:
        (self.manifests / "all.yaml").write_text(CLUSTER + acls, encoding="utf-8")

    @property
    def cluster(self) -> str:
        return f"prod=snapshot:{self.snapshot}"

    def live(self) -> frozenset[AclBinding]:
        return SnapshotCluster(self.snapshot).read(ReadRequest(all_topics=False)).bindings

    @property
    def options(self) -> ApplyOptions:
        return ApplyOptions(records=RecordOptions(audit=str(self.audit), operator="anna"))

    def marks(self) -> list[AclBinding]:
        return [one for one in self.live() if one.pattern.name.startswith("__kr.break-glass.")]

    def give(
        self,
        end: datetime.date = NOW + HOUR,
        reason: str | None = "outage",
        supervisor: Supervisor = Unattended(),
        asked: AskedAccess = ASKED,
    ) -> None:
        terms = GrantTerms(Expiry(end), reason, "INC-7")
        result = break_glass(
            str(self.manifests), self.cluster, asked, terms, options=self.options, supervisor=supervisor
        )
        assert result.succeeded

    def end(self, asked: AskedAccess) -> Result:
        return end_break_glass(str(self.manifests), self.cluster, asked, options=self.options)

    def drift(self, at: datetime.datetime = NOW) -> Plan:
        return drift(str(self.manifests), self.cluster, as_of=at).plan

    def round(self, server: ServeOptions | None = None) -> Round:
        source = DirectorySource(str(self.manifests))
        return run_round(source, server or self.server, ConnectionOptions(), Unattended())

    def another(self, audit: Path | None = None) -> ServeOptions:
        """A server that was started just now."""
        records = RecordOptions(audit=None if audit is None else str(audit), operator="serve:two")
        return ServeOptions(self.cluster, act=True, apply=ApplyOptions(lease=LeaseRequest("me"), records=records))

    def write(self, *bindings: AclBinding) -> None:
        """Somebody else writes ACLs."""
        SnapshotCluster(self.snapshot).send([Create(one) for one in bindings])

    def delete(self, *bindings: AclBinding) -> None:
        """Somebody else deletes ACLs."""
        SnapshotCluster(self.snapshot).send([Delete(one) for one in bindings])


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr("reconciler.apply.marks._asked_at", lambda _: NOW)
    return Stage(tmp_path)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime.datetime], None]:
    """Set the time at which a server's round takes place."""

    def set_time(when: datetime.datetime) -> None:
        monkeypatch.setattr("reconciler.parts.serve.rounds.now", lambda: when)
        monkeypatch.setattr("reconciler.parts.serve.rounds.time_of", lambda _: when)
        monkeypatch.setattr("reconciler.apply.cleanup.time_of", lambda _: when)

    return set_time


def test_it_is_there_at_once_and_the_audit_says_why(stage: Stage) -> None:
    stage.give()
    assert stage.live() >= {STAYS, GIVEN}
    records = [json.loads(line) for line in stage.audit.read_text(encoding="utf-8").splitlines()]
    first, step = [one for one in records if "User:ops" in json.dumps(one)]
    assert (first["record"], first["action"]) == ("break-glass", "give"), "before it is sent"
    assert [one["record"] for one in records].index("step") > records.index(first)
    text = json.dumps(step)
    assert "break-glass: outage" in text
    assert "INC-7" in text
    assert "anna" in text


def _asked(stage: Stage, capsys: pytest.CaptureFixture[str], *question: str) -> str:
    capsys.readouterr()
    assert run([*question, "--path", str(stage.manifests), "--cluster", stage.cluster]) in (0, 3)
    return capsys.readouterr().out


def test_questions_mark_what_stands_by_break_glass_and_what_it_overrode(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"break-glass access until {moment_text(NOW + HOUR)}, over the access test `nobody else`"
    on = ("READ", "topic/team.orders")
    asked = (("who-can", *on), ("access", "User:ops"), ("can-i", "User:ops", *on), ("explain", "User:ops", *on))
    for question in asked:
        assert "break-glass" not in _asked(stage, capsys, *question)
    stage.write(GIVEN, break_glass_mark(GIVEN, NOW + HOUR, NOW, ["nobody else"]))
    for question in asked:
        assert words in _asked(stage, capsys, *question), question
        document = json.loads(_asked(stage, capsys, *question, "--output", "json"))
        (view,) = document.get("states") or document["answers"]
        (given,) = view["breakGlass"]
        assert (given["until"], given["since"]) == (moment_text(NOW + HOUR), moment_text(NOW))
        assert given["overrode"] == ["nobody else"]
    assert "break-glass" not in _asked(stage, capsys, "access", "User:svc")
    # Declared access is access like any other, whatever marks it.
    stage.declare(DECLARED)
    assert "break-glass" not in _asked(stage, capsys, "who-can", *on)


def test_each_plan_asks_for_a_review_until_it_is_declared_or_gone(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the text, in the comment of a review and on its page; each time of need counts, a prolonged one once."""

    def reviews() -> list[str]:
        return [one for one in stage.drift().warnings if "break-glass" in one]

    assert reviews() == []
    first, since = NOW - 3 * HOUR, f"since {moment_text(NOW - 4 * HOUR)}"
    stage.write(*(break_glass_mark(GIVEN, first + n * HOUR, first + (n - 1) * HOUR, ["no one"]) for n in (0, 1)))
    (said,) = reviews()
    assert said.startswith(f"User:ops used break-glass access 2 times {since} over `no one`, and it has ended: merge")
    stage.give()
    stage.give(NOW + 2 * HOUR)
    (said,) = reviews()
    assert said.startswith(f"User:ops used break-glass access 3 times {since} over `no one`, and still has it: close")
    saved = str(stage.snapshot.with_name("plan.json"))
    assert run(["plan", str(stage.manifests), "--cluster", stage.cluster, "--out", saved]) == 0
    assert "used break-glass access 3 times" in capsys.readouterr().out
    for name in ("text", "markdown", "html"):
        assert run(["report", saved, "-o", name]) == 0
        assert "used break-glass access 3 times" in capsys.readouterr().out, name
    stage.declare(DECLARED)
    assert reviews() == []
    stage.declare(ACLS)
    stage.delete(GIVEN, *stage.marks())
    assert reviews() == []


def test_the_audit_log_says_what_was_overridden_and_who_was_locked(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.give()
    where = ("-c", stage.cluster, "--audit", str(stage.audit), "--operator", "anna", "--yes")
    assert run(["lock", "User:svc", "-f", str(stage.manifests), "--reason", "leaked", "--ticket", "INC-8", *where]) == 0
    capsys.readouterr()
    assert run(["audit", "list", "--audit", str(stage.audit)]) == 0
    shown = capsys.readouterr().out
    assert f"break-glass access until {moment_text(NOW + HOUR)}: {GIVEN}" in shown
    assert "lock User:svc" in shown
    assert "INC-8" in shown
    assert run(["audit", "list", "--audit", str(stage.audit), "User:svc", "--by", "anna"]) == 0
    assert "lock User:svc" in capsys.readouterr().out
    over = break_glass_lines(about_command(Identity("r", "o"), "c", "prod"), Sight.GIVE, [GIVEN], NOW, "t", ("a b",))
    lines, _ = chained(over, GENESIS, LogIdentity("0" * 32, "h", None))
    (entry,) = entries(log_lines({"l": lines}))
    assert "over “a b”" in entry.what


def test_drift_lists_it_and_no_plan_takes_it_before_its_time(stage: Stage) -> None:
    stage.give()
    found = stage.drift()
    assert not found.steps
    assert [(one.reason, str(GIVEN) in one.subject) for one in found.skipped] == [(SkipReason.BREAK_GLASS, True)]
    apply(str(stage.manifests), stage.cluster, PlanOptions(allow_deletes=True))
    assert GIVEN in stage.live()
    with cleanup(str(stage.manifests), stage.cluster) as left:
        assert left.leftovers == ()
    (step,) = stage.drift(NOW + HOUR).steps
    assert step.change.before == GIVEN, "afterwards it is a difference like any other"


def test_a_server_ends_it_at_its_instant_and_takes_the_mark_away_a_day_later(
    stage: Stage, at: Callable[[datetime.datetime], None]
) -> None:
    """The mark stays for what may still arrive."""
    stage.give()
    at(NOW + HOUR - datetime.timedelta(seconds=1))
    early = stage.round()
    assert (early.revoked, early.removed, early.next_end) == (0, 0, NOW + HOUR)
    at(NOW + HOUR)
    assert stage.round().revoked == 1
    assert stage.live() == {STAYS, MARK}
    assert not stage.drift(NOW + HOUR).skipped
    stage.write(GIVEN)
    at(NOW + 3 * HOUR)
    assert stage.round().revoked == 1, "a request that arrives late"
    at(NOW + 25 * HOUR + datetime.timedelta(seconds=1))
    assert stage.round().removed == 1
    assert stage.live() == {STAYS}


def test_no_mark_ends_what_manifests_declare(stage: Stage, at: Callable[[datetime.datetime], None]) -> None:
    """Merged, it has had the review of any other grant. That nobody applied it is said, until somebody does."""
    stage.give()
    stage.round()
    stage.declare(DECLARED)
    at(NOW + HOUR)
    found = stage.round()
    assert (found.revoked, len(found.held_back)) == (0, 1)
    assert "the manifests declare it" in found.held_back[0]
    assert GIVEN in stage.live()
    apply(str(stage.manifests), stage.cluster)
    assert stage.live() == {STAYS, GIVEN}
    assert stage.round().held_back == ()


def test_a_grant_that_is_applied_takes_over(stage: Stage, at: Callable[[datetime.datetime], None]) -> None:
    stage.give()
    stage.declare(DECLARED)
    apply(str(stage.manifests), stage.cluster)
    assert stage.live() == {STAYS, GIVEN}
    at(NOW + HOUR)
    assert stage.round().revoked == 0
    assert GIVEN in stage.live()


def test_a_grant_that_ends_as_early_takes_nothing_over(stage: Stage) -> None:
    stage.give()
    end = f"[team.orders], expires: {Expiry(NOW + HOUR)}}}"
    stage.declare(ACLS + "---\n" + DECLARED.partition("---\n")[2].replace("[team.orders]}", end))
    apply(str(stage.manifests), stage.cluster)
    assert len(stage.live()) == 3


@pytest.mark.parametrize(
    ("end", "reason", "why"),
    [
        (NOW + 25 * HOUR, "outage", "within 24 hours"),
        (NOW - HOUR, "outage", "is over"),
        (NOW + HOUR, None, "needs a reason"),
    ],
)
def test_what_is_refused(stage: Stage, end: datetime.datetime, reason: str | None, why: str) -> None:
    with pytest.raises(RequestError, match=why):
        stage.give(end, reason)
    assert stage.live() == {STAYS}


def test_outside_the_scope_it_says_where_the_scope_is_declared(stage: Stage) -> None:
    """Before anybody is asked: no apply would send it."""
    other = replace(ASKED, pattern=ResourcePattern(ResourceType.TOPIC, "other.orders"))
    with pytest.raises(RequestError, match="is outside the scope of cluster prod") as refused:
        stage.give(asked=other)
    assert refused.value.advice == "add User:ops to scope.include of the Cluster, and merge: break-glass stays inside"
    assert stage.live() == {STAYS}


def test_what_is_there_already_gets_no_end(stage: Stage) -> None:
    """A mark would end what somebody has for longer."""
    with pytest.raises(RequestError, match="is there already, without an end"):
        stage.give(asked=replace(ASKED, principal="User:svc"))
    assert stage.live() == {STAYS}


def test_it_is_prolonged_and_at_no_moment_without_an_end(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.give()
    seen: list[int] = []

    def send(cluster: SnapshotCluster, changes: Sequence[Change]) -> list[Answer]:
        answers = really(cluster, changes)
        seen.append(len(stage.marks()))
        return answers

    really = SnapshotCluster.send
    monkeypatch.setattr(SnapshotCluster, "send", send)
    stage.give(NOW + 2 * HOUR)
    assert seen == [2, 1], "the new mark comes before the old one goes"
    assert stage.live() == {STAYS, GIVEN, break_glass_mark(GIVEN, NOW + 2 * HOUR, NOW)}
    assert stage.audit.read_text(encoding="utf-8").count("break-glass: outage") == 2
    with pytest.raises(RequestError, match="is there already, until"):
        stage.give(NOW + HOUR)


def test_it_is_ended_early_and_nothing_else_is(stage: Stage) -> None:
    stage.give()
    everything = replace(ASKED, operations=(), pattern=None)
    with pytest.raises(RequestError, match="no such break-glass access"):
        stage.end(replace(everything, principal="User:svc"))
    assert stage.end(everything).succeeded
    assert stage.live() - set(stage.marks()) == {STAYS}
    (over,) = stage.marks()
    found = read_break_glass(over)
    assert found is not None
    assert found.end < NOW + HOUR, "what arrives late is over"
    records = stage.audit.read_text(encoding="utf-8")
    assert "break-glass: ended early" in records


class _Signed:
    """A saved plan of break-glass access, and people who may sign it."""

    def __init__(self, stage: Stage, root: Path, end: datetime.datetime = NOW + HOUR) -> None:
        (root / "plans").mkdir()
        self.stage, self.signers = stage, Signers(root / "plans")
        self.signers.plan.unlink()
        terms = GrantTerms(Expiry(end), "outage", "INC-7")
        self.planned = plan_break_glass(str(stage.manifests), stage.cluster, ASKED, terms)
        self.digest = save_plan(self.planned.plan, str(self.signers.plan))
        self.alice = self.signers.person("alice")
        self.signers.signers.write_text("\n".join(self.signers.lines) + "\n", encoding="utf-8")

    def apply(self, *, rule: bool = True, require_id: str | None = None) -> Result:
        stage, approvals = self.stage, ApprovalRule(1, str(self.signers.signers)) if rule else None
        records = RecordOptions(audit=str(stage.audit), operator="anna")
        options = ApplyOptions(require_id=require_id, approvals=approvals, records=records)
        return apply_plan(str(self.signers.plan), str(stage.manifests), stage.cluster, options=options)


@pytest.mark.parametrize(("apart", "way"), [(-HOUR, "ahead of"), (HOUR, "behind")])
def test_by_a_clock_that_may_be_wrong_nothing_is_given_and_no_mark_removed(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart: datetime.timedelta, way: str
) -> None:
    signed = _Signed(stage, tmp_path)
    told = {"time": NOW + apart}
    monkeypatch.setattr(SnapshotCluster, "controller_time", lambda _: told["time"])
    with pytest.raises(WorkflowError, match=f"{way} the controller's"):
        plan_break_glass(str(stage.manifests), stage.cluster, ASKED, GrantTerms(Expiry(NOW + HOUR), "outage"))
    with pytest.raises(WorkflowError, match=f"{way} the controller's"):
        stage.give()
    with pytest.raises(WorkflowError, match=f"{way} the controller's"):
        signed.apply(rule=False, require_id=signed.digest)
    with pytest.raises(WorkflowError, match=f"{way} the controller's"), cleanup(str(stage.manifests), stage.cluster):
        pass
    assert stage.live() == {STAYS}
    told["time"] = datetime.datetime.now(datetime.UTC)
    stage.give()
    told["time"] = NOW + apart
    assert stage.end(ASKED).succeeded, "taking access away waits for no clock"
    assert GIVEN not in stage.live()


def give_now(stage: Stage, *options: str) -> list[str]:
    words = ["User:ops", "READ", "topic/team.orders", "--until", "1h", "--reason", "outage", "--yes"]
    return ["break-glass", "grant", *words, "--path", str(stage.manifests), "--cluster", stage.cluster, *options]


def test_an_edit_that_cannot_be_made_does_not_hold_up_an_emergency(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    """No labels tell the one cluster from the other, so no document is for it alone: that is for later."""
    stage.declare(CLUSTER.replace("prod", "other") + ACLS)
    assert run([word for word in give_now(stage) if word not in ("break-glass", "--yes")]) == 1
    assert stage.live() == {STAYS}, "an edit alone changes no cluster"
    assert run(give_now(stage)) == 1
    assert "edit them by hand" in capsys.readouterr().err
    assert GIVEN in stage.live()


def test_what_was_done_and_the_edit_are_one_document(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(give_now(stage, "--output", "json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["applied"]["cluster"]["name"] == "prod"
    assert "User:ops" in document["patch"]
    where = ["--path", str(stage.manifests), "--cluster", stage.cluster, "--output", "json"]
    assert run(["break-glass", "revoke", "User:ops", "--yes", *where]) == 0
    assert json.loads(capsys.readouterr().out)["applied"]["cluster"]["name"] == "prod"
    assert stage.live() - set(stage.marks()) == {STAYS}


def test_ending_it_edits_no_grant_that_somebody_reviewed(stage: Stage) -> None:
    where = ["--path", str(stage.manifests), "--cluster", stage.cluster, "--write", "--yes"]
    now = ["User:svc", "WRITE", "topic/team.orders", "--until", "1h", "--reason", "outage"]
    before = (stage.manifests / "all.yaml").read_text(encoding="utf-8")
    assert run(["break-glass", "grant", *now, *where]) == 0
    assert (stage.manifests / "all.yaml").read_text(encoding="utf-8") != before
    assert run(["break-glass", "revoke", "User:svc", *where]) == 0
    assert (stage.manifests / "all.yaml").read_text(encoding="utf-8") == before
    assert stage.live() - set(stage.marks()) == {STAYS}


def test_it_is_not_adopted_for_good(stage: Stage) -> None:
    stage.give()
    found = adopt(str(stage.manifests), stage.cluster, lambda differences: differences)
    assert found.edit.files == {}
    assert [one.reason for one in found.refused] == [f"break-glass access until {Expiry(NOW + HOUR)}"]


def test_people_sign_its_plan_and_any_machine_performs_it(
    stage: Stage, tmp_path: Path, at: Callable[[datetime.datetime], None]
) -> None:
    signed = _Signed(stage, tmp_path)
    assert stage.live() == {STAYS}, "nothing is sent before people have signed"
    with pytest.raises(NotApprovedError):
        signed.apply()
    with pytest.raises(UnvouchedPlanError):
        signed.apply(rule=False)
    signed.signers.approve(signed.alice)
    assert signed.apply().succeeded
    assert stage.live() == {STAYS, GIVEN, MARK}
    assert "break-glass: outage" in stage.audit.read_text(encoding="utf-8")
    assert signed.apply().succeeded, "a second time there is nothing left to do"
    assert len(stage.live()) == 3
    stage.round()
    at(NOW + HOUR)
    assert stage.round().revoked == 1
    assert stage.live() == {STAYS, MARK}


def test_a_server_performs_it_once_it_is_signed(stage: Stage, tmp_path: Path) -> None:
    signed = _Signed(stage, tmp_path)
    approved = ApprovedPlans(str(signed.signers.plan.parent), ApprovalRule(1, str(signed.signers.signers)))
    options = ServeOptions(stage.cluster, act=True, approved=approved)
    source = DirectorySource(str(stage.manifests))
    assert run_round(source, options, ConnectionOptions(), Unattended()).approved[0].status is ApprovedStatus.WAITING
    signed.signers.approve(signed.alice)
    found = run_round(source, options, ConnectionOptions(), Unattended()).approved
    assert [(one.status, one.why) for one in found] == [(ApprovedStatus.PERFORMED, "")]
    assert len(stage.live()) == 3


def test_a_saved_plan_that_is_over_or_was_overtaken_gives_nothing(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed = _Signed(stage, tmp_path)
    monkeypatch.setattr("reconciler.app.apply.now", lambda: NOW + HOUR)
    with pytest.raises(StaleError, match="ended at"):
        signed.apply(rule=False, require_id=signed.digest)
    monkeypatch.setattr("reconciler.app.apply.now", lambda: NOW - 24 * HOUR)
    with pytest.raises(RequestError, match="within 24 hours"):
        signed.apply(rule=False, require_id=signed.digest)
    monkeypatch.undo()
    stage.snapshot.write_text(snapshot_text(ClusterState("abc", frozenset({STAYS, GIVEN}), {})), encoding="utf-8")
    with pytest.raises(RequestError, match="is there already, without an end"):
        signed.apply(rule=False, require_id=signed.digest)
    assert stage.live() == {STAYS, GIVEN}


def test_its_plan_cannot_hold_anything_else(stage: Stage, tmp_path: Path) -> None:
    """Whoever says break-glass in a plan of something else gets round no manifest."""
    signed = _Signed(stage, tmp_path)
    (step,) = signed.planned.plan.steps
    for change in (Delete(STAYS), Create(GIVEN._replace(entry=GIVEN.entry._replace(permission_type=DENY)))):
        other = replace(signed.planned.plan, steps=(replace(step, change=change),))
        with pytest.raises(RequestError, match="creates ALLOWs"):
            check_break_glass(other, signed.planned.live, NOW)


def test_guards_and_access_tests_are_asked(stage: Stage) -> None:
    stage.declare(
        ACLS + "---\napiVersion: reconciler/v1\nkind: AccessTests\nmetadata: {name: t}\nspec:\n  tests:\n"
        "    - {name: never, principals: [User:ops], mustNot: READ, topics: [team.orders]}\n"
    )
    with pytest.raises(FailedChecksError):
        stage.give()
    assert stage.live() == {STAYS}


def test_a_test_that_fails_is_shown_and_nothing_is_given(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    stage.declare(
        ACLS + "---\napiVersion: reconciler/v1\nkind: AccessTests\nmetadata: {name: t}\nspec:\n  tests:\n"
        "    - {name: never, principals: [User:ops], mustNot: READ, topics: [team.orders]}\n"
    )
    plan = stage.audit.with_name("plan.json")
    for more in ((), ("--out", str(plan))):
        assert run(give_now(stage, *more)) == Exit.FAILED_CHECK
        assert "never" in capsys.readouterr().err
        assert stage.live() == {STAYS}
    assert not plan.exists()


def test_the_access_tests_of_the_base_are_asked_at_once_too(stage: Stage, tmp_path: Path) -> None:
    """The attacker's branch has dropped the access test that the base has."""
    base = tmp_path / "base"
    base.mkdir()
    test = "{name: never, principals: [User:ops], mustNot: READ, topics: [team.orders]}"
    rules = f"---\napiVersion: reconciler/v1\nkind: AccessTests\nmetadata: {{name: t}}\nspec: {{tests: [{test}]}}\n"
    text = "---\n".join(file.read_text(encoding="utf-8") for file in sorted(stage.manifests.glob("*.yaml")))
    (base / "all.yaml").write_text(text + rules, encoding="utf-8")
    held, terms = replace(stage.options, guardrails=str(base)), GrantTerms(Expiry(NOW + HOUR), "outage")
    with pytest.raises(FailedChecksError):
        break_glass(str(stage.manifests), stage.cluster, ASKED, terms, options=held)
    assert stage.live() == {STAYS}
    planned = plan_break_glass(str(stage.manifests), stage.cluster, ASKED, terms, guardrails=str(base))
    assert checks_of(planned).stops


def test_owners_judge_the_edit_and_not_the_access(stage: Stage) -> None:
    """They say which files may declare what; the access is in no file, and nobody may be there to move it."""
    owners = "[{team: orders, files: ['teams/**'], principals: {any: true}, topics: {prefix: team.}}]"
    head = "---\napiVersion: reconciler/v1\nkind: Ownership\nmetadata: {name: teams}\n"
    stage.declare(f"{ACLS}{head}spec: {{owners: {owners}}}\n")
    terms = GrantTerms(Expiry(NOW + HOUR), "outage", "INC-7")
    planned = plan_break_glass(str(stage.manifests), stage.cluster, ASKED, terms)
    said = {row.owners for row in planned.plan.access.access_changes if row.gained}
    assert said == {DataOwners(("orders",), Agreement.MISSING)}, "whose data it is, and that nobody asked them"
    stage.give()
    assert GIVEN in stage.live()
    ended = stage.end(ASKED).plan.access.access_changes
    assert {(row.lost, row.owners) for row in ended} == {
        ((AclOperation.READ, AclOperation.DESCRIBE), DataOwners(("orders",)))
    }, "nobody has to agree to a loss"


class _Declines(Unattended):
    def agree(self, plan: Plan) -> bool:
        return False


def test_who_declines_leaves_nothing_behind(stage: Stage) -> None:
    with pytest.raises(DeclinedError):
        stage.give(supervisor=_Declines())
    assert stage.live() == {STAYS}
