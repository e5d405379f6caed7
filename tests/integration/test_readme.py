"""The README's commands, run as they are written: without a broker, and from connecting to drift on a real one."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from reconciler.cli.main import run
from reconciler.parts.local.sandbox.state import Sandbox
from tests.integration.test_tutorials import Shell, steps_of

_ROOT = Path(__file__).parents[2]
README = (_ROOT / "README.md").read_text(encoding="utf-8")
#: What runs the program without installing it, before its name.
RUNNERS = ("uvx --from . ", "pipx run --spec . ")
_SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL))


def tried() -> tuple[list[str], str]:
    """The arguments of the command that needs neither broker nor Java, and the output below it."""
    (block,) = re.findall(r"^```console\n(.*?)^```", _SECTIONS["Try it"], re.MULTILINE | re.DOTALL)
    command, _, output = block.partition("\n")
    runner = next(runner for runner in RUNNERS if command.startswith(f"$ {runner}"))
    program, *arguments = shlex.split(command.removeprefix(f"$ {runner}"))
    assert program == "kafka-reconciler"
    return arguments, output


def without_ids(text: str) -> str:
    """The id binds every field of a plan, also those that are in no report."""
    return re.sub(r"\bplan-[0-9a-f]+\b", "plan-…", text)


def test_the_plan_is_the_whole_output_of_its_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, quoted = tried()
    monkeypatch.chdir(_ROOT)
    day = re.search(r"as of ([\d:TZ-]+)", quoted)
    assert day
    assert run([*arguments, "--as-of", day[1]]) == 0
    assert without_ids(capsys.readouterr().out) == without_ids(quoted)
    assert quoted.count("\n") <= 26


def test_it_is_read_in_a_minute_or_two() -> None:
    prose = re.sub(r"^```.*?^```", "", README, flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"[\w'’-]*\w[\w'’-]*", re.sub(r"\]\([^)]*\)|<[^>]*>", "", prose))) <= 900


def test_a_contributor_needs_two_commands() -> None:
    (block,) = re.findall(r"^```console\n(.*?)^```", _SECTIONS["Contribute"], re.MULTILINE | re.DOTALL)
    targets = re.findall(r"^\$ make (\w+)$", block, re.MULTILINE)
    assert targets == ["demo", "test"]
    makefile = (_ROOT / "Makefile").read_text(encoding="utf-8")
    assert [target for target in targets if f"\n{target}: " not in makefile] == []


@pytest.mark.broker
def test_a_cluster_is_connected_exported_planned_applied_and_watched(broker: Sandbox, tmp_path: Path) -> None:
    install, *steps = steps_of(_SECTIONS["Use it"])
    assert install.command == "pipx install ."
    shell = Shell(tmp_path)
    for step in steps:
        if step.file:
            document = yaml.safe_load(step.text)
            settings = broker.settings("reconciler", "SCRAM-SHA-512")
            document["spec"]["bootstrapServers"] = settings.pop("bootstrap.servers").split(",")
            password = settings.pop("sasl.password")
            document["spec"]["client"] |= settings
            assert document["spec"]["client"]["sasl.password"] == "${env:KAFKA_PASSWORD}"
            (tmp_path / step.file).write_text(yaml.safe_dump(document), encoding="utf-8")
            shell.set(KAFKA_PASSWORD=password)
            continue
        if step.command.startswith("export "):
            shell.set(**dict(word.split("=") for word in shlex.split(step.command)[1:]))
            continue
        # At a terminal it asks; here is none.
        asked = " --yes" if step.command.startswith("reconciler apply ") else ""
        status, output = shell.run(step.command + asked)
        assert status == step.status, f"{step.command}\n{output}"
