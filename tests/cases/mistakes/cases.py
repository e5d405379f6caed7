"""Mistakes in text files: what somebody wrote and ran, and what the command line says to it, word for word.

A case begins with ``=== title``. ``--- path`` is a file in the directory where the command runs; ``--- acls``,
``topics`` and ``cluster`` are the manifest around what is written below them. ``--- $ …`` is a command with all that
it says, or with ``| text`` its lines that have this text, and its exit status in brackets.
``python -m tests.cases.mistakes.cases`` writes again what commands say.
"""

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from reconciler.cli.main import run

FILES: Final = sorted(Path(__file__).parent.glob("*.txt"))
_HEAD: Final = "apiVersion: reconciler/v1\nkind: {}\nmetadata: {{name: {}}}\nspec:\n"
#: What stands around a case's own lines.
_MANIFESTS: Final = {
    "acls": _HEAD.format("Acls", "orders") + "  principal: User:svc-orders\n  rules:\n",
    "topics": _HEAD.format("Topics", "orders") + "  topics:\n",
    "cluster": _HEAD.format("Cluster", "prod"),
}
_CHARACTERS: Final = {"→": "\t", "<BOM>": "\ufeff"}
_SPELLED: Final = re.compile("|".join(_CHARACTERS))
#: Every run has another directory, and mistakes are read on one day.
_AS_OF: Final = "2026-11-22"


class Command(NamedTuple):
    """A command line, and what it says."""

    line: str
    expected: str


class Mistake(NamedTuple):
    """One case: files by path, and commands."""

    title: str
    files: dict[str, str]
    commands: list[Command]


def read_mistakes(file: Path) -> list[Mistake]:
    """All cases of a file."""
    _, *parts = re.split(r"^=== ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [_mistake(part) for part in parts]


def _mistake(part: str) -> Mistake:
    title, *sections = re.split(r"^--- (.+)\n", part, flags=re.MULTILINE)
    found = Mistake(title.strip(), {}, [])
    for name, text in zip(sections[::2], sections[1::2], strict=True):
        if name.startswith("$ "):
            found.commands.append(Command(name.removeprefix("$ "), text.strip("\n")))
        elif name in _MANIFESTS:
            found.files[f"{name}.yaml"] = _MANIFESTS[name] + text.rstrip("\n") + "\n"
        else:
            found.files[name] = _SPELLED.sub(lambda spelled: _CHARACTERS[spelled[0]], text).rstrip("\n") + "\n"
    return found


def answers(mistake: Mistake) -> list[str]:
    """What the commands of a case say, one after the other in one new directory, and their exit statuses."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        for name, text in mistake.files.items():
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        os.chdir(directory)
        try:
            return [_said(command.line) for command in mistake.commands]
        finally:
            os.chdir(before)


def _said(line: str) -> str:
    command, _, wanted = line.partition(" | ")
    arguments = command.replace("--today", f"--as-of {_AS_OF}").split()
    if arguments[0] == "cd":
        os.chdir(arguments[1])
        return "[0]"
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
        status = run(arguments)
    lines = (line.rstrip() for line in heard.getvalue().strip("\n").splitlines())
    return "\n".join([*(line for line in lines if wanted in line), f"[{int(status)}]"])


def main() -> None:
    """Write every file again with what the commands say today."""
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        head, *parts = re.split(r"^=== ", text, flags=re.MULTILINE)
        for part in parts:
            head += "=== " + _again(part)
        file.write_text(head.rstrip("\n") + "\n", encoding="utf-8")


def _again(part: str) -> str:
    mistake = _mistake(part)
    kept = re.split(r"^--- \$ ", part, flags=re.MULTILINE)[0].rstrip("\n")
    told = "".join(
        f"\n--- $ {command.line}\n{said}" for command, said in zip(mistake.commands, answers(mistake), strict=True)
    )
    return f"{kept}{told}\n\n"


if __name__ == "__main__":
    main()
