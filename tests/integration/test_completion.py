"""Shells complete commands, options and values, each by its own script; shells that are here run theirs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.cli.main import Commands, program, run

_BIN = Path(sys.executable).parent
assert isinstance(program, Commands)
_NAMES = [name for table in program.listed().values() for name in table]
_BASH = """\
source "$1"
COMP_WORDS=("${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
complete -p reconciler
_reconciler_completion reconciler
printf '%s\\n' "${COMPREPLY[@]}"
"""


def _script(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert run(["completion", shell]) == 0
    file = tmp_path / f"reconciler.{shell}"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    return file


def _ran(*command: str, **variables: str) -> str:
    environment = {**os.environ, "PATH": f"{_BIN}:{os.environ['PATH']}", **variables}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["reconciler", ""], _NAMES),
        (["reconciler", "va"], ["validate"]),
        (["reconciler", "sandbox", "d"], ["down"]),
        (["reconciler", "plan", "--allow-d"], ["--allow-deletes"]),
        (["reconciler", "plan", "examples/acls", "--cluster", "dem"], ["demo"]),
        (["reconciler", "convert", "--from", "kafka-a"], ["kafka-acls", "kafka-acls-script"]),
    ],
)
def test_bash_completes(words: list[str], found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = _script("bash", tmp_path, capsys)
    told = _ran("bash", "--norc", "-c", _BASH, "bash", str(script), *words).splitlines()
    assert told == ["complete -o nosort -F _reconciler_completion reconciler", *found]


@pytest.mark.parametrize(
    ("shell", "words", "current", "found"),
    [
        ("zsh", "reconciler va", "1", "plain\nvalidate\nCheck manifests offline\n"),
        ("fish", "reconciler va", "va", "plain,validate\tCheck manifests offline\n"),
    ],
)
def test_the_program_answers_what_the_other_shells_ask(shell: str, words: str, current: str, found: str) -> None:
    answer = _ran(
        str(_BIN / "reconciler"), _RECONCILER_COMPLETE=f"{shell}_complete", COMP_WORDS=words, COMP_CWORD=current
    )
    assert answer.replace(",", "\n").split() == found.replace(",", "\n").split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_ask_for_the_program_and_are_well_formed(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = _script(shell, tmp_path, capsys)
    assert f"_RECONCILER_COMPLETE={shell}_complete" in script.read_text(encoding="utf-8")
    if shutil.which(shell):
        _ran(shell, "-n", str(script))
