"""The help texts in ``docs/commands``, a page for each command; run as a module it writes them again.

The options with which every command connects are on the index once; help has one line for them.
"""

import re
from functools import cache
from pathlib import Path

import click
from click.testing import CliRunner

from reconciler.cli.main import program

PAGES = Path(__file__).parents[2] / "docs" / "commands"
INDEX = PAGES / "index.md"
_BLOCK = re.compile(r"```console\n\$ reconciler ?(?P<command>[a-z -]*?) ?--help\n.*?```", re.DOTALL)
#: From here the index is generated, too.
_BEGIN = "<!-- generated: make reference -->\n"


def every_command() -> list[str]:
    """``plan``, ``sandbox up`` and so on: everything that has a help text, the program itself as ``""``."""
    return ["", *_below(program, click.Context(program))]


def described() -> list[str]:
    """The commands whose help the pages show."""
    return [
        match["command"] for page in sorted(PAGES.glob("*.md")) for match in _BLOCK.finditer(page.read_text("utf-8"))
    ]


def refreshed(page: Path) -> str:
    """A page with every help text as it is today, 80 columns wide."""
    text = page.read_text(encoding="utf-8")
    if page == INDEX:
        head, mark, _ = text.partition(_BEGIN)
        assert mark, f"{page} has lost the line {_BEGIN!r}"
        return f"{head}{mark}{_index()}"
    return _BLOCK.sub(lambda match: _shown(match["command"]), text)


def page_of(command: str) -> str:
    """The file with a command's help: that of its group."""
    return f"{command.split(maxsplit=1)[0] if command else 'reconciler'}.md"


def _index() -> str:
    rows = [f"| [`{name}`]({page_of(name)}) | {_about(name)} |" for name in every_command() if name and " " not in name]
    return (
        "\n## Connection options\n\nEvery command that connects to a cluster takes these:\n\n```text\n"
        + CliRunner().invoke(program, ["help", "connection"], prog_name="reconciler", terminal_width=80).output
        + "```\n\n## All commands\n\n| | |\n|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def _about(name: str) -> str:
    command = program.get_command(click.Context(program), name)
    assert command
    return command.get_short_help_str(200)


@cache
def _help(command: str) -> str:
    words = [*command.split(), "--help"]
    return CliRunner().invoke(program, words, prog_name="reconciler", terminal_width=80).output


def _shown(command: str) -> str:
    return f"```console\n$ {' '.join(['reconciler', *command.split(), '--help'])}\n{_help(command).rstrip()}\n```"


def _below(group: click.Group, context: click.Context, before: str = "") -> list[str]:
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        path = f"{before}{name}"
        found.append(path)
        if isinstance(command, click.Group):
            found += _below(command, context, f"{path} ")
    return found


def _write() -> None:
    """Pages that are missing first, with a heading and a help text to refresh; then all of them."""
    for command in set(every_command()) - set(described()):
        page = PAGES / page_of(command)
        before = f"{page.read_text(encoding='utf-8')}\n#" if page.exists() else ""
        words = " ".join(filter(None, ["reconciler", command, "--help"]))
        page.write_text(f"{before}# {command}\n\n```console\n$ {words}\n```\n", encoding="utf-8")
    for page in PAGES.glob("*.md"):
        page.write_text(refreshed(page), encoding="utf-8")


if __name__ == "__main__":
    _write()
