"""Saved plans that a server performs once people have signed them."""

from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.app.apply import Unattended
from reconciler.app.options import ApprovalRule, ConnectionOptions, PlanOptions
from reconciler.app.plan import plan
from reconciler.app.records import RecordOptions, save_plan
from reconciler.parts.serve.narrowing import ApprovedPlans
from reconciler.parts.serve.rounds import DirectorySource, ServeOptions, run_round
from reconciler.plan.file import file_digest
from reconciler.show.rounds import ApprovedStatus, Round
from tests.security.test_approvals import Place as Signers
from tests.unit.workflow.serving import LIVE, OVER, STAYS, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


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


@pytest.mark.parametrize("known", ["journal", "audit"])
def test_the_same_bytes_are_performed_once_whatever_the_file_is_called(
    world: World, tmp_path: Path, known: str
) -> None:
    """By a journal in the directory, or by the audit log where the journal is lost or the directory is another one."""
    directory, signers, options = _approved(world, tmp_path)
    alice = signers.person("alice")
    signers.signers.write_text("\n".join(signers.lines) + "\n", encoding="utf-8")
    signers.approve(alice)
    records = RecordOptions(audit=str(tmp_path / "audit.jsonl") if known == "audit" else None)
    options = replace(options, apply=replace(options.apply, records=records))
    source = DirectorySource(str(world.manifests))
    performed = run_round(source, options, ConnectionOptions(), Unattended())
    assert [one.status for one in performed.approved] == [ApprovedStatus.PERFORMED]
    for file in list(directory.iterdir()):
        if file.name.startswith(signers.plan.name):
            if known == "audit" and file.name.endswith(".journal"):
                file.unlink()
            elif not file.name.endswith(".journal"):
                file.rename(file.with_name(file.name.replace(signers.plan.name, "0.json", 1)))
    world.live(LIVE - {STAYS, OVER})
    again = replace(options, approved=ApprovedPlans(*_fields(options)))
    assert run_round(source, again, ConnectionOptions(), Unattended()).approved == ()
    assert STAYS not in world.bindings()


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


def test_signatures_lift_no_guardrail(world: World, tmp_path: Path) -> None:
    """The plan was made where nothing held it: the server's base holds it all the same, also in a later round."""
    _, signers, options = _approved(world, tmp_path)
    signers.approve(signers.person("alice"))
    signers.signers.write_text("\n".join(signers.lines) + "\n", encoding="utf-8")
    base = tmp_path / "base"
    base.mkdir()
    test = f"{{name: t, principals: ['{STAYS.entry.principal}'], mustNot: READ, topics: [{STAYS.pattern.name}]}}"
    guard = f"apiVersion: reconciler/v1\nkind: AccessTests\nmetadata: {{name: g}}\nspec: {{tests: [{test}]}}\n"
    (base / "all.yaml").write_text(f"{world.manifests.joinpath('all.yaml').read_text()}---\n{guard}", encoding="utf-8")
    held = replace(options, guardrails=str(base))
    for _ in range(2):
        found = run_round(DirectorySource(str(world.manifests)), held, ConnectionOptions(), Unattended())
        assert [one.status for one in found.approved] == [ApprovedStatus.FAILED]
        assert STAYS not in world.bindings()
    free = run_round(DirectorySource(str(world.manifests)), options, ConnectionOptions(), Unattended())
    assert [one.status for one in free.approved] == [ApprovedStatus.PERFORMED]
