"""``--as-of``: a cluster is read as it is now, so no other time is accepted where the answer would be today's."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from reconciler.cli.main import program
from reconciler.cli.main import run as reconciler
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.worlds import binding

_TODAY: Final = datetime.datetime.now(datetime.UTC).date()
_PAST, _AHEAD = (str(_TODAY + datetime.timedelta(days=days)) for days in (-30, 30))
_MANIFESTS: Final = """
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: bank}
spec: {bootstrapServers: ["localhost:1"]}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec: {principal: "User:a", rules: [{allow: READ, topics: [t]}]}
"""
_READ: Final = ("User:a", "READ", "topic/t")
#: Commands that read a cluster, with what they need to be asked about ``bank``; and whether a time to come makes sense.
_COMMANDS: Final = {
    "can-i": ((*_READ, "--path", "m"), False),
    "reach": (("User:a", "--path", "m"), False),
    "who-can": ((*_READ[1:], "--path", "m"), False),
    "explain": ((*_READ, "--path", "m"), False),
    "access": (("User:a", "--path", "m"), False),
    "quota": (("User:a", "--path", "m"), False),
    "plan": (("m",), True),
    "drift": (("m",), True),
    "test": (("m",), True),
    "lint": (("m",), True),
    "adopt": (("m", "--all"), True),
    "usage": (("--path", "m", "--logs", "logs"), True),
    "tighten": (("--path", "m", "--logs", "logs"), True),
    "certify open": (("--path", "m", "--due", "2w", "--out", "q"), True),
    "fleet plan": (("m", "--out", "plans"), True),
}
#: They have the option and read no cluster, work on what a store holds, or are tested with a plan that was applied.
_OTHERS: Final = {
    *("grant", "revoke", "rename", "validate", "policy init", "undo", "report"),
    *("fleet drift", "fleet usage", "fleet tighten", "certify sign", "certify status", "certify close"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").mkdir()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "authorizer.log").write_text("\n", encoding="utf-8")
    (tmp_path / "m" / "m.yaml").write_text(_MANIFESTS, encoding="utf-8")
    state = ClusterState("c", frozenset({binding("User:a ALLOW READ on TOPIC t")}))
    (tmp_path / "live.json").write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    (tmp_path / "connections.yaml").write_text(
        'apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: bank}\nspec: {bootstrapServers: ["localhost:1"]}\n',
        encoding="utf-8",
    )
    return tmp_path


def test_every_command_with_the_option_is_listed_here() -> None:
    context = program.make_context("reconciler", [], resilient_parsing=True)
    found = {
        name
        for name, command in _commands(program, context, "")
        if any("--as-of" in option.opts for option in command.params)
    }
    assert found - _OTHERS == _COMMANDS.keys()


def _commands(group: click.Group, context: click.Context, before: str) -> Iterator[tuple[str, click.Command]]:
    """Those of groups too: ``fleet plan``."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, context, f"{before}{name} ")
        elif command is not None:
            yield f"{before}{name}", command


def _connected(command: str) -> tuple[str, ...]:
    """A fleet's commands ask each of its clusters."""
    cluster = () if command.startswith("fleet ") else ("--cluster", "bank")
    return (*cluster, "--connections", "connections.yaml")


@pytest.mark.parametrize("command", sorted(_COMMANDS))
@pytest.mark.usefixtures("place")
def test_a_past_time_of_a_live_cluster_is_refused_before_it_is_asked(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, _ = _COMMANDS[command]
    assert reconciler([*command.split(), *arguments, *_connected(command), "--as-of", _PAST]) != 0
    said = capsys.readouterr().err
    assert f"{_PAST} is past, and a cluster is read as it is now" in said
    assert "snapshot" in said


@pytest.mark.parametrize("command", sorted(name for name, (_, ahead) in _COMMANDS.items() if not ahead))
@pytest.mark.usefixtures("place")
def test_a_time_to_come_is_refused_where_the_answer_would_be_of_now(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, _ = _COMMANDS[command]
    assert reconciler([*command.split(), *arguments, *_connected(command), "--as-of", _AHEAD]) != 0
    assert f"{_AHEAD} is yet to come" in capsys.readouterr().err


@pytest.mark.usefixtures("place")
def test_what_is_declared_and_a_snapshot_can_be_asked_and_the_answer_says_the_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for where in (("--cluster", "bank", "--offline"), ("--cluster", "snapshot:live.json"), ()):
        assert reconciler(["can-i", *_READ, "--path", "m", *where, "--as-of", _PAST]) == 0
        assert f"What had ended is as of {_PAST}." in capsys.readouterr().out
    assert reconciler(["can-i", *_READ, "--path", "m"]) == 0
    assert "as of" not in capsys.readouterr().out
