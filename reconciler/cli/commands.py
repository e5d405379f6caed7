"""What every command has besides its own options: variables for them, the program's options, and help for typos.

A table of commands imports a command's module when the command is asked for, so that ``--help`` starts fast.
"""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import click

from reconciler.cli.program_options import program_options
from reconciler.cli.recipes import all_recipes, recipes_of

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: Every option can be given as a variable: RECONCILER_CLUSTER for --cluster.
PREFIX: Final = "RECONCILER"
#: Options that mean different things in different commands: a variable of theirs names the command.
_OF_ONE_COMMAND: Final = frozenset(
    {"all", "also", "fail-on", "fleet", "from", "keep", "layout", "logs", "name", "out", "run", "since"}
)
_EPILOGUE: Final = """\
Environment variables set options: {variables} for --{option}. More options: reconciler --help.
"""


class CommandTable(click.Group):
    """A group that looks a command's module up by its name; ``table`` says what each command does.

    ``aliases`` are further words for commands.
    """

    table: ClassVar[Mapping[str, str]]
    aliases: ClassVar[Mapping[str, str]] = {}
    #: Words that other tools have for what a command here does, or one of its recipes.
    elsewhere: ClassVar[Mapping[str, str]] = {}
    #: The modules of commands are called so, before the command's own name.
    modules: ClassVar[str] = "reconciler.cli."
    #: The words before the command's own name.
    words: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *arguments: Any, **more: Any) -> None:
        """As any group, with nothing loaded."""
        super().__init__(*arguments, **more)
        self._loaded: dict[str, click.Command] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that holds the command, or ``None`` if there is no such command."""
        name = self.aliases.get(cmd_name, cmd_name)
        if name not in self.table:
            return None
        if name not in self._loaded:
            self._loaded[name] = prepared(self.load(name), (*self.words, name))
        return self._loaded[name]

    def load(self, name: str) -> click.Command:
        """The command in the module of this name."""
        command: click.Command = importlib.import_module(f"{self.modules}{name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As any group; click proposes only what is loaded."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            meant = self.elsewhere.get(error.command_name)
            if meant is not None:
                message = f"No such command {error.command_name!r}. See: reconciler {meant} --help"
                raise click.NoSuchCommand(error.command_name, message, ctx=ctx) from None
            raise click.NoSuchCommand(error.command_name, possibilities=(*self.table, *self.aliases), ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands from the table, without importing one of them."""
        words: dict[str, list[str]] = {}
        for alias, name in self.aliases.items():
            words.setdefault(name, []).append(alias)
        with formatter.section("Commands"):
            formatter.write_dl([(", ".join([name, *words.get(name, [])]), text) for name, text in self.table.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """From the table, so that nothing is imported to complete a name; the group's options as ever."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem

        return [CompletionItem(name, help=text) for name, text in self.table.items() if name.startswith(incomplete)]


def prepared(command: click.Command, words: tuple[str, ...]) -> click.Command:
    """A command with everything that all commands have; ``words`` are its names, as in ``("fleet", "plan")``."""
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            prepared(below, (*words, name))
    if not words:
        command.params += program_options()
        command.epilog = all_recipes()
    options = [one for one in command.params if isinstance(one, click.Option) and one.name != "version"]
    for option in options:
        option.envvar = option.envvar or _variables(words, _long(option))
    if options and words:
        best = next((one for one in options if len(variables(one)) > 1), options[0])
        command.epilog = recipes_of(words) + _EPILOGUE.format(
            option=_long(best), variables=" or ".join(reversed(variables(best)))
        )
    if words and not isinstance(command, click.Group):
        command.params += program_options(hidden=True)
    return command


def variables(option: click.Option) -> tuple[str, ...]:
    """The environment variables of an option, the first that is set counts."""
    names = option.envvar or ()
    return (names,) if isinstance(names, str) else tuple(names)


def _variables(words: tuple[str, ...], option: str) -> list[str]:
    """The command's own variable, which counts first, and that of all commands with this option."""
    own, shared = ("_".join([PREFIX, *names, option]).replace("-", "_").upper() for names in (words, ()))
    return [own] if option in _OF_ONE_COMMAND else list(dict.fromkeys([own, shared]))


def _long(option: click.Option) -> str:
    """The option's name as it is typed, without hyphens before it."""
    return max(option.opts, key=len).lstrip("-")
