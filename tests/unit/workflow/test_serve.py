"""Rounds of a server on snapshot files: what it does by itself, what it does not, and what stops it."""

import datetime
import json
import subprocess
import threading
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from reconciler.adapters.clock import SystemClock
from reconciler.adapters.snapshot import SnapshotCluster, snapshot_text
from reconciler.adapters.status_server import StatusPages, status_server
from reconciler.apply import LeaseRequest
from reconciler.apply.audit_records import AUDIT
from reconciler.apply.barriers.sentinels import start_sentinels
from reconciler.apply.lease_markers import marker
from reconciler.model import AclBinding, ClusterState
from reconciler.plan import file_digest
from reconciler.ports import ReadRequest
from reconciler.report.rounds import HISTORY, ApprovedStatus, Round, RoundHistory
from reconciler.workflow import PlanOptions, plan, save_plan
from reconciler.workflow.applying import ApplyOptions
from reconciler.workflow.attendant import Unattended
from reconciler.workflow.options import ApprovalRule, ConnectionOptions
from reconciler.workflow.records import RecordOptions
from reconciler.workflow.serve.approved import ApprovedPlans
from reconciler.workflow.serve.loop import ClockWatch, ServeLoop
from reconciler.workflow.serve.pages import ServePages
from reconciler.workflow.serve.rounds import ServeOptions, run_round
from reconciler.workflow.serve.source import DirectorySource, ManifestSource, git_source
from tests.cases.test_cases import binding
from tests.security.test_approvals import Place as Signers

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec:
  bootstrapServers: ["nowhere:9092"]
  principal: User:admin
  superUsers: [User:admin]
  allowEveryoneIfNoAclFound: DEFAULT
  scope: {include: [{topics: {prefix: team.}}]}
---
"""
ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules:
    - {allow: READ, topics: [team.orders]}
    - {allow: WRITE, topics: [team.orders], expires: 2026-11-01}
    - {deny: ALTER, topics: [team.audit], expires: 2026-11-01}
"""
STAYS = binding("User:svc ALLOW READ on TOPIC team.orders")
OVER = binding("User:svc ALLOW WRITE on TOPIC team.orders")
DENIED = binding("User:svc DENY ALTER on TOPIC team.audit")
UNDECLARED = binding("User:eve ALLOW READ on TOPIC team.orders")
FOREIGN = binding("User:eve ALLOW READ on TOPIC other")
LIVE = frozenset({STAYS, OVER, DENIED, UNDECLARED, FOREIGN})
WATCHED = datetime.timedelta(minutes=5)


class World:
    """Manifests and a snapshot file that stands for the cluster."""

    def __init__(self, root: Path) -> None:
        """Write both."""
        self.manifests, self.snapshot = root / "manifests", root / "prod.json"
        self.manifests.mkdir()
        self.declare()
        self.live(LIVE)

    def declare(self, acls: str = ACLS, default: str = "false") -> None:
        """Write the manifests."""
        (self.manifests / "all.yaml").write_text(CLUSTER.replace("DEFAULT", default) + acls, encoding="utf-8")

    def live(self, bindings: frozenset[AclBinding]) -> None:
        """Let the cluster have these."""
        self.snapshot.write_text(snapshot_text(ClusterState("abc", bindings, {})), encoding="utf-8")

    @property
    def cluster(self) -> str:
        """As an option names it."""
        return f"prod=snapshot:{self.snapshot}"

    def bindings(self) -> frozenset[AclBinding]:
        """What the cluster has."""
        return SnapshotCluster(self.snapshot).read(ReadRequest(all_topics=False)).bindings

    def round(
        self,
        *,
        act: bool = True,
        source: ManifestSource | None = None,
        doubt: str | None = None,
        audit: str | None = None,
    ) -> Round:
        """One round."""
        records = RecordOptions(audit=audit)
        options = ServeOptions(self.cluster, act, ApplyOptions(records=records, lease=LeaseRequest("me")))
        where = source or DirectorySource(str(self.manifests))
        return run_round(where, options, ConnectionOptions(), Unattended(), clock_doubt=doubt)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_only_what_expired_goes(world: World) -> None:
    """Neither what nobody declared, nor a DENY whose end would give access, nor what is out of scope."""
    found = world.round()
    assert found.failure == ""
    assert (found.revoked, found.waiting, found.held_back) == (1, 0, ())
    assert world.bindings() == LIVE - {OVER}
    assert world.round().revoked == 0, "nothing is left to do"


def test_without_act_it_only_looks(world: World) -> None:
    found = world.round(act=False)
    assert (found.revoked, found.waiting) == (0, 1)
    assert found.drift is not None
    assert len(found.drift.steps) == 3
    assert world.bindings() == LIVE


@pytest.mark.parametrize("broken", ["kind: [", ACLS.replace("allow: READ", "allow: REED")])
def test_manifests_that_cannot_be_read_end_nothing(world: World, broken: str) -> None:
    world.declare(broken)
    found = world.round()
    assert "problem" in found.failure
    assert world.bindings() == LIVE


def test_a_cluster_that_cannot_be_read_loses_nothing(world: World) -> None:
    world.snapshot.write_text("{}", encoding="utf-8")
    assert "snapshot" in world.round().failure


def test_a_clock_that_is_not_believed_ends_nothing(world: World) -> None:
    found = world.round(doubt="the clock was set")
    assert found.held_back == ("the clock was set",)
    assert found.waiting == 1
    assert world.bindings() == LIVE


@pytest.mark.parametrize("default", ["true", None])
def test_the_last_binding_of_a_pattern_stays_where_that_may_open_it(world: World, default: str | None) -> None:
    """Under default-allow the end of one ALLOW would let everybody in: that is no narrowing."""
    text = "DEFAULT" if default is None else default
    world.declare(default=text)
    if default is None:
        file = world.manifests / "all.yaml"
        unstated = file.read_text(encoding="utf-8").replace("  allowEveryoneIfNoAclFound: DEFAULT\n", "")
        file.write_text(unstated, encoding="utf-8")
    world.live(frozenset({OVER, DENIED}))
    found = world.round()
    assert found.revoked == 0
    assert found.held_back
    assert world.bindings() == {OVER, DENIED}


def test_a_guard_holds_here_too(world: World) -> None:
    file = world.manifests / "all.yaml"
    protected = "  protect: [{topics: [team.orders]}]\n---\n"
    file.write_text(file.read_text(encoding="utf-8").replace("---\n", protected, 1), encoding="utf-8")
    found = world.round()
    assert found.revoked == 0
    assert "protected" in found.held_back[0]
    assert world.bindings() == LIVE


@pytest.mark.parametrize("why", ["opens", "protected"])
def test_what_has_to_stay_does_not_hold_up_the_rest(world: World, why: str) -> None:
    """Whoever can merge one expired rule would else prolong what others were given."""
    alone = binding("User:svc ALLOW READ on TOPIC team.alone")
    rule = "    - {allow: READ, topics: [team.alone], expires: 2026-01-31}\n"
    world.declare(ACLS + rule, default="DEFAULT" if why == "opens" else "false")
    file = world.manifests / "all.yaml"
    text = file.read_text(encoding="utf-8").replace("  allowEveryoneIfNoAclFound: DEFAULT\n", "")
    if why == "protected":
        text = text.replace("---\n", "  protect: [{topics: [team.alone]}]\n---\n", 1)
    file.write_text(text, encoding="utf-8")
    others = frozenset({binding("User:eve ALLOW READ on TOPIC team.alone")} if why == "protected" else ())
    world.live(LIVE | {alone} | others)
    found = world.round()
    assert (found.revoked, found.waiting) == (1, 1)
    (said,) = found.held_back
    assert said.startswith("1 expired binding stays: ")
    assert ("default-allow may open" if why == "opens" else "protected: ") in said
    assert world.bindings() == LIVE - {OVER} | {alone} | others


def test_many_that_have_to_stay_do_not_hide_the_rest(world: World) -> None:
    """However they are named: more than one round can judge, and before all others in any order of names."""
    kept = [binding(f"User:svc ALLOW READ on TOPIC team.a{number:02}") for number in range(20)]
    over = [binding(f"User:svc ALLOW READ on TOPIC team.z{number:02}") for number in range(20)]
    others = frozenset(binding(f"User:eve ALLOW READ on TOPIC {one.pattern.name}") for one in (*kept, *over))
    topics = ", ".join(one.pattern.name for one in (*kept, *over))
    world.declare(ACLS + f"    - {{allow: READ, topics: [{topics}], expires: 2026-01-31}}\n")
    file = world.manifests / "all.yaml"
    rules = "  protect: [{topics: {prefix: team.a}}]\n  limits: {maxDeletes: 1000, maxDeletePercent: 100}\n---\n"
    file.write_text(file.read_text(encoding="utf-8").replace("---\n", rules, 1), encoding="utf-8")
    world.live(LIVE | others | {*kept, *over})
    for _ in range(60):
        if world.round().waiting == len(kept):
            break
    assert world.bindings() == LIVE - {OVER} | others | set(kept)


def test_a_limit_on_deletions_holds_all_of_them(world: World) -> None:
    """A part that a limit lets pass would lead round it."""
    many = [binding(f"User:svc ALLOW READ on TOPIC team.t{number}") for number in range(3)]
    topics = ", ".join(one.pattern.name for one in many)
    world.declare(ACLS + f"    - {{allow: READ, topics: [{topics}], expires: 2026-01-31}}\n")
    file = world.manifests / "all.yaml"
    limited = "  limits: {maxDeletes: 2}\n---\n"
    file.write_text(file.read_text(encoding="utf-8").replace("---\n", limited, 1), encoding="utf-8")
    world.live(LIVE | frozenset(many))
    found = world.round()
    assert (found.revoked, found.waiting) == (0, 4)
    assert found.held_back[0].startswith("4 expired bindings stay: limit: ")
    assert world.bindings() == LIVE | frozenset(many)


@pytest.mark.parametrize(("holder", "revoked"), [("me", 1), ("somebody", 0)])
def test_a_lease_of_a_server_that_was_killed_does_not_hold_up_the_next_one(
    world: World, holder: str, revoked: int
) -> None:
    """The server is ``me``: it was killed while it held the lease. Whoever else holds it is at work."""
    until = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(seconds=150)
    held = marker(holder, "20261123T000000Z-dead", until)
    world.live(LIVE | {held})
    found = world.round()
    assert found.revoked == revoked, found.held_back
    assert world.bindings() == (LIVE - {OVER} if revoked else LIVE | {held})
    assert any("holds the lease" in one for one in found.held_back) is not bool(revoked)


def test_what_a_dead_run_left_goes_unless_it_is_a_bridge(world: World) -> None:
    dead = frozenset(start_sentinels("20260101T000000Z-dead", "User:acl-probe"))
    young = frozenset(start_sentinels(f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}-young", "User:acl-probe"))
    world.live(frozenset({STAYS}) | dead | young)
    found = world.round()
    assert found.removed == len(dead)
    assert world.bindings() == {STAYS} | young


def test_what_is_removed_of_a_dead_run_is_audited_or_stays(world: World, tmp_path: Path) -> None:
    dead = frozenset(start_sentinels("20260101T000000Z-dead", "User:acl-probe"))
    world.live(frozenset({STAYS}) | dead)
    stays = world.round(audit=str(tmp_path / "away" / "audit.jsonl"))
    assert (stays.removed, world.bindings() == {STAYS} | dead) == (0, True)
    assert any("what dead runs left stays" in one for one in stays.held_back)
    log = tmp_path / "audit.jsonl"
    assert world.round(audit=str(log)).removed == len(dead)
    lines: list[Any] = [AUDIT.read(json.loads(line)).content for line in log.read_text(encoding="utf-8").splitlines()]
    assert [(one.action, set(one.bindings)) for one in lines] == [("remove", set(dead)), ("left", set())]


def _git(directory: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, "-C", str(directory), *words], check=True, capture_output=True)  # noqa: S607


def test_a_reference_in_git_is_what_counts(world: World) -> None:
    """The files on disk may be anybody's work in progress; the branch is what was merged."""
    _git(world.manifests, "init", "-q", "-b", "main")
    _git(world.manifests, "add", ".")
    _git(world.manifests, "commit", "-q", "-m", "declare")
    world.declare(ACLS.replace("2026-11-01", "2020-01-01").replace("allow: READ,", "allow: READ, expires: 2020-01-01,"))
    source = git_source(str(world.manifests), "refs/heads/main", None)
    found = world.round(source=source)
    assert world.bindings() == LIVE - {OVER}, "what is merely on disk ends nothing"
    assert found.drift is not None
    assert len(found.drift.source_commit or "") == 40
    assert "no/branch" in world.round(source=git_source(str(world.manifests), "refs/heads/no/branch", None)).failure


def test_a_commit_of_the_future_says_that_our_clock_is_behind(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2099-01-01T00:00:00Z")
    _git(world.manifests, "init", "-q", "-b", "main")
    _git(world.manifests, "add", ".")
    _git(world.manifests, "commit", "-q", "-m", "declare")
    found = world.round(source=git_source(str(world.manifests), "main", None))
    assert "clock is behind" in found.held_back[0]
    assert world.bindings() == LIVE


@pytest.mark.parametrize(("apart", "way"), [(-1, "ahead of"), (1, "behind")])
def test_a_clock_that_is_wrong_from_its_start_is_held_against_the_controllers(
    world: World, monkeypatch: pytest.MonkeyPatch, apart: int, way: str
) -> None:
    """Ahead, it would end access too early; in every round, for nobody here knows whose clock is wrong."""
    told = datetime.datetime.now(datetime.UTC) + apart * datetime.timedelta(minutes=2)
    monkeypatch.setattr(SnapshotCluster, "controller_time", lambda _: told)
    for _ in range(2):
        found = world.round()
        assert [one.partition(" s ")[2].partition(" the ")[0] for one in found.held_back] == [way]
        assert world.bindings() == LIVE
    monkeypatch.setattr(SnapshotCluster, "controller_time", lambda _: datetime.datetime.now(datetime.UTC))
    assert world.round().revoked == 1


def _approved(world: World, root: Path) -> tuple[Path, Signers, ServeOptions]:
    """A saved plan that creates a binding, people who may sign it, and a server that performs what one signed."""
    world.live(LIVE - {STAYS, OVER})
    directory = root / "plans"
    directory.mkdir()
    made = plan(str(world.manifests), world.cluster, PlanOptions()).plan
    signers = Signers(directory)
    signers.plan.unlink()
    save_plan(made, str(signers.plan))
    rule = ApprovalRule(1, str(signers.signers))
    return directory, signers, ServeOptions(world.cluster, True, approved=ApprovedPlans(str(directory), rule))


def test_a_plan_is_performed_once_people_have_signed_it(world: World, tmp_path: Path) -> None:
    _, signers, options = _approved(world, tmp_path)
    alice = signers.person("alice")
    signers.signers.write_text("\n".join(signers.lines) + "\n", encoding="utf-8")
    source = DirectorySource(str(world.manifests))

    def look() -> Round:
        return run_round(source, options, ConnectionOptions(), Unattended())

    waiting = look()
    assert [one.status for one in waiting.approved] == [ApprovedStatus.WAITING]
    assert STAYS not in world.bindings()
    signers.approve(alice)
    performed = look().approved
    assert [(one.status, one.why) for one in performed] == [(ApprovedStatus.PERFORMED, "")]
    assert STAYS in world.bindings()
    world.live(LIVE - {STAYS, OVER})
    assert look().approved == (), "a plan that was performed is over, whatever happens afterwards"
    assert STAYS not in world.bindings()
    again = ServeOptions(world.cluster, True, approved=ApprovedPlans(*_fields(options)))
    assert run_round(source, again, ConnectionOptions(), Unattended()).approved == (), "also for the next server"


def _fields(options: ServeOptions) -> tuple[str, ApprovalRule]:
    assert options.approved is not None
    return options.approved.directory, options.approved.rule


def test_an_author_does_not_approve_their_own_plan(world: World, tmp_path: Path) -> None:
    _, signers, options = _approved(world, tmp_path)
    signers.approve(signers.person("alice"))
    signers.signers.write_text("\n".join(signers.lines) + "\n", encoding="utf-8")
    assert options.approved is not None
    rule = replace(options.approved.rule, not_author=("alice@example.com",))
    options = replace(options, approved=replace(options.approved, rule=rule))
    found = run_round(DirectorySource(str(world.manifests)), options, ConnectionOptions(), Unattended())
    assert [one.status for one in found.approved] == [ApprovedStatus.WAITING]
    assert STAYS not in world.bindings()


def test_a_plan_that_was_changed_after_it_was_signed_is_not_performed(world: World, tmp_path: Path) -> None:
    _, signers, options = _approved(world, tmp_path)
    signers.approve(signers.person("alice"))
    signers.signers.write_text("\n".join(signers.lines) + "\n", encoding="utf-8")
    text = signers.plan.read_text(encoding="utf-8")
    signers.plan.write_text(text.replace("team.orders", "team.others"), encoding="utf-8")
    assert file_digest(signers.plan.read_text(encoding="utf-8")) != file_digest(text)
    found = run_round(DirectorySource(str(world.manifests)), options, ConnectionOptions(), Unattended())
    assert [one.status for one in found.approved] == [ApprovedStatus.FAILED]
    assert STAYS not in world.bindings()


class _Clock(SystemClock):
    """A monotonic clock that stands still, and no jitter."""

    def monotonic(self) -> float:
        """Always the same."""
        return 0.0

    def jitter(self) -> float:
        """The middle."""
        return 0.5


def test_a_clock_that_is_set_is_noticed_once() -> None:
    watch, start = ClockWatch(_Clock()), datetime.datetime(2026, 11, 23, tzinfo=datetime.UTC)
    assert watch.doubt(start) is None
    assert watch.doubt(start + datetime.timedelta(seconds=30)) is None
    assert "set forwards by 3600 s" in str(watch.doubt(start + datetime.timedelta(seconds=3630)))
    assert watch.doubt(start + datetime.timedelta(seconds=3630)) is None
    assert "set back by 3600 s" in str(watch.doubt(start + datetime.timedelta(seconds=30)))


class _Wake(threading.Event):
    """Notes how long each pause is, and does not pause."""

    def __init__(self) -> None:
        """No pause yet."""
        super().__init__()
        self.pauses: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        """Note the pause."""
        self.pauses.append(timeout or 0.0)
        return False


def _pauses(world: World, rounds: int, interval: float = 300.0) -> tuple[list[float], RoundHistory]:
    wake, history = _Wake(), RoundHistory(("prod",))
    options = [ServeOptions(world.cluster, act=True)]
    loop = ServeLoop(
        DirectorySource(str(world.manifests)), options, ConnectionOptions(), Unattended(), _Clock(), history, interval
    )
    loop.run(lambda: len(wake.pauses) == rounds, wake)
    return wake.pauses, history


def test_the_next_round_is_in_time_for_what_ends_next(world: World) -> None:
    today = datetime.datetime.now(datetime.UTC).date()
    world.declare(ACLS.replace("2026-11-01", today.isoformat()))
    [pause], _ = _pauses(world, 1, interval=1e9)
    now = datetime.datetime.now(datetime.UTC)
    midnight = datetime.datetime.combine(today, datetime.time(), datetime.UTC) + datetime.timedelta(days=1)
    assert abs(pause - (midnight - now).total_seconds()) < 5


def test_the_next_round_is_in_time_for_an_instant(world: World) -> None:
    end = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(hours=1)
    world.declare(ACLS.replace("2026-11-01", f"{end:%Y-%m-%dT%H:%M:%SZ}"))
    assert world.round(act=False).next_end == end
    [pause], _ = _pauses(world, 1, interval=1e9)
    assert abs(pause - (end - datetime.datetime.now(datetime.UTC)).total_seconds()) < 5


def test_what_ends_at_an_instant_goes_at_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    end = datetime.datetime(2026, 11, 1, 18, tzinfo=datetime.UTC)
    world.declare(ACLS.replace("2026-11-01", "2026-11-01T18:00:00Z"))
    monkeypatch.setattr("reconciler.workflow.serve.rounds.now", lambda: end - datetime.timedelta(seconds=0.1))
    early = world.round()
    assert (early.revoked, early.next_end) == (0, end)
    monkeypatch.setattr("reconciler.workflow.serve.rounds.now", lambda: end)
    assert world.round().revoked == 1
    assert world.bindings() == LIVE - {OVER}


def test_failures_are_tried_again_sooner_and_then_less_often(world: World) -> None:
    world.declare("kind: [")
    pauses, history = _pauses(world, 9)
    assert pauses[:5] == [5, 10, 20, 40, 80]
    assert max(pauses) == 300
    assert len(history.past) == 9


def test_a_round_that_acted_is_followed_by_a_look_but_not_by_a_race(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody puts the expired binding back after each round: the server revokes it at its interval, not faster."""
    waited = _Wake.wait

    def put_back(wake: _Wake, timeout: float | None = None) -> bool:
        world.live(LIVE)
        return waited(wake, timeout)

    monkeypatch.setattr(_Wake, "wait", put_back)
    pauses, _ = _pauses(world, 4)
    assert pauses == [0.2, 300, 0.2, 300]


def test_a_history_stays_small(world: World) -> None:
    history = RoundHistory(("prod",))
    first = world.round(act=False)
    for _ in range(3 * HISTORY):
        history.add(first)
    assert len(history.past) == HISTORY
    assert [one.drift for one in history.latest.values()] == [None], "one plan a cluster is kept, not one a round"


def _get(address: str, path: str, host: str | None = None, method: str = "GET") -> tuple[int, str]:
    request = urllib.request.Request(f"{address}{path}", method=method, headers={} if host is None else {"Host": host})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_pages_show_what_rounds_saw(world: World) -> None:
    history, wake = RoundHistory(("prod", "<b>other</b>")), threading.Event()
    pages: StatusPages = ServePages(history, wake, WATCHED)
    with status_server("127.0.0.1", 0, pages) as address:
        assert _get(address, "/healthz")[0] == 200
        assert _get(address, "/readyz") == (503, "not read lately: prod, <b>other</b>\n")
        assert _get(address, "/clusters/prod")[0] == 404
        found = world.round()
        history.add(found)
        assert found.drift is not None
        other = replace(found.drift, terms=replace(found.drift.terms, cluster="<b>other</b>"))
        history.add(replace(found, cluster="<b>other</b>", drift=other))
        assert _get(address, "/readyz") == (200, "ready\n")
        status, metrics = _get(address, "/metrics")
        assert status == 200
        assert 'reconciler_serve_revoked{cluster="prod"} 1.0' in metrics
        assert 'reconciler_drift{action="delete",cluster="prod",kind="acl"} 3.0' in metrics
        assert metrics.count("# TYPE reconciler_drift gauge") == 1
        assert "revoked 1 expired binding" in _get(address, "/")[1]
        assert "<b>" not in _get(address, "/")[1]
        assert "&lt;b&gt;other&lt;/b&gt;, undeclared: 3</title>" in _get(address, "/")[1], "the heat map"
        assert "User:eve" in _get(address, "/clusters/prod")[1]
        assert _get(address, "/nothing")[0] == 404
        assert _get(address, "/", host="attacker.example")[0] == 403
        assert not wake.is_set()
        assert _get(address, "/reload", method="POST")[0] == 202
        assert wake.is_set()


def test_a_failure_is_one_line_whatever_a_broker_says() -> None:
    failed = Round("c", datetime.datetime.now(datetime.UTC), failure="no\nroute")
    assert failed.words().splitlines() == [failed.words()]
