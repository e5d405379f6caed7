"""Commands, formats, converters and notifiers of other packages, by the entry points that an installation writes."""

import json
import shutil
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import reconciler
from reconciler.cli import parts
from reconciler.cli.console import Exit
from reconciler.cli.main import Commands, program, run
from reconciler.system import plugins
from tests.integration.report.receiver import AUTHORITY, receiver

_ROOT = Path(__file__).parents[2]
_EXAMPLE = _ROOT / "examples" / "plugins"
_FAILED = '{"kind": "Failed", "failed": "plan", "status": 1, "cluster": "prod"}'
_LINE = "manifests: 1 check failed\n"
_PLUGIN = """\
import click

COMMANDS = {
    "greet": ("Greet a cluster", "other_package", "Greetings"),
    "plan": ("Not the plan", "other_package", "Plan and apply"),
    "grant": ("Not the grant", "other_package", "Plan and apply"),
}


@click.command("greet")
def command():
    click.echo("hello")


def read(files, conversion):
    raise RuntimeError("the reader was called")
"""


def _install(place: Path, name: str, points: dict[str, dict[str, str]]) -> None:
    """The metadata that pip writes for a package."""
    info = place / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = [
        line for group, found in points.items() for line in (f"[{group}]", *(f"{key} = {found[key]}" for key in found))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory on the path into which packages are installed."""
    place = tmp_path / "site"
    place.mkdir()
    monkeypatch.syspath_prepend(place)
    parts.other_commands.cache_clear()
    yield place
    parts.other_commands.cache_clear()
    for name in (
        "other_package",
        "broken_package",
        *(name for name in sys.modules if name.startswith("reconciler_ex")),
    ):
        sys.modules.pop(name, None)


@pytest.fixture
def example(site: Path) -> Path:
    project = tomllib.loads((_EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    _install(site, project["name"].replace("-", "_"), project["entry-points"])
    shutil.copytree(_EXAMPLE / "reconciler_example_plugin", site / "reconciler_example_plugin")
    return site


@pytest.fixture
def other(site: Path) -> Path:
    (site / "other_package.py").write_text(_PLUGIN, encoding="utf-8")
    groups = {"reconciler.commands": {"hi": "other_package"}, "reconciler.converters": {"ours": "other_package:read"}}
    _install(site, "other_package", groups)
    return site


@pytest.fixture
def failed(tmp_path: Path) -> str:
    file = tmp_path / "failed.json"
    file.write_text(_FAILED, encoding="utf-8")
    return str(file)


def test_the_examples_format_writes_a_report(
    example: Path, failed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    also = tmp_path / "also.txt"
    assert run(["report", failed, "-o", "one-line", "-o", f"one-line={also}"]) == Exit.OK
    assert capsys.readouterr().out == _LINE
    assert also.read_text(encoding="utf-8") == _LINE


def test_the_examples_notifier_sends_its_message(example: Path, failed: str) -> None:
    with receiver() as there:
        words = ["report", failed, "--notify-ca", AUTHORITY, "--notify-webhook"]
        assert run([*words, f"teams+{there.address}"]) == Exit.OK
        assert run([*words, f"webhook+{there.address}"]) == Exit.OK
        assert run([*words, f"slack+{there.address}"]) == run([*words, there.address]) == Exit.OK
    teams, webhook, slack, plain = (json.loads(body) for _, _, body in there.arrived)
    assert teams["attachments"][0]["content"]["body"][0]["inlines"][0]["text"] == _LINE.strip()
    assert webhook["verdict"] == "1 check failed"
    assert slack == plain
    assert slack["blocks"]


def test_a_name_that_no_package_has_is_refused(failed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", failed, "-o", "one-line"]) == Exit.USAGE
    assert run(["report", failed, "-o", "one-line=x"]) == Exit.USAGE
    assert run(["report", failed, "--notify-webhook", "teams+https://localhost/"]) == Exit.USAGE
    assert "choose one of slack, webhook" in capsys.readouterr().err


def test_commands_of_another_package_run_and_are_listed(other: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == Exit.OK
    text = capsys.readouterr().out
    assert "\nGreetings:\n  greet " in text
    assert run(["greet"]) == Exit.OK
    assert capsys.readouterr().out == "hello\n"


def test_no_package_takes_the_name_of_a_command_here(other: Path) -> None:
    assert isinstance(program, Commands)
    assert "Not the" not in str(program.listed())
    assert program.home("plan") == "reconciler.cli.plan"
    assert program.home("grant") == "reconciler.parts.edit.cli.grant"


def test_a_converter_of_another_package_is_called_by_its_name(other: Path, tmp_path: Path) -> None:
    (tmp_path / "source.yaml").write_text("a: 1\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match="the reader was called"):
        run(["convert", str(tmp_path / "source.yaml"), "--from", "ours"])


def test_what_cannot_be_used_is_named_and_stops_nothing_else(
    other: Path, failed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (other / "broken_package.py").write_text("raise ValueError('broken')\n", encoding="utf-8")
    points = {"broken": "broken_package"}
    _install(other, "broken_package", {"reconciler.commands": points, "reconciler.formats": points})
    plugins._entry_points.cache_clear()
    plugins._declaring.cache_clear()
    assert run(["--help"]) == Exit.OK
    shown = " ".join(capsys.readouterr().out.split())
    assert "'broken' of package broken_package cannot be imported: ValueError: broken" in shown
    assert "greet" in shown
    assert run(["report", failed, "-o", "broken"]) == Exit.ERROR


def test_two_packages_with_one_name_are_refused(example: Path, failed: str, capsys: pytest.CaptureFixture[str]) -> None:
    _install(example, "second", {"reconciler.formats": {"one-line": "second"}})
    plugins._entry_points.cache_clear()
    plugins._declaring.cache_clear()
    assert run(["report", failed, "-o", "one-line"]) == Exit.ERROR
    assert "is in two packages" in capsys.readouterr().err


def test_the_working_directory_adds_nothing(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example)
    monkeypatch.syspath_prepend(".")
    plugins._entry_points.cache_clear()
    plugins._declaring.cache_clear()
    assert plugins.names("reconciler.formats") == ()
    plugins._declaring.cache_clear()
    plugins._entry_points.cache_clear()


def test_the_parts_are_those_of_the_metadata() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = Path(reconciler.__file__).parent / "parts"
    there = {path.parent.name for path in folder.glob("*/__init__.py")}
    declared = project["entry-points"]["reconciler.commands"]
    assert declared == {name: f"reconciler.parts.{name}" for name in parts.PARTS}
    assert there == set(parts.PARTS)
    assert {part.extra for part in parts.PARTS.values()} - {""} <= project["optional-dependencies"].keys()
    for name in parts.PARTS:
        for row in import_module(f"reconciler.parts.{name}").COMMANDS.values():
            assert parts.CommandRow(*row).module.startswith(f"reconciler.parts.{name}.")
