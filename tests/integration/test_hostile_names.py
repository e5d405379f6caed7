"""Hostile names stay harmless in whatever any command prints or writes: text, JSON, plans, journals, audit, errors."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.apply.audit import LogIdentity
from reconciler.apply.environment import Identity, Outcome
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.cli.main import run
from reconciler.cli.terminal import ProgressLines
from reconciler.model.characters import plain
from reconciler.ports import Answer, AnswerStatus
from reconciler.show.result import result_document, result_lines
from reconciler.snapshot.file import MemoryCluster
from reconciler.system.journal import AuditLog, RecordFile
from tests.contract.faults import Fault, FaultyCluster
from tests.faults.scenario import before, plan_for, wish
from tests.integration.hostile import HOSTILE, assert_harmless, write_snapshot
from tests.property.clock import StillClock

MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec:
  allowEveryoneIfNoAclFound: false
  deleteLimits: {maxDeletePercent: 100}
  barrier: {wait: 0s}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: t}
spec:
  principal: User:svc
  rules: [{allow: WRITE, topics: [orders]}, {allow: READ, topics: {prefix: p}}]
"""
CLAIMS = """\
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: g}
spec:
  tests:
    - {name: x, principals: ["User:*"], mustNot: [READ], topics: {prefix: p}}
    - {name: y, onlyReaders: [User:svc], topics: [orders]}
"""
LIVE = ("--cluster", "snapshot:live.json")
ACCEPT = [word for text in HOSTILE for word in ("--accept", f"topic-delete=t{text}")]
#: Every command that speaks of what a cluster holds; ``PLAN`` is a saved plan, made before.
QUESTIONS = [
    ["plan", "m", *LIVE],
    ["plan", "m", *LIVE, "--allow-deletes", "--expand"],
    ["show", "PLAN", "--expand"],
    ["drift", "m", *LIVE],
    ["test", "claims", *LIVE],
    ["lint", "m", *LIVE],
    ["lint", "m", *LIVE, "--simplify"],
    ["access", "--path", "m", *LIVE],
    ["access", "--path", "m", *LIVE, "--plan", "PLAN"],
    ["can-i", "User:svc", "READ", "topic/orders", "--path", "m", *LIVE],
    ["who-can", "READ", "topic/orders", "--path", "m", *LIVE],
    ["who-can", "READ", "topic/pt", "--path", "m", *LIVE, "--plan", "PLAN"],
    ["explain", "User:svc", "READ", "topic/orders", "--path", "m", *LIVE],
]
MISTAKES = [
    ["apply", f"nope{HOSTILE[0]}", "m", "--yes"],
    ["validate", f"m{HOSTILE[0]}"],
    ["plan", "m", "--cluster", f"no{HOSTILE[3]}"],
    ["plan", "m", "--cluster", f"snapshot:{HOSTILE[0]}"],
    [f"frob{HOSTILE[0]}"],
    ["plan", "m", *LIVE, "--only", f"x{HOSTILE[0]}"],
    ["plan", "m", *LIVE, "--accept", f"a{HOSTILE[3]}=b"],
    ["can-i", f"u{HOSTILE[3]}", "READ", "topic/x", "--path", "m", *LIVE],
    ["access", f"User:u{HOSTILE[0]}", f"User:u{HOSTILE[3]}", "--path", "m", *LIVE],
    ["explain", f"User:u{HOSTILE[0]}", "READ", "topic/orders", "--path", "m", *LIVE],
    ["who-can", "READ", f"topic/p{HOSTILE[3]}", "--path", "m", *LIVE],
    ["plan", "m", *LIVE, "--connections", f"{HOSTILE[3]}"],
]


@pytest.fixture(scope="module")
def planned_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("hostile")
    (directory / "m").mkdir()
    (directory / "claims").mkdir()
    (directory / "m" / "all.yaml").write_text(MANIFESTS)
    (directory / "claims" / "all.yaml").write_text(MANIFESTS + CLAIMS)
    write_snapshot(directory / "live.json")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(directory)
        assert run(["plan", "m", *LIVE, "--allow-deletes", *ACCEPT, "--out", "plan.json"]) == 0
    return directory


@pytest.fixture
def place(planned_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the directory with the manifests, the cluster and the plan, where the commands run."""
    monkeypatch.chdir(shutil.copytree(planned_once, tmp_path, dirs_exist_ok=True))
    return tmp_path


def _line(words: list[str]) -> list[str]:
    return ["plan.json" if word == "PLAN" else word for word in words]


def _name(words: list[str]) -> str:
    return " ".join(ascii(word) for word in words)


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize("words", QUESTIONS, ids=_name)
def test_what_a_command_says(place: Path, capsys: pytest.CaptureFixture[str], words: list[str], output: str) -> None:
    capsys.readouterr()
    assert run([*_line(words), "--output", output]) in (0, 2, 3)
    shown = capsys.readouterr()
    assert shown.out
    assert_harmless(shown.out, "stdout")
    assert_harmless(shown.err, "stderr")
    if output == "json":
        json.loads(shown.out)


@pytest.mark.parametrize("words", MISTAKES, ids=_name)
def test_what_is_said_of_a_mistake(place: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    capsys.readouterr()
    assert run(words) in (1, 64)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert_harmless(shown.err, "stderr")


def test_what_an_apply_and_its_records_say(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = ["--journal", "journal", "--audit", "audit", "--operator", f"dana{HOSTILE[0]}{HOSTILE[3]}"]
    assert run(["cleanup", "m", *LIVE, "--yes", "--run", HOSTILE[0]]) == 0
    capsys.readouterr()
    assert run(["apply", "m", *LIVE, "--yes", "--allow-deletes", *ACCEPT, *records, "--lease"]) == 0
    assert run(["cleanup", "m", *LIVE, "--yes"]) == 0
    shown = capsys.readouterr()
    for text, where in ((shown.out, "stdout"), (shown.err, "stderr")):
        assert_harmless(text, where)
    for file in ("journal", "audit", "plan.json"):
        assert_harmless((place / file).read_bytes().decode(), file)
    assert json.loads((place / "audit").read_text().splitlines()[0])["operator"] == records[-1], "escaped, not lost"


def test_what_an_export_writes(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "m", *LIVE, "--out", "out"]) == 0
    assert run(["export", "m", *LIVE, "--snapshot", "copy.json"]) == 0
    shown = capsys.readouterr()
    assert_harmless(shown.out + shown.err, "output")
    written = [*(path for path in (place / "out").rglob("*") if path.is_file()), place / "copy.json"]
    assert len(written) > 3
    for file in written:
        assert_harmless(file.read_bytes().decode(), str(file))
        assert_harmless(str(file.relative_to(place)), "a file's name")


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_what_a_broker_says(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    live = before(2)
    plan = plan_for(live, wish(2))
    first = plan.steps[0].change
    refusal = Answer(AnswerStatus.FAILED, f"CODE{text}", f"message{text}")
    cluster = FaultyCluster(MemoryCluster(live), [Fault("CreateAcl", first.after, refusal)])
    with (
        RecordFile(str(tmp_path / "journal")) as journal,
        AuditLog(LogIdentity("1", "host", str(tmp_path / "audit"))) as audit,
    ):
        world = ApplyEnvironment(
            cluster, StillClock(), ProgressLines(), identity=Identity("run", f"me{text}"), journal=journal, audit=audit
        )
        result = perform(plan, live, check(plan, live, plan.terms), world)
    world.progress.note(f"note{text}")
    assert result.outcomes[0].outcome is Outcome.FAILED
    assert_harmless("\n".join(result_lines(result, plain)), "text")
    assert_harmless(capsys.readouterr().err, "progress")
    for file in ("journal", "audit"):
        assert_harmless((tmp_path / file).read_bytes().decode(), file)
    assert json.dumps(result_document(result))


def test_on_a_terminal_only_our_own_colours_steer(place: Path) -> None:
    """Lines are coloured there: nothing of a name may add to that."""
    accepted = [word for word in ACCEPT if "\x00" not in word and word != "--accept"]
    arguments = ["plan", "m", *LIVE, "--allow-deletes", "--expand", *(f"--accept={word}" for word in accepted)]
    ours, theirs = pty.openpty()
    program = "from reconciler.cli.main import main; main()"
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        env={**environment, "TERM": "xterm", "COLUMNS": "200"},
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65_536):
            shown += part
    except OSError:
        pass  # Linux's way to say that the other end is closed
    finally:
        os.close(ours)
    assert process.wait(timeout=60) == 0
    text = shown.decode()
    assert "\x1b[2J" not in text
    assert "\x1b[31mt" not in text
    assert "\x1b]0;" not in text
    assert "\x9b" not in text
    assert "\u202e" not in text
    assert "[red]x[/red]" in text, "markup is shown, not obeyed"
