"""The two-person rule for a fleet: people sign ``fleet.json``, which names each cluster's plan by its digest."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.app.approvals import NAMESPACE
from reconciler.app.audit import list_audit
from reconciler.app.manifests import read_sources
from reconciler.app.options import ApprovalRule, ConnectionOptions
from reconciler.app.reasons import NotApprovedError, StaleError
from reconciler.app.records import RecordOptions
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.parts.fleet.app import apply as performing
from reconciler.parts.fleet.app.apply import ApplyTerms, ChildTask, FleetApply
from reconciler.parts.fleet.membership import FleetLimits
from reconciler.parts.fleet.proposal import FleetPlan, fleet_plan_text, parse_fleet_plan
from tests.security.test_approvals import Place
from tests.unit.workflow.killed_fleets import Here, InTurn, Life, World, play_processes
from tests.unit.workflow.test_fleet_killed import FLEET, WAVES, saved


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("fleet"), FLEET)


class Fleet:
    """A fleet's saved plans, and people with keys who may sign them."""

    def __init__(self, root: Path, people: Path) -> None:
        people.mkdir()
        self.root, self.plans, self.people = root, root / "plans", Place(people)
        self.people.plan = self.plans / "fleet.json"

    def sign(self, *names: str) -> None:
        for name in names:
            assert run(["fleet", "approve", str(self.plans), "--key", str(self.people.person(name))]) == Exit.OK
        self.people.signers.write_text("\n".join(self.people.lines) + "\n", encoding="utf-8")

    def rule(self, required: int, *not_author: str) -> ApprovalRule:
        return ApprovalRule(required, str(self.people.signers), not_author)

    def apply(self, *options: str) -> int:
        return run(["fleet", "apply", str(self.plans), str(self.root / "m"), *options])

    def alter(self, file: str, change: Callable[[dict[str, Any]], object]) -> None:
        document = json.loads((self.plans / file).read_text(encoding="utf-8"))
        change(document)
        (self.plans / file).write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


@pytest.fixture
def fleet(made: Path, tmp_path: Path) -> Fleet:
    return Fleet(Path(shutil.copytree(made, tmp_path / "fleet")), tmp_path / "people")


def test_too_few_signatures_send_nothing(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    """Two are asked for, and the second is the author's own: named, with status 5."""
    fleet.sign("alice", "bob")
    capsys.readouterr()
    signers = ("--allowed-signers", str(fleet.people.signers))
    status = fleet.apply("--require-approvals", "2", *signers, "--not-author", "bob@example.com", "--yes")
    assert status == Exit.REFUSED
    said = capsys.readouterr().err
    assert "bob@example.com" in said
    assert "is an author of the change" in said
    assert not (fleet.plans / "record.jsonl").exists()


@pytest.mark.parametrize("command", ["approve", "show", "apply"])
def test_a_fleets_plan_is_told_from_one_of_a_cluster(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Whoever signs it by the command for one cluster is told the one that does."""
    key = ("--key", str(fleet.people.person("alice")))
    more = {"approve": key, "apply": (str(fleet.root / "m"), "--yes")}.get(command, ())
    assert run([command, str(fleet.plans / "fleet.json"), *more]) == Exit.STALE
    said = capsys.readouterr().err
    assert "is the plan of a fleet" in said
    assert "`reconciler fleet approve DIR`" in said
    assert not list(fleet.plans.glob("*.sig"))


def test_signers_without_a_number_are_a_mistake(fleet: Fleet) -> None:
    fleet.sign("alice")
    assert fleet.apply("--allowed-signers", str(fleet.people.signers), "--yes") == Exit.USAGE


def test_who_signed_stands_in_the_audit_log_of_each_cluster(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And their signatures beside it, by which anybody proves it later."""
    world = World()
    world.begin(Life(fleet.root))
    play_processes(world, monkeypatch)
    monkeypatch.setattr(performing, "ThreadPoolExecutor", Here)
    fleet.sign("alice", "bob")
    found = FleetApply.saved(fleet.plans)
    approved = found.check_signed(fleet.rule(2))
    audit = str(tmp_path / "audit.jsonl")
    terms = ApplyTerms(ConnectionOptions(), records=RecordOptions(audit=audit), lease=False, approved=approved)
    list(found.perform(InTurn(1), read_sources(str(fleet.root / "m")), terms))
    assert found.finished
    rows, wrong = list_audit([audit])
    assert not wrong
    # In the order of their files, which are named by keys.
    people = ["alice@example.com", "bob@example.com"]
    assert {(row.cluster, *sorted(row.approved_by)) for row in rows} == {(name, *people) for name in WAVES}
    assert run(["audit", "verify", audit]) == Exit.OK
    assert len(list(Path(f"{audit}.signatures").iterdir())) == 2


def test_a_task_is_told_the_approvals_as_they_were_verified(fleet: Fleet) -> None:
    fleet.sign("alice")
    evidence = FleetApply.saved(fleet.plans).check_signed(fleet.rule(1))
    assert evidence is not None
    assert evidence.texts
    task = ChildTask("a.json", "m", "a.result", "plan-1", RecordOptions(), ConnectionOptions(), approved=evidence)
    told = ChildTask.parse(task.text())
    assert told == task
    assert told.approved is not None
    assert told.approved.texts == evidence.texts
    without = replace(task, approved=None)
    assert ChildTask.parse(without.text()) == without


@pytest.mark.parametrize(
    ("file", "change", "error"),
    [
        pytest.param("fleet.json", lambda it: it["waves"][0].update(max_failures=9), StaleError, id="a gate"),
        pytest.param("fleet.json", lambda it: it["waves"][0]["members"][0].update(steps=1), StaleError, id="steps"),
        pytest.param("fleet.json", lambda it: it.update(failures=[]), NotApprovedError, id="white space alone"),
        pytest.param("fleet.json", lambda it: it.update(as_of="2020-01-01"), NotApprovedError, id="its day"),
        pytest.param("plans/a.json", lambda it: it.update(createdAt="2099-01-01T00:00:00Z"), StaleError, id="a time"),
        pytest.param("plans/a.json", lambda it: it.update(sourceCommit="0123abc"), StaleError, id="a commit"),
    ],
)
def test_what_is_changed_after_it_was_signed_is_not_applied(
    fleet: Fleet, file: str, change: Callable[[dict[str, Any]], object], error: type[Exception]
) -> None:
    """The attacker can write the directory: what no id binds is bound by the signatures, down to the last byte."""
    fleet.sign("alice")
    before = (fleet.plans / file).read_bytes()
    fleet.alter(file, change)
    if (fleet.plans / file).read_bytes() == before:
        with (fleet.plans / file).open("a", encoding="utf-8") as opened:
            opened.write("\n")
    with pytest.raises(error):
        FleetApply.saved(fleet.plans).check_signed(fleet.rule(1))


#: What a holder of the directory makes of the waves: all at once, or one after the other sooner than declared.
_SOONER: dict[str, Callable[[FleetPlan], FleetPlan]] = {
    "one wave": lambda plan: replace(plan, waves=(replace(plan.waves[0], members=plan.members),)),
    "another order": lambda plan: replace(plan, waves=plan.waves[::-1]),
    "a member in another wave": lambda plan: replace(
        plan,
        waves=(
            replace(plan.waves[0], members=plan.members[: len(plan.waves[0].members) + 1]),
            replace(plan.waves[1], members=plan.waves[1].members[1:]),
            *plan.waves[2:],
        ),
    ),
    "no soak": lambda plan: replace(plan, waves=tuple(replace(wave, soak=0.0) for wave in plan.waves)),
    "more failures": lambda plan: replace(plan, waves=tuple(replace(wave, max_failures=9) for wave in plan.waves)),
}


@pytest.mark.parametrize("what", [*_SOONER, "limits"])
def test_waves_gates_and_limits_are_those_of_the_manifests(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    """The attacker writes another fleet.json over the same plans, for a pipeline that only says yes."""
    text = (fleet.plans / "fleet.json").read_text(encoding="utf-8")
    plan = replace(parse_fleet_plan(text), limits=FleetLimits())
    altered = _SOONER[what](plan) if what in _SOONER else plan
    (fleet.plans / "fleet.json").write_text(fleet_plan_text(altered), encoding="utf-8")
    file = fleet.root / "m" / "all.yaml"
    first = "{name: first, clusters: {matchLabels: {wave: first}}"
    document = file.read_text(encoding="utf-8").replace(
        first, f"{first}, gate: {{soak: 1h}}" * (what == "no soak") or first
    )
    if what == "limits":
        document = document.replace("  waves:", "  limits: {maxChangedClustersPercent: 1}\n  waves:")
    file.write_text(document, encoding="utf-8")
    assert fleet.apply("--yes") == (Exit.REFUSED if what == "limits" else Exit.STALE)
    assert "nothing was sent" in capsys.readouterr().err
    assert not (fleet.plans / "record.jsonl").read_bytes()


def test_a_signature_of_one_cluster_s_plan_is_none_of_the_fleet_s(fleet: Fleet) -> None:
    """The attacker takes what somebody signed for one cluster."""
    fleet.sign("alice")
    for signature in fleet.plans.glob("*.sig"):
        signature.unlink()
    key = fleet.people.person("carol")
    assert run(["approve", str(fleet.plans / "plans" / "a.json"), "--key", str(key)]) == Exit.OK
    (signature,) = (fleet.plans / "plans").glob("*.sig")
    signature.rename(fleet.plans / "fleet.json.sig")
    fleet.people.signers.write_text("\n".join(fleet.people.lines) + "\n", encoding="utf-8")
    with pytest.raises(NotApprovedError) as refused:
        FleetApply.saved(fleet.plans).check_signed(fleet.rule(1))
    assert "not a signature over these bytes" in refused.value.others[0]


def test_approving_prints_what_was_signed(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    key = str(fleet.people.person("alice"))
    assert run(["fleet", "approve", str(fleet.plans), "--key", key, "-o", "json"]) == Exit.OK
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["namespace"]) == ("FleetApprove", NAMESPACE)
    assert document["fleetId"].startswith("fleet-")
    assert Path(document["file"]).is_file()
