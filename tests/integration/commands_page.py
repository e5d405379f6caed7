"""The help texts in ``docs/commands.md``; run as a module it writes them again."""

import re
from pathlib import Path

import click
from click.testing import CliRunner

from reconciler.cli.main import program

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
_BLOCK = re.compile(r"```console\n\$ reconciler ?(?P<command>[a-z -]*?) ?--help\n.*?```", re.DOTALL)


def every_command() -> list[str]:
    """``plan``, ``sandbox up`` and so on: everything that has a help text, the program itself as ``""``."""
    return ["", *_below(program, click.Context(program))]


def described(page: str) -> list[str]:
    """The commands whose help the page shows."""
    return [match["command"] for match in _BLOCK.finditer(page)]


def refreshed(page: str) -> str:
    """The page with every help text as it is today, 80 columns wide."""
    return _BLOCK.sub(lambda match: _shown(match["command"]), page)


def _shown(command: str) -> str:
    words = command.split()

    result = CliRunner().invoke(program, [*words, "--help"], prog_name="reconciler", terminal_width=80)
    return f"```console\n$ {' '.join(['reconciler', *words, '--help'])}\n{result.output.rstrip()}\n```"


def _below(group: click.Group, context: click.Context, before: str = "") -> list[str]:
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        path = f"{before}{name}"
        found.append(path)
        if isinstance(command, click.Group):
            found += _below(command, context, f"{path} ")
    return found


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
