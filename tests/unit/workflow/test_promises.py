"""Every command that writes manifests says what it promises of access, and no edit is made past that."""

import ast
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import click
import pytest

import reconciler
from reconciler.app.options import StateRequest
from reconciler.cli.main import program, run
from reconciler.model.acl import AclOperation, PatternType, ResourcePattern, ResourceType
from reconciler.parts.edit.app.editing import EditRefusedError
from reconciler.parts.edit.app.grant import AskedAccess, rename, revoke
from reconciler.parts.edit.app.simplify import fix_lint, fix_simplify

DAY = date(2026, 11, 23)
#: The promise of each command that has --write, by its name in ``reconciler.parts.edit.app.editing``.
PROMISES = {
    "adopt": "AS_SHOWN",
    "break-glass grant": "gain_of",
    "break-glass revoke": "loss_of",
    "certify close": "gain_of",
    "convert": "gain_of",
    "fleet tighten": "NO_GAIN",
    "grant": "gain_of",
    "lint": "SAME_ACCESS",
    "rename": "change_of",
    "revoke": "loss_of",
    "tighten": "NO_GAIN",
    "users disable": "SAME_ACCESS",
    "users generate": "SAME_ACCESS",
}
WORKFLOW = Path(reconciler.__file__).parent / "parts" / "edit" / "app"
CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec: {bootstrapServers: ["b:9092"], allowEveryoneIfNoAclFound: %s}
"""
OWNED = """\
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: t}
spec:
  topics:
    - {name: pay, partitions: 3, owner: 'User:a'}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules:
    - {topics: [pay], deny: [READ, WRITE, DESCRIBE]}
"""
LATER = """\
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules:
    - {topics: [pay], allow: READ}
    - {topics: [pay], deny: [READ, DESCRIBE], expires: 2027-01-31}
"""


def test_every_command_that_writes_manifests_makes_a_promise() -> None:
    writing = set(commands_that_write(program, click.Context(program)))
    assert writing == PROMISES.keys()
    used = {part.id for _, tree in workflow() for part in ast.walk(tree) if isinstance(part, ast.Name)}
    assert set(PROMISES.values()) <= used


def commands_that_write(group: click.Group, context: click.Context, before: str = "") -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands_that_write(command, context, f"{before}{name} ")
        elif command is not None and {"write", "branch"} <= {param.name for param in command.params}:
            yield f"{before}{name}"


def workflow() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(WORKFLOW.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def test_no_edit_with_files_is_made_past_its_promise() -> None:
    """``reviewed`` alone makes one that has files, and asks for the promise."""
    found = [
        f"{path.name}:{call.lineno}"
        for path, tree in workflow()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", "") == "ManifestEdit"
        and (len(call.args) > 2 or call.keywords)
    ]
    assert [place.partition(":")[0] for place in found] == ["editing.py"]


def written(place: Path, text: str, default_allow: str = "false") -> str:
    (place / "all.yaml").write_text(CLUSTER % default_allow + text, encoding="utf-8")
    return str(place)


@pytest.mark.parametrize("text", [OWNED, LATER])
def test_a_deny_that_still_counts_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    """What an owner has cannot be taken out of a list, and an ALLOW outlives its DENY: each keeps the DENY needed."""
    path = written(tmp_path, text)
    assert run(["lint", path, "--simplify", "--write", "--as-of", str(DAY)]) == 0
    assert "gains" not in capsys.readouterr().err
    assert "deny: " in (tmp_path / "all.yaml").read_text(encoding="utf-8")
    request = StateRequest(path, as_of=DAY)
    assert fix_simplify(request).files == {}
    assert all("deny: " in text for text in fix_lint(request).edit.after.values())


def test_what_is_asked_for_by_its_rule_goes_and_nothing_else_changes(tmp_path: Path) -> None:
    """The ALLOW would count again from February on: without its rule being named it stays."""
    path = written(tmp_path, LATER)
    assert fix_lint(StateRequest(path, as_of=DAY)).edit.files == {}
    text = fix_lint(StateRequest(path, as_of=DAY), also=["shadowed"]).edit.after["all.yaml"]
    assert "allow" not in text.partition("kind: Acls")[2]
    assert "deny: " in text


def test_a_revocation_that_opens_a_topic_is_refused(tmp_path: Path) -> None:
    """With default-allow the last ACL of a topic keeps everybody else away."""
    rules = LATER.replace("    - {topics: [pay], deny: [READ, DESCRIBE], expires: 2027-01-31}\n", "")
    topic = ResourcePattern(ResourceType.TOPIC, "pay", PatternType.LITERAL)
    asked = AskedAccess("User:a", (AclOperation.READ,), topic)
    path = written(tmp_path, rules, "true")
    with pytest.raises(EditRefusedError, match=r"promises that nobody gains access(.|\n)*everybody else: .*READ"):
        revoke(path, None, asked, DAY)
    assert run(["revoke", "User:a", "READ", "topic/pay", "--path", path, "--write"]) == 1
    assert (tmp_path / "all.yaml").read_text(encoding="utf-8") == CLUSTER % "true" + rules
    assert revoke(written(tmp_path, rules), None, asked, DAY).edit.files


def test_the_old_name_gains_nothing_when_its_denies_go(tmp_path: Path) -> None:
    """Everybody reads the topic but the old name; also where the DENY is what ends last."""
    everybody = (
        LATER.replace("User:a", "User:*").replace("name: a}", "name: all}").partition("    - {topics: [pay], deny")
    )
    own = LATER.replace("    - {topics: [pay], allow: READ}\n", "").replace(", expires: 2027-01-31", "")
    with pytest.raises(EditRefusedError, match=r"\+ User:a: READ on topic `pay`"):
        rename(written(tmp_path, everybody[0] + own), "User:a", "User:b", finish=True, as_of=DAY)


def test_a_gain_that_begins_when_something_ends_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, LATER.replace("    - {topics: [pay], allow: READ}\n", ""))
    assert run(["grant", "User:a", "READ", "topic/pay", "--path", path, "--as-of", str(DAY)]) == 0
    shown = capsys.readouterr().err
    assert "From 2027-02-01T00:00:00Z on, when something ends:" in shown
    assert "+ User:a: READ on topic `pay`" in shown


FLOW = LATER.partition("  rules:")[0] + "  rules: [{topics: [pay], allow: READ}%s]\n"


@pytest.mark.parametrize("more", ["", ", {topics: [x], allow: WRITE}", ", # why\n    {topics: [x], allow: WRITE}\n  "])
@pytest.mark.parametrize("words", ["revoke User:a", "rename User:a User:b --finish", "revoke User:a READ topic/pay"])
def test_the_last_rules_of_a_list_in_brackets_go(tmp_path: Path, words: str, more: str) -> None:
    path = written(tmp_path, FLOW % more)
    assert run([*words.split(), "--path", path, "--write", "--as-of", str(DAY)]) == 0
    assert "pay" not in (tmp_path / "all.yaml").read_text(encoding="utf-8")


def test_superfluous_rules_of_a_list_in_brackets_go(tmp_path: Path) -> None:
    path = written(tmp_path, FLOW % "" + FLOW.replace("name: a}", "name: b}").replace("[pay]", "{prefix: pay}") % "")
    assert run(["lint", path, "--simplify", "--write", "--as-of", str(DAY)]) == 0
    assert "[pay]" not in (tmp_path / "all.yaml").read_text(encoding="utf-8")
