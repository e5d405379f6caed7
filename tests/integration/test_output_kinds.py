"""The law of ``kind``: every JSON document that a command prints has one known kind, its own."""

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Final

import click
import pytest

import reconciler
from reconciler.cli.main import program, run
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Layout, Topic
from reconciler.results import KIND, OutputKind
from reconciler.show.reading import ResultError, read_result
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from tests.unit.cli.test_undo import redirect
from tests.worlds import bindings

_PACKAGE: Final = Path(reconciler.__file__).parent
_ROOT: Final = _PACKAGE.parent

#: Kinds that their command alone does not name: the document has other fields than the command has without the option.
_MORE: Final = {
    OutputKind.ACCESS_MATRIX: "access",
    OutputKind.CONVERT_INTO: "convert",
    OutputKind.EXPORT_SNAPSHOT: "export",
    OutputKind.FAILED: "",
    OutputKind.LINT_EDIT: "lint",
    OutputKind.LINT_SIMPLIFY: "lint",
    OutputKind.REPORT: "report",
}
#: Kinds of commands that a snapshot cannot answer: they need brokers, Spark or Java. Their own tests look at the kind.
_ELSEWHERE: Final = {
    OutputKind.DEMO: "tests/integration/test_demo.py",
    OutputKind.DOCTOR: "tests/integration/test_main_job.py",
    OutputKind.FAILED: "tests/integration/ci/test_action_scripts.py",
    OutputKind.FLEET_APPLY: "tests/integration/fleet",
    OutputKind.FLEET_APPROVE: "tests/security/test_fleet_approvals.py",
    OutputKind.FLEET_DRIFT: "tests/integration/fleet",
    OutputKind.FLEET_LOCK: "tests/security/test_locks_kept.py",
    OutputKind.FLEET_PLAN: "tests/integration/fleet",
    OutputKind.FLEET_QUERY: "tests/integration/fleet",
    OutputKind.FLEET_SNAPSHOT: "tests/integration/fleet",
    OutputKind.FLEET_TIGHTEN: "tests/integration/fleet",
    OutputKind.FLEET_USAGE: "tests/integration/fleet",
    OutputKind.HISTORY: "tests/integration/test_history.py",
    OutputKind.SANDBOX_UP: "tests/integration/test_sandbox_lifecycle.py",
}
_LIVE: Final = ("m", "--cluster", "snapshot:live.json")
_AT: Final = ("--path", *_LIVE)
_LOGS: Final = ("--logs", "kafka.log")
_TEXT: Final = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {superUsers: ["User:admin"], allowEveryoneIfNoAclFound: false, barrier: {wait: 1ms}}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: pay}
spec:
  principal: User:pay
  rules:
    - {allow: [READ, WRITE], topics: [pay.orders]}
    - {allow: READ, groups: [pay]}
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: t}
spec: {topics: [{name: pay.orders, partitions: 1, replicationFactor: 1}]}
---
apiVersion: reconciler/v1
kind: Users
metadata: {name: u}
spec: {users: [{name: pay, mechanisms: {SCRAM-SHA-512: {password: "${env:PAY}", passwordVersion: 1}}}]}
"""
_ACLS: Final = """\
Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=a, patternType=LITERAL)`:
 \t(principal=User:b, host=*, operation=READ, permissionType=ALLOW)
"""
_LOG: Final = (
    "[2026-11-20 10:00:00,000] DEBUG Principal = User:pay is Allowed operation = Read from host = 10.0.0.1 "
    "on resource = Topic:LITERAL:pay.orders for request = Fetch with resourceRefCount = 1 based on rule DefaultAllow\n"
)
#: Kinds of which ``report`` makes a report, as far as they are printed here.
_REPORTED: Final = {
    OutputKind.DRIFT,
    OutputKind.LINT,
    OutputKind.PLAN,
    OutputKind.SHOW,
    OutputKind.TEST,
    OutputKind.TIGHTEN,
    OutputKind.UNDO,
    OutputKind.VALIDATE,
}
#: Command lines that run without a broker, without Spark and without Java; each has what the lines above it wrote.
_LINES: Final[dict[OutputKind, tuple[str, ...]]] = {
    OutputKind.VALIDATE: ("validate", "m"),
    OutputKind.PLAN: ("plan", *_LIVE, "--out", "plan.json"),
    OutputKind.SHOW: ("show", "plan.json"),
    OutputKind.APPROVE: ("approve", "plan.json", "--key", "key"),
    OutputKind.DRIFT: ("drift", *_LIVE),
    OutputKind.TEST: ("test", *_LIVE),
    OutputKind.POLICY_INIT: ("policy", "init", *_AT),
    OutputKind.LINT: ("lint", *_LIVE),
    OutputKind.LINT_EDIT: ("lint", "m", "--fix"),
    OutputKind.LINT_SIMPLIFY: ("lint", *_LIVE, "--simplify"),
    OutputKind.CAN_I: ("can-i", "User:pay", "READ", "topic/pay.orders", *_AT),
    OutputKind.WHO_CAN: ("who-can", "READ", "topic/pay.orders", *_AT),
    OutputKind.EXPLAIN: ("explain", "User:pay", "READ", "topic/pay.orders", *_AT),
    OutputKind.ACCESS: ("access", *_AT),
    OutputKind.ACCESS_MATRIX: ("access", "--matrix", *_AT),
    OutputKind.REACH: ("reach", "User:pay", *_AT),
    OutputKind.QUOTA: ("quota", "User:pay", *_AT),
    OutputKind.ADOPT: ("adopt", *_AT, "--all"),
    OutputKind.GRANT: ("grant", "User:pay", "READ", "topic/pay.more", "--path", "m"),
    OutputKind.REVOKE: ("revoke", "User:pay", "READ", "topic/pay.orders", "--path", "m"),
    OutputKind.RENAME: ("rename", "User:pay", "User:paid", "--path", "m"),
    OutputKind.USERS_DISABLE: ("users", "disable", "User:pay", "--path", "m"),
    OutputKind.USAGE: ("usage", *_AT, *_LOGS),
    OutputKind.TIGHTEN: ("tighten", *_AT, *_LOGS, "--policy", "any-age"),
    OutputKind.EXPORT: ("export", *_AT),
    OutputKind.EXPORT_SNAPSHOT: ("export", *_AT, "--snapshot", "copy.json"),
    OutputKind.CONVERT: ("convert", "--from", "kafka-acls", "acls.txt"),
    OutputKind.CONVERT_INTO: ("convert", "--from", "kafka-acls", "acls.txt", "--path", "m"),
    OutputKind.SANDBOX_STATUS: ("sandbox", "status"),
    OutputKind.SANDBOX_DOWN: ("sandbox", "down", "--all"),
    OutputKind.VERSION: ("version",),
    OutputKind.APPLY: ("apply", "plan.json", *_LIVE, "--yes", "--audit", "audit.jsonl"),
    OutputKind.AUDIT_VERIFY: ("audit", "verify", "audit.jsonl"),
    OutputKind.AUDIT_LIST: ("audit", "list", "--audit", "audit.jsonl"),
    OutputKind.REASSIGNMENTS_LIST: ("reassignments", "list", *_AT),
    OutputKind.REASSIGNMENTS_CANCEL: ("reassignments", "cancel", "--all", *_AT, "--yes"),
    OutputKind.REPORT: ("report", "plan.json", "-o", "json"),
    OutputKind.UNDO: ("undo", "plan.json", "m"),
    OutputKind.CLEANUP: ("cleanup", *_AT, "--yes"),
    OutputKind.CERTIFY_OPEN: ("certify", "open", *_AT, "--due", "2w", "--out", "q4"),
    OutputKind.CERTIFY_SIGN: ("certify", "sign", "q4/platform.yaml", "--key", "key"),
    OutputKind.CERTIFY_STATUS: ("certify", "status", "q4", "--allowed-signers", "signers"),
    OutputKind.CERTIFY_CLOSE: ("certify", "close", "q4", *_AT, "--allowed-signers", "signers", "--out", "q4.tar"),
    OutputKind.CERTIFY_VERIFY: ("certify", "verify", "q4.tar"),
    OutputKind.LOCK: ("lock", "User:old", *_AT, "--reason", "x", "--yes", "--accept", "closed-by-default=User:old"),
    OutputKind.LOCKS: ("locks", *_AT),
    OutputKind.UNLOCK: ("unlock", "User:old", *_AT, "--reason", "x", "--out", "unlock.json"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Manifests, a snapshot, a saved plan, logs, a listing of ACLs and a key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PAY", "the password of pay")
    monkeypatch.setattr(SnapshotCluster, "reassignments", lambda _: Layout({}))  # a snapshot does not say what moves
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "all.yaml").write_text(_TEXT, encoding="utf-8")
    live = bindings("TOPIC:L:pay.orders User:pay@* ALLOW READ", "TOPIC:L:pay.orders User:old@* ALLOW READ")
    quotas = Listing(frozenset({ClientQuota(QuotaEntity.of("pay"), {"producer_byte_rate": 7})}))
    topics = {"pay.orders": Topic("pay.orders", 1, 1)}
    state = ClusterState("id", frozenset(live), topics, listings={"quotas": quotas})
    (tmp_path / "live.json").write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    (tmp_path / "acls.txt").write_text(_ACLS, encoding="utf-8")
    (tmp_path / "kafka.log").write_text(_LOG, encoding="utf-8")
    ssh_keygen = which("ssh-keygen")
    assert ssh_keygen is not None
    subprocess.run([ssh_keygen, "-q", "-t", "ed25519", "-N", "", "-f", "key"], check=True)
    assert run(["plan", *_LIVE, "--out", "plan.json"]) == 0
    return tmp_path


@pytest.mark.parametrize("kind", _LINES)
def test_what_a_command_prints_has_its_kind(kind: OutputKind, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if kind in (OutputKind.AUDIT_LIST, OutputKind.AUDIT_VERIFY, OutputKind.UNDO):
        assert run(list(_LINES[OutputKind.APPLY])) == 0
    if kind is OutputKind.UNLOCK:
        assert run(list(_LINES[OutputKind.LOCK])) == 0
    if kind.startswith("Certify"):
        (place / "signers").write_text("")
        for before in (OutputKind.CERTIFY_OPEN, OutputKind.CERTIFY_CLOSE)[: 0 if kind == "CertifyOpen" else 2]:
            assert run(list(_LINES[before])) == 0
    if kind is OutputKind.UNDO:
        redirect(place / "plan.json", "c=snapshot:live.json")
    capsys.readouterr()
    form = () if "-o" in _LINES[kind] else ("--output", "json")
    status = run([*_LINES[kind], *form])
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert document[KIND] == kind, (status, shown.err)
    named = {OutputKind(found) for found in re.findall(r'(?m)^  "kind": "(\w+)"', shown.out)}
    assert named == {kind}
    if kind in _REPORTED:
        read_result(document)
    else:
        with pytest.raises(ResultError, match=f"its kind '{kind}' has no report"):
            read_result(document)


def test_a_saved_plan_has_no_kind_and_is_reported_all_the_same(place: Path) -> None:
    saved = json.loads((place / "plan.json").read_text(encoding="utf-8"))
    assert KIND not in saved
    assert read_result(saved).plans
    del saved["digest"]
    with pytest.raises(ResultError, match="has no field 'kind', and is no saved plan either"):
        read_result(saved)


def test_every_command_with_json_has_the_kind_of_its_name() -> None:
    # All questions to a fleet are answered alike: rows under columns.
    commands = {"fleet query" if name.startswith("fleet query ") else name for name in _commands()}
    # An edit like any other, and what was done on the cluster besides.
    commands = {name.removeprefix("break-glass ") for name in commands if name != "report"}
    named = {"".join(map(str.capitalize, re.split("[ -]", name))) for name in commands}
    assert named == {kind.value for kind in OutputKind if kind not in _MORE}
    assert {kind for kind in OutputKind if kind not in _LINES} == set(_ELSEWHERE)
    missing = [kind for kind, place in _ELSEWHERE.items() if not (_ROOT / place).exists()]
    assert missing == []


def test_every_kind_is_printed_by_one_module() -> None:
    """What a module prints is its own: it names the kind where it prints."""
    places = {kind: set[str]() for kind in OutputKind}
    for file in _PACKAGE.rglob("*.py"):
        if {"cli", "convert", "local"} & {file.stem, *file.parts}:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(func=ast.Name(id="out_json" | "keep" | "print_plan")):
                        for given in (*node.args[:1], *(word.value for word in node.keywords if word.arg == "kind")):
                            match given:
                                case ast.Attribute(value=ast.Name(id="OutputKind"), attr=name):
                                    places[OutputKind[name]].add(str(file.relative_to(_PACKAGE)))
    elsewhere = {OutputKind.FAILED, OutputKind.REPORT}
    assert {kind for kind, files in places.items() if len(files) != 1} == elsewhere


def _commands() -> Iterator[str]:
    """The commands that have ``--output``."""

    def walk(command: click.Command, names: tuple[str, ...], context: click.Context) -> Iterator[str]:
        if not isinstance(command, click.Group):
            if any("--output" in option.opts for option in command.params):
                yield " ".join(names)
            return
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from walk(below, (*names, name), click.Context(below, context, name))

    yield from walk(program, (), click.Context(program))
