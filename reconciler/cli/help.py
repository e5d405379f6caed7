"""``reconciler help``, ``completion`` and ``version``: the help of a command, and what belongs to no single one."""

import platform
import sys
from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from reconciler import __version__
from reconciler.access.lint import RULES, rule_of
from reconciler.cli.console import CommandError, Exit, out, out_json, style_for
from reconciler.cli.main import program
from reconciler.cli.options import ConnectionOption, output_option
from reconciler.cli.recipes import all_recipes
from reconciler.manifest.read.problem import did_you_mean
from reconciler.results import OutputKind
from reconciler.show.lint import rule_lines

_CONNECTION, _RECIPES = "connection", "recipes"


@click.command("help", short_help="Explain a command, connection options, a lint rule")
@click.argument("words", metavar="[COMMAND...|connection|recipes|RULE]", nargs=-1)
def command(*, words: tuple[str, ...]) -> int:
    """Print the help of a command, as COMMAND --help does.

    connection: the options with which every command reaches clusters. recipes: the tasks that docs/how-to.md has steps
    for. A lint rule is explained by its code or name, such as KA012.
    """
    context = click.get_current_context().find_root()
    if words == (_CONNECTION,):
        out(connection_lines(context), whole=True)
    elif words == (_RECIPES,):
        out(all_recipes(), whole=True)
    elif len(words) == 1 and (rule := rule_of(words[0])) is not None:
        out(rule_lines(rule, style_for(sys.stdout)))
    else:
        out(_help(context, words).splitlines(), whole=True)
    return Exit.OK


def connection_lines(context: click.Context) -> list[str]:
    """What each connection option says."""
    doctor = program.get_command(context, "doctor")
    formatter = context.make_formatter()
    options = [option for option in (doctor.params if doctor else ()) if isinstance(option, ConnectionOption)]
    with formatter.indentation():
        formatter.write_dl([record for option in options if (record := option.whole_record(context)) is not None])
    return formatter.getvalue().splitlines()


def _help(context: click.Context, words: tuple[str, ...]) -> str:
    """The text of a command's ``--help``; ends the command where there is none such."""
    command: click.Command = program
    for word in words:
        below = command.get_command(context, word) if isinstance(command, click.Group) else None
        if below is None:
            names = command.list_commands(context) if isinstance(command, click.Group) else []
            rules = ", ".join(f"{rule.code} {rule.name}" for rule in RULES)
            otherwise = f"commands: reconciler help; more: {_CONNECTION}, {_RECIPES}; lint rules: {rules}"
            advice = did_you_mean(word, [*names, _CONNECTION, _RECIPES], otherwise)
            raise CommandError(f"there is no help on {' '.join(words)!r}", advice, Exit.USAGE)
        command, context = below, click.Context(below, parent=context, info_name=word)
    return command.get_help(context)


#: The script calls the program again with this variable set, which click looks for.
_VARIABLE: Final = "_RECONCILER_COMPLETE"
_SHELLS: Final = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command("completion", short_help="Print a shell completion script")
@click.argument("shell", type=click.Choice(list(_SHELLS)))
def completion_command(*, shell: str) -> int:
    """Print the completion script for SHELL.

    \b
    bash: reconciler completion bash > ~/.local/share/bash-completion/completions/reconciler
    zsh:  reconciler completion zsh > "${fpath[1]}/_reconciler"
    fish: reconciler completion fish > ~/.config/fish/completions/reconciler.fish
    """
    script = _SHELLS[shell](program, {}, "reconciler", _VARIABLE)
    # Not script.source(), which starts a bash to ask for its version.
    out([(script.source_template % script.source_vars()).strip("\n")], whole=True)
    return Exit.OK


@click.command("version", short_help="Print the version")
@output_option
def version_command(*, output: str) -> int:
    """Print the version of this program."""
    if output == "json":
        out_json(OutputKind.VERSION, {"reconciler": __version__, "python": platform.python_version()})
    else:
        out([f"reconciler, version {__version__}"])
    return Exit.OK
