"""``reconciler help``: the help of a command, and what belongs to no single one."""

import sys

import click

from reconciler.access.lint.rules import RULES, rule_of
from reconciler.cli.commands import all_recipes
from reconciler.cli.console import CommandError, Exit, out, style_for
from reconciler.cli.main import program
from reconciler.cli.options import ConnectionOption
from reconciler.manifest.read.problem import did_you_mean
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
