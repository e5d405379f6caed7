"""The help texts in ``docs/commands``, a page for each command; run as a module it writes them again.

The options with which every command connects are on the index once, and one line on each page stands for them.
"""

import re
import textwrap
from collections import Counter
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
_CONNECTION = ("connections", "trust-manifest-connection", "allow-env", "secrets-dir", "allow-cleartext-login")
#: What stands for them; ``hatch_build.py`` knows it, too.
_FOLDED = "  Connection options: --connections and others, see docs/commands/index.md\n"


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
        + "".join(map(_laid_out, _connection_entries().values()))
        + "```\n\n## All commands\n\n| | |\n|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def _about(name: str) -> str:
    command = program.get_command(click.Context(program), name)
    assert command
    return command.get_short_help_str(200)


@cache
def _connection_entries() -> dict[str, str]:
    """The words of each connection option that most commands have."""
    words: dict[str, Counter[str]] = {name: Counter() for name in _CONNECTION}
    for command in every_command():
        for entry in _entries(_help(command)):
            name = _long(entry)
            if name in words:
                words[name][" ".join(entry.split())] += 1
    return {name: found.most_common(1)[0][0] for name, found in words.items()}


@cache
def _help(command: str) -> str:
    words = [*command.split(), "--help"]
    return CliRunner().invoke(program, words, prog_name="reconciler", terminal_width=80).output


def _entries(text: str) -> list[str]:
    """Each option with its words, lines and all."""
    return re.findall(r"^  -[^\n]*\n(?:    {6,}[^\n]*\n)*", text, re.MULTILINE)


def _laid_out(words: str) -> str:
    """An option as help lays it out: its name, then its words beside it."""
    name, _, text = re.split(r"( (?=The |Let |Allow ))", words, maxsplit=1)
    lines = textwrap.wrap(text, 47)
    return "".join(f"  {name if number == 0 else '':<29}  {line}\n" for number, line in enumerate(lines))


def _long(entry: str) -> str:
    found = re.search(r"--([a-z-]+)", entry)
    return found[1] if found else ""


def _shown(command: str) -> str:
    text = _help(command)
    common = set(_connection_entries().values())
    folded = [entry for entry in _entries(text) if " ".join(entry.split()) in common]
    for number, entry in enumerate(folded):
        text = text.replace(entry, _FOLDED if number == 0 else "", 1)
    return f"```console\n$ {' '.join(['reconciler', *command.split(), '--help'])}\n{text.rstrip()}\n```"


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
