"""The tutorials are true: files are written, commands run in order on a real broker, outputs appear."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from reconciler.parts.local.sandbox.launch import jar_directory
from tests.prepared import search_path

_ROOT = Path(__file__).parents[2]
_PAGES = ("first-hour", "first-pull-request", "adopting-a-cluster")
_FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_STATUS = re.compile(r"  # exit (\d+)$")


class Step(NamedTuple):
    """A file to write, or a command with its exit status and lines that its output has."""

    file: str = ""
    text: str = ""
    command: str = ""
    status: int = 0
    shown: tuple[str, ...] = ()


def steps(page: str) -> Iterator[Step]:
    return steps_of((_ROOT / "docs" / "tutorials" / f"{page}.md").read_text(encoding="utf-8"))


def steps_of(text: str) -> Iterator[Step]:
    """The files and commands of a page or a part of it, in order."""
    for language, block in _FENCE.findall(text):
        first, _, rest = block.partition("\n")
        if language == "console":
            yield from _commands(block)
        elif first.startswith(("# ", "// ")):
            yield Step(file=first.lstrip("#/ "), text=rest if language == "" else block)
        else:
            raise AssertionError(f"nobody knows what to do with this block: {first}")


def _commands(block: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, *shown = part.rstrip("\n").split("\n")
        status = _STATUS.search(line)
        yield Step(
            command=_STATUS.sub("", line), status=int(status[1]) if status else 0, shown=tuple(filter(None, shown))
        )


class Shell:
    """Runs commands in one directory; what is exported stays."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._environment = {
            "PATH": search_path(),
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            "XDG_CACHE_HOME": str(jar_directory().parents[1]),
            **{f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            **{name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ},
        }

    def set(self, **variables: str) -> None:
        """What every later command finds in its environment."""
        self._environment |= variables

    def run(self, command: str) -> tuple[int, str]:
        bash = shutil.which("bash")
        assert bash
        script = f"{command}\nstatus=$?\ndeclare -p CONNECTIONS APPROVED 2>/dev/null >exported\nexit $status"
        exported = self.directory / "exported"
        before = exported.read_text(encoding="utf-8") if exported.exists() else ""
        done = subprocess.run(
            [bash, "-c", f"{before}\n{script}"],
            cwd=self.directory,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        return done.returncode, done.stdout + done.stderr


def _in_order(shown: tuple[str, ...], output: str) -> str | None:
    """The first line that does not appear behind the one before it."""
    position = 0
    for line in shown:
        found = output.find(line.strip(), position)
        if found < 0:
            return line
        position = found + len(line.strip())
    return None


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """One directory and one sandbox for all pages: each goes on where the one before it ended."""
    shell = Shell(tmp_path_factory.mktemp("tutorials"))
    yield shell
    shell.run("reconciler sandbox down --name tutorial")


@pytest.mark.broker
@pytest.mark.parametrize("page", _PAGES)
def test_a_tutorial_does_what_it_says(shell: Shell, page: str) -> None:
    for step in steps(page):
        if step.file:
            (shell.directory / step.file).parent.mkdir(exist_ok=True)
            (shell.directory / step.file).write_text(step.text, encoding="utf-8")
            continue
        status, output = shell.run(step.command)
        assert status == step.status, f"{page}: {step.command}\n{output}"
        missing = _in_order(step.shown, output)
        assert missing is None, f"{page}: {step.command}: {missing} is not in\n{output}"


def test_every_tutorial_is_run() -> None:
    assert {path.stem for path in (_ROOT / "docs" / "tutorials").glob("*.md")} == set(_PAGES)
    assert sum(1 for page in _PAGES for step in steps(page) if step.shown) > 20
