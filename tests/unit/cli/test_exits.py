"""How a command line ends: the status for each kind of mistake, and nothing on stdout when nothing was found out."""

from pathlib import Path

import pytest

from reconciler.cli.console import PRECEDENCE, Exit, worst
from reconciler.cli.main import Commands, program, run
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false, bootstrapServers: ["127.0.0.1:1"]}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a cluster and a snapshot of it, as the working directory."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "live.json").write_text(snapshot_text(ClusterState("id")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["plan", "--cluster"],
        ["plan", "--cluster", "unknown"],
        ["plan", "--cluster", "snapshot:live.json", "--only", "nonsense"],
        ["plan", "--cluster", "snapshot:live.json", "--accept", "nonsense"],
        ["plan", "--cluster", "snapshot:live.json", "--as-of", "yesterday"],
        ["plan", "--cluster", "snapshot:live.json", "--as-of", "20260101"],
        ["plan", "--cluster", "snapshot:live.json", "--as-of", "2026-W01-1"],
        ["schema", "plan", "--out", "schemas"],
        ["policy", "init", "--defaults", "--name", "mine"],
        ["apply", ".", "--cluster", "snapshot:live.json"],
        ["apply", ".", "--path", ".", "--yes"],
        ["plan", ".", "--path", "."],
        ["apply", "plan.json", ".", "--yes", "--allow-deletes"],
        ["doctor", "--cluster", "snapshot:live.json"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_exits_64(place: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == Exit.USAGE
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["validate", "nowhere"],
        ["plan", "--cluster", "snapshot:none.json"],
        ["export", "--cluster", "snapshot:cluster.yaml"],
        ["plan", "nowhere", "--cluster", "c"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_read_exits_1(place: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == Exit.ERROR
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")


def test_in_ci_the_connection_comes_from_the_operator(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    assert run(["plan", "--cluster", "c"]) == Exit.USAGE
    assert "--connections" in capsys.readouterr().err


def test_a_plan_that_is_none_exits_4(place: Path) -> None:
    (place / "plan.json").write_text("{}")
    assert run(["show", "plan.json"]) == Exit.STALE
    assert run(["apply", "plan.json", ".", "--yes"]) == Exit.STALE


def test_what_the_help_lists_exists_and_says_the_same() -> None:
    assert isinstance(program, Commands)
    for name, words in {name: words for table in program.listed().values() for name, words in table.items()}.items():
        command = program.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None, name
        assert command.get_short_help_str(200) == words


def test_the_precedence_names_every_status_once() -> None:
    assert sorted(PRECEDENCE) == sorted(Exit)
    assert worst() is Exit.OK
    assert worst(Exit.DIFFERENT, Exit.OK, Exit.REFUSED, Exit.STALE) is Exit.REFUSED
    assert worst(Exit.INTERRUPTED, Exit.ERROR) is Exit.INTERRUPTED
