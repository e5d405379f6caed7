"""Locks on a snapshot: everything is denied at once, until an unlock, whatever manifests, plans and people say."""

import datetime
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.app.apply import ApplyOptions, apply, apply_plan
from reconciler.app.cleanup import cleanup
from reconciler.app.connections import read_connections
from reconciler.app.export import export
from reconciler.app.lock import LockTerms, list_locks, lockable, plan_unlock, unlock
from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.app.plan import drift, plan
from reconciler.app.reasons import PlanRefusedError, RequestError
from reconciler.app.records import RecordOptions, save_plan
from reconciler.app.session import Target, open_declared
from reconciler.app.undo import undo
from reconciler.apply.environment import Result
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.acl import SUPPORTED_OPERATIONS, AclBinding, ResourceType
from reconciler.model.desired import Expiry
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.locks import Lock, LockMark, lock_denials, locks, read_lock_mark, unlocked_at
from reconciler.model.state import ClusterState
from reconciler.parts.edit.app.adopt import adopt
from reconciler.parts.edit.app.break_glass import break_glass
from reconciler.parts.edit.app.grant import AskedAccess, GrantTerms
from reconciler.plan.difference import SkipReason
from reconciler.plan.proposal import Plan
from reconciler.plan.refusal import AcceptedGuard, Guard
from reconciler.plan.review.access_change import DataOwners
from reconciler.ports import Answer, ReadRequest
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from tests.security.test_pipeline_places import Scene
from tests.worlds import binding

NOW = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
NAME = "User:svc"
STAYS = binding("User:svc ALLOW READ on TOPIC team.orders")
LATER = Expiry(NOW + datetime.timedelta(hours=1))
OTHER = binding("User:other ALLOW READ on TOPIC team.orders")
WHY = LockTerms(NAME, "key leaked", "INC-7")
CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec:
  bootstrapServers: [unused.invalid:9092]
  deleteLimits: {maxDeletePercent: 100}
---
"""
OPERATOR = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec:
  allowEveryoneIfNoAclFound: false
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
OWNERS = """\
---
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec: {owners: [{team: orders, files: ['teams/**'], principals: {any: true}, topics: {prefix: team.}}]}
"""
#: The DENYs of a lock, as far as a manifest can declare them.
DENIES = """\
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: incident}
spec:
  principal: User:svc
  rules:
    - {deny: ALL, topics: {any: true}, groups: {any: true}, transactionalIds: {any: true}, cluster: true,
       delegationTokens: {any: true}, users: {any: true}}
"""


def may_anything(bindings: Collection[AclBinding], principal: str = NAME) -> bool:
    """By Kafka's rule, asked of the names that there are and of one that nobody names."""
    authorizer = Authorizer(frozenset(bindings))
    names = {"zzz", "kafka-cluster", *(one.pattern.name for one in bindings)}
    return any(
        authorizer.authorize(principal, "192.0.2.1", operation, kind, name).allowed is not False
        for kind, operations in SUPPORTED_OPERATIONS.items()
        for operation in operations
        for name in (["kafka-cluster"] if kind is ResourceType.CLUSTER else names)
    )


class Stage:
    """Manifests, and a snapshot file that stands for the cluster."""

    def __init__(self, root: Path) -> None:
        self.root, self.manifests, self.snapshot = root, root / "manifests", root / "prod.json"
        self.audit, self.connections = root / "audit.jsonl", root / "connections.yaml"
        self.manifests.mkdir()
        self.declare(ACLS)
        self.rule(OPERATOR)
        self.snapshot.write_text(snapshot_text(ClusterState("abc", frozenset({STAYS}), {})), encoding="utf-8")

    def declare(self, acls: str, cluster: str = CLUSTER) -> None:
        (self.manifests / "all.yaml").write_text(cluster + acls, encoding="utf-8")

    def rule(self, text: str) -> None:
        """The operator's file."""
        self.connections.write_text(text, encoding="utf-8")

    @property
    def connection(self) -> ConnectionOptions:
        return ConnectionOptions(str(self.connections))

    @property
    def path(self) -> str:
        return str(self.manifests)

    @property
    def cluster(self) -> str:
        return f"prod=snapshot:{self.snapshot}"

    @property
    def records(self) -> RecordOptions:
        return RecordOptions(audit=str(self.audit), operator="anna")

    def live(self) -> frozenset[AclBinding]:
        return SnapshotCluster(self.snapshot).read(ReadRequest(all_topics=False)).bindings

    def locked(self) -> Lock | None:
        return locks(self.live()).get(NAME)

    def write(self, *bindings: AclBinding) -> None:
        SnapshotCluster(self.snapshot).send([Create(one) for one in bindings])

    def delete(self, *bindings: AclBinding) -> None:
        SnapshotCluster(self.snapshot).send([Delete(one) for one in bindings])

    def lock(self, terms: LockTerms = WHY) -> None:
        with lockable(self.path, self.cluster, terms, self.connection) as found:
            assert found.lock(self.records).succeeded

    def unlock(self, terms: LockTerms = WHY) -> None:
        options = ApplyOptions(records=self.records)
        assert unlock(self.path, self.cluster, terms, self.connection, options).succeeded

    def plan(self) -> Plan:
        return plan(self.path, self.cluster, PlanOptions(allow_deletes=True), self.connection).plan

    def apply(self, options: PlanOptions = PlanOptions()) -> Result:
        return apply(self.path, self.cluster, options, self.connection)

    def drift(self) -> Plan:
        return drift(self.path, self.cluster, self.connection).plan


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_everything_is_denied_by_one_request_and_the_audit_log_says_why(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, sent = SnapshotCluster.send, list[Sequence[Change]]()

    def send(cluster: SnapshotCluster, changes: Sequence[Change]) -> list[Answer]:
        sent.append(changes)
        return really(cluster, changes)

    monkeypatch.setattr(SnapshotCluster, "send", send)
    stage.lock()
    ((*denials, mark),) = sent
    assert [one.after for one in denials] == list(lock_denials(NAME))
    assert [one.pattern.resource_type for one in lock_denials(NAME)] == list(ResourceType)[2:]
    assert isinstance(mark, Create)
    said = read_lock_mark(mark.after)
    assert said is not None
    assert said[:1] + said[2:] == (NAME, None, "anna", "INC-7", "key leaked")
    assert not may_anything(stage.live())
    (record,) = (json.loads(line) for line in stage.audit.read_text(encoding="utf-8").splitlines())
    assert (record["record"], record["action"], record["principal"], record["ticket"]) == (
        "lock", "lock", NAME, "INC-7",
    )  # fmt: skip


def test_it_is_neither_a_deletion_nor_drift_and_every_plan_says_it(stage: Stage) -> None:
    stage.lock()
    for found in (stage.plan(), stage.drift()):
        assert found.steps == ()
        assert found.skipped == ()
        assert any("User:svc is locked" in text and "key leaked" in text for text in found.warnings)


DELETES = PlanOptions(allow_deletes=True)


def _applied(stage: Stage) -> None:
    stage.write(OTHER)
    stage.lock()
    assert stage.apply(DELETES).succeeded
    assert OTHER not in stage.live(), "an unrelated deletion goes on"


def _undone(stage: Stage) -> None:
    stage.declare(ACLS + DENIES)
    file = str(stage.root / "plan.json")
    save_plan(stage.plan(), file)
    assert apply_plan(file, stage.path, stage.cluster, stage.connection).succeeded
    stage.lock()
    # Where a saved plan was applied, its cluster is not named again.
    where = partial(open_declared, stage.path, stage.cluster)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reconciler.app.undo.open_declared", lambda path, cluster, *more: where(*more))
        back, _ = undo(file, stage.path, DELETES, stage.connection)
    assert back.plan.steps == ()


def _cleaned(stage: Stage) -> None:
    stage.lock()
    with cleanup(stage.path, stage.cluster) as found:
        assert found.leftovers == ()


def _planned_before(stage: Stage) -> None:
    stage.write(*lock_denials(NAME)[:3])
    made = stage.plan()
    assert len(made.steps) == 3
    stage.lock()
    with pytest.raises(PlanRefusedError) as refused:
        apply_plan(made, stage.path, stage.cluster, stage.connection)
    assert [(one.guard, one.object) for one in refused.value.refusals] == [(Guard.UNLOCK, NAME)]


def _adopted(stage: Stage) -> None:
    stage.lock()
    found = adopt(stage.path, stage.cluster, lambda found: found)
    assert not found.edit.files
    assert len(found.refused) == len(lock_denials(NAME))


def _exported(stage: Stage) -> None:
    stage.lock()
    assert "deny" not in "".join(export(stage.path, stage.cluster).manifests().files.values())


def _declared(stage: Stage) -> None:
    """The same DENYs in a manifest, and then not."""
    stage.lock()
    stage.declare(ACLS + DENIES)
    assert stage.apply(DELETES).succeeded
    stage.declare(ACLS)
    assert stage.plan().steps == ()
    assert stage.apply(DELETES).succeeded


def _declared_nothing(stage: Stage) -> None:
    stage.lock()
    stage.declare("")
    assert {step.change for step in stage.plan().steps} <= {Delete(STAYS)}


@pytest.mark.parametrize(
    "deed",
    [_applied, _undone, _cleaned, _planned_before, _adopted, _exported, _declared, _declared_nothing],
    ids=lambda deed: deed.__name__,
)
def test_nothing_but_an_unlock_ends_it(stage: Stage, deed: Callable[[Stage], None]) -> None:
    """With deletions allowed, and whatever the manifests say of the same DENYs."""
    deed(stage)
    lock = stage.locked()
    assert lock is not None
    assert lock.whole
    assert not may_anything(stage.live())


_MARKED = """\
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: marked}
spec: {principal: "User:__kr.nobody", rules: [{allow: DESCRIBE, topics: ["__kr.lock.NAME"], expires: 2020-01-01}]}
"""
#: What a pull request may write to have a lock end with its merge, with what a pipeline would let it delete.
ATTEMPTS = {
    "nothing is declared": "",
    "the same DENYs, and then not": ACLS,
    "the same DENYs, expired": ACLS + DENIES.replace("users: {any: true}}", "users: {any: true}, expires: 2020-01-01}"),
    "an ALLOW of everything": ACLS + DENIES.replace("deny: ALL", "allow: ALL"),
    "the mark itself, expired": ACLS + _MARKED,
    "a super user": ("superUsers: [User:svc]", ACLS),
    "unlock in its own file of facts": ("locksEnd: true\n  unlock: {approvals: 0}\n  locked: []", ACLS),
    "a project file that accepts it": ("accept: [unlock=User:svc]", ACLS),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_no_pull_request_lifts_a_lock(
    stage: Stage, attempt: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Merged, planned and applied as the pipeline's scripts do, with deletions allowed: denied as before."""
    monkeypatch.setenv("CI", "true")
    if attempt == "the same DENYs, and then not":
        stage.declare(ACLS + DENIES)
        stage.lock()
        assert stage.apply(DELETES).succeeded
    stage.lock()
    written = ATTEMPTS[attempt]
    facts, acls = written if isinstance(written, tuple) else ("", written)
    monkeypatch.chdir(stage.root)
    if facts.startswith("accept"):
        Path("reconciler.yaml").write_text(f"{facts}\n", encoding="utf-8")
        facts = ""
    stage.declare(acls, CLUSTER.replace("---\n", f"  {facts}\n---\n" if facts else "---\n"))
    where = ["--cluster", stage.cluster, "--connections", str(stage.connections)]
    allowed = ["--allow-deletes", "--accept", f"unlock={NAME}"]
    planned = run(["plan", stage.path, *where, *allowed, "--out", "plan.json"])
    if Path("plan.json").exists():
        assert f"{NAME} is locked" in capsys.readouterr().out
        made = json.loads(Path("plan.json").read_text(encoding="utf-8"))["planId"]
        run(["apply", "plan.json", stage.path, *where, "--require-id", made])
    else:
        assert planned not in (Exit.OK, Exit.DIFFERENT)
    lock = stage.locked()
    assert lock is not None
    assert lock.whole
    assert not may_anything(stage.live())


def test_an_unrelated_merge_through_the_scripts_leaves_a_lock_and_says_so(tmp_path: Path) -> None:
    """plan.sh and apply.sh of the action, deletions allowed: the comment and the result name who is locked."""
    scene = Scene(tmp_path)
    scene.base = scene.push({"svc.yaml": ACLS})
    mark = LockMark(NAME, NOW, None, "anna", "INC-7", "key leaked")
    there = frozenset({STAYS, *lock_denials(NAME), mark.binding})
    live = scene.directory / "live.json"
    live.write_text(snapshot_text(ClusterState("prod", there), BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    scene.push({"other.yaml": ACLS.replace("User:svc", "User:other").replace("name: a", "name: b")})
    output = tmp_path / "output"
    given = {"OPTIONS": "--allow-deletes", "GITHUB_OUTPUT": str(output), "BEFORE_APPLY": "true"}
    done = scene.run("plan", **given)
    assert done.returncode in (0, 2), done.stderr
    assert "is locked, denied everything" in scene.comment
    assert "key leaked" in scene.comment
    (made,) = [line for line in output.read_text().splitlines() if line.startswith("plan-id=")]
    done = scene.run("apply", PLAN_ID=made.removeprefix("plan-id="), **given)
    assert done.returncode == 0, done.stderr
    assert "is locked, denied everything" in (scene.out / "result.json").read_text(encoding="utf-8")
    after = SnapshotCluster(live).read(ReadRequest(all_topics=False)).bindings
    assert after >= there | {OTHER}
    assert not may_anything(after)


def test_an_unlock_gives_back_what_other_acls_permit_and_is_a_plan_that_says_so(stage: Stage) -> None:
    stage.lock()
    made = plan_unlock(stage.path, stage.cluster, WHY, stage.connection).plan
    assert {step.change for step in made.steps} == {Delete(one) for one in lock_denials(NAME)}
    assert made.gives_access
    gains = [row.owners for row in made.access.access_changes if row.principal == NAME and row.gained]
    assert set(gains) == {None}, "nothing says whose data it is"
    stage.declare(ACLS + OWNERS)
    owned = plan_unlock(stage.path, stage.cluster, WHY, stage.connection).plan.access.access_changes
    assert {row.owners for row in owned if row.gained} == {DataOwners(("orders",))}
    stage.unlock()
    assert stage.locked() is None
    assert {one for one in stage.live() if one.entry.principal == NAME} == {STAYS}
    assert NAME in unlocked_at(stage.live()), "so that a server does not lock it again"
    said = [json.loads(line) for line in stage.audit.read_text(encoding="utf-8").splitlines()]
    assert [one["action"] for one in said if one["record"] == "lock"] == ["lock", "unlock"]
    with pytest.raises(RequestError, match="is not locked here; its lock was ended at"):
        unlock(stage.path, stage.cluster, WHY, stage.connection)


def test_manifests_that_are_not_sound_hold_up_no_lock(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the operator's file knows the cluster; an unlock, which gives access, waits until they are."""
    known = OPERATOR.replace("spec:\n", "spec:\n  bootstrapServers: [b.invalid:9092]\n")
    stage.rule(known)
    stage.declare(ACLS.replace("READ", "REED"))

    @contextmanager
    def live(name: str, *_: object, **__: object) -> Iterator[Target]:
        facts = read_connections(str(stage.connections))[name].facts
        yield Target(name, SnapshotCluster(stage.snapshot), None, operator=facts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reconciler.app.session.live", live)
        at = [NAME, "-f", stage.path, "-c", "prod", "--connections", str(stage.connections), "--reason", "x", "--yes"]
        assert run(["lock", *at]) == 0
        assert "without the manifests, which are not sound" in capsys.readouterr().err
        assert not may_anything(stage.live())
        assert run(["locks", *at[1:7]]) == 0
        assert run(["unlock", *at]) != 0
        stage.rule(OPERATOR.replace("name: prod", "name: other"))
        assert run(["lock", *at]) == Exit.ERROR, "nobody else says what the cluster is"


def test_it_can_be_locked_again_and_two_operators_hold_one_lock(stage: Stage) -> None:
    stage.lock()
    stage.write(LockMark(NAME, NOW - datetime.timedelta(hours=1), None, "bob", "INC-8", "me too").binding)
    lock = stage.locked()
    assert lock is not None
    assert [mark.operator for mark in lock.marks] == ["bob", "anna"]
    stage.unlock()
    assert stage.locked() is None
    stage.lock()
    assert not may_anything(stage.live())


def test_a_lock_in_part_is_named_completed_by_lock_and_ended_by_unlock(stage: Stage) -> None:
    stage.lock()
    gone = lock_denials(NAME)[0]
    stage.delete(gone)
    (left,) = stage.drift().skipped
    assert (left.reason, left.subject) == (SkipReason.LEFTOVER, f"lock of {NAME}")
    assert "missing on TOPIC" in left.detail
    assert not list_locks(stage.path, stage.cluster).whole
    stage.lock()
    assert list_locks(stage.path, stage.cluster).whole
    stage.delete(*lock_denials(NAME))
    stage.unlock()
    assert stage.locked() is None, "an unlock that was cut off leaves marks, which the next one removes"


def test_who_deletes_the_mark_does_not_have_the_next_merge_unlock(stage: Stage) -> None:
    stage.lock()
    lock = stage.locked()
    assert lock is not None
    stage.delete(*(mark.binding for mark in lock.marks))
    made = stage.plan()
    assert [(one.guard, one.object) for one in made.refusals] == [(Guard.UNLOCK, NAME)]
    assert made.steps == ()
    assert len(stage.drift().steps) == len(lock_denials(NAME)), "without a mark they are drift"
    stage.apply(DELETES)
    assert not may_anything(stage.live())
    accepted = PlanOptions(allow_deletes=True, accept=(AcceptedGuard(Guard.UNLOCK, NAME, "meant"),))
    assert stage.apply(accepted).succeeded
    assert may_anything(stage.live())


def test_no_manifest_accepts_it(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    word = "  exceptions: [{check: unlock, object: User:svc, reason: please}]\n---\n"
    stage.declare(ACLS, CLUSTER.replace("---\n", word))
    assert run(["validate", stage.path]) == Exit.ERROR
    assert "there is no safety check 'unlock'" in capsys.readouterr().err


def test_a_new_allow_is_planned_and_called_without_effect(stage: Stage) -> None:
    stage.lock()
    stage.declare(ACLS.replace("READ", "[READ, WRITE]"))
    made = stage.plan()
    assert len(made.steps) == 1
    assert made.gives_access, "it counts as new access"
    (found,) = (one for one in made.access.callouts if one.rule == "locked")
    words = "without effect until unlock; then it gains WRITE on topic `team.orders`; IDEMPOTENT_WRITE on the cluster"
    assert found.text == f"{NAME} is locked: {words}"
    assert stage.apply().succeeded
    assert not may_anything(stage.live())


def test_break_glass_access_is_refused(stage: Stage) -> None:
    stage.lock()
    asked = AskedAccess(NAME, (OTHER.entry.operation,), OTHER.pattern)
    terms = GrantTerms(LATER, "outage")
    with pytest.raises(RequestError, match="User:svc is locked"):
        break_glass(stage.path, stage.cluster, asked, terms, stage.connection)


def found_marks(stage: Stage) -> tuple[LockMark, ...]:
    lock = stage.locked()
    return () if lock is None else lock.marks


REFUSED = [
    ("User:*", "", "a lock is of one principal, and User:* is everybody"),
    ("svc", "", "is not a principal"),
    ("user:svc", "", "Kafka compares the case"),
    ("User:admin", "superUsers: [User:admin]", "is a super user: no ACL has an effect on it"),
    ("User:me", "principal: User:me", "is our own login"),
    ("User:broker", "interBrokerPrincipals: [User:broker]", "the brokers connect to each other as User:broker"),
    ("User:probe", "barrier: {principal: User:probe}", "the propagation check asks brokers as User:probe"),
    ("User:12345", "flavor: confluent-cloud", "is a second name of an account of Confluent Cloud"),
]


@pytest.mark.parametrize(("name", "fact", "words"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_what_a_lock_is_not_for_has_its_own_sentence(stage: Stage, name: str, fact: str, words: str) -> None:
    stage.declare(ACLS, CLUSTER.replace("---\n", f"  {fact}\n---\n"))
    if "confluent" in fact:
        stage.snapshot.write_text(snapshot_text(ClusterState("lkc-1abcd", frozenset({STAYS}), {})), encoding="utf-8")
    before = stage.live()
    with (
        pytest.raises(RequestError) as refused,
        lockable(stage.path, stage.cluster, replace(WHY, principal=name), stage.connection) as found,
    ):
        found.lock()
    assert words in f"{refused.value.message} {refused.value.advice}"
    assert stage.live() == before


@pytest.mark.parametrize(
    "more",
    [{"reason": "x\u202ey"}, {"ticket": "a\x1b[31m"}, {"until": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)}],
    ids=lambda one: next(iter(one)),
)
def test_a_mark_that_nobody_could_read_or_that_is_over_is_not_written(stage: Stage, more: dict[str, Any]) -> None:
    with pytest.raises(RequestError), lockable(stage.path, stage.cluster, replace(WHY, **more), stage.connection):
        pass
    assert stage.live() == {STAYS}


@pytest.mark.parametrize(("state", "words"), [("true", "is on"), ("unknown", "is not known to be off")])
def test_under_default_allow_it_would_shut_out_everybody(stage: Stage, state: str, words: str) -> None:
    """An ACL on every name leaves no name without one, and those were open to everybody."""
    stage.rule(OPERATOR.replace("false", state))
    with pytest.raises(RequestError, match=words), lockable(stage.path, stage.cluster, WHY, stage.connection):
        pass
    accept = (AcceptedGuard(Guard.CLOSED_BY_DEFAULT, NAME, "meant"),)
    stage.lock(replace(WHY, accept=accept))
    assert not may_anything(stage.live())


def test_a_host_is_refused(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["lock", NAME, "-f", stage.path, "-c", stage.cluster, "--reason", "x", "--yes", "--host", "10.0.0.0/8"]
    assert run(words) == Exit.USAGE
    assert "a lock counts from every host" in capsys.readouterr().err


def test_the_commands(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["-f", stage.path, "-c", stage.cluster, "--connections", str(stage.connections)]
    assert run(["locks", *at]) == 0
    assert "No principal is locked on prod." in capsys.readouterr().out
    assert run(["lock", NAME, *at, "--reason", "key leaked", "--ticket", "INC-7", "--yes"]) == 0
    said = capsys.readouterr().out
    assert "User:svc is locked on prod" in said
    assert "Only this ends it: reconciler unlock User:svc" in said
    assert run(["locks", *at, "-o", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["locks"]
    assert (found["principal"], found["whole"], found["ticket"]) == (NAME, True, "INC-7")
    assert run(["plan", *at, "--allow-deletes"]) == 0
    assert "User:svc is locked" in capsys.readouterr().out
    for question in (["can-i", NAME, "READ", "topic/team.orders"], ["access", NAME]):
        capsys.readouterr()
        assert run([*question, *at]) == (Exit.FAILED_CHECK if question[0] == "can-i" else 0)
        said = capsys.readouterr().out
        assert "locked since" in said
        assert "INC-7: `key leaked`: only “reconciler unlock” ends it" in said
    assert run(["unlock", NAME, *at, "--reason", "rotated", "--yes"]) == 0
    assert run(["locks", *at]) == 0


def test_a_mark_is_read_only_as_it_is_written() -> None:
    hostile = LockMark("User:a.b/ü*", NOW, NOW + datetime.timedelta(hours=1), "o.p", "", "x." * 9)
    assert read_lock_mark(hostile.binding) == hostile
    name = hostile.binding.pattern.name
    for other in (name.lower(), name.replace("%2E", "."), name + ".x", name.replace("lock", "lo%63k")):
        pattern = hostile.binding.pattern._replace(name=other)
        assert other == name or read_lock_mark(AclBinding(pattern, hostile.binding.entry)) is None
    assert read_lock_mark(AclBinding(hostile.binding.pattern, OTHER.entry)) is None
