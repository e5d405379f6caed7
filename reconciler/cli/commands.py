"""What every command has besides its own options: variables for them, the program's options, and help for typos.

A table of commands imports a command's module when the command is asked for, so that ``--help`` starts fast.
"""

import functools
import importlib
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import click

from reconciler.cli.console import COLORS, Mode, Settings, debug, info, progress, set_mode, settings
from reconciler.cli.options import from_project
from reconciler.cli.recipes import examples_text, recipes_of
from reconciler.model.characters import safe

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Options of the program, which may be given before a command's name and after it.


def _set(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """A callback that changes a setting of the console if the option was given, here or before the command's name."""

    def change(context: click.Context, option: click.Parameter, value: Any) -> None:
        implied = context.get_parameter_source(str(option.name)) is click.ParameterSource.DEFAULT
        if value not in (None, False) and not (implied and getattr(settings, name) != getattr(Settings(), name)):
            setattr(settings, name, value)

    return change


def _set_verbose(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        settings.verbose = True
        listen()
        for parameter in context.command.params:
            names = parameter.envvar if isinstance(parameter.envvar, list) else []
            variable = next((name for name in names if os.environ.get(name)), None)
            if variable is not None:  # the name only: a value may be anything
                debug(f"{variable} sets {max(parameter.opts, key=len)}, unless the command line does")


def _set_mode(context: click.Context, option: click.Parameter, value: int | None) -> None:
    if value is not None:
        set_mode(value)


_OPTIONS: Final[Mapping[tuple[str, ...], dict[str, Any]]] = {
    ("--color",): {
        "type": click.Choice(COLORS),
        "callback": _set("color"),
        "help": "When to use colour.  [default: auto]",
    },
    ("-q", "--quiet"): {
        "is_flag": True,
        "callback": _set("quiet"),
        "help": "Print results, warnings and errors only; of a plan or drift, one line with verdict, counts and id.",
    },
    ("-v", "--verbose"): {
        "is_flag": True,
        "callback": _set_verbose,
        "help": "Say on stderr where values come from, what is asked of the cluster, and how long that takes.",
    },
    ("--expand",): {
        "is_flag": True,
        "callback": _set("expand"),
        "help": "Fold nothing: each binding, topic, finding and cluster on a line of its own.",
    },
    ("--no-pager",): {"is_flag": True, "callback": _set("no_pager"), "help": "Do not show long text in a pager."},
    ("--mode",): {
        "metavar": "MODE",
        "type": Mode(),
        "callback": _set_mode,
        "help": "Permissions of the files that are written, as in 644.  [default: 600]",
    },
}


#: What the project file says of them. It is asked after a command's name only, so that --verbose is known by then.
_DEFAULTS: Final[Mapping[str, Callable[[], Any]]] = {
    "--color": from_project("color", None),
    "--expand": from_project("expand", False),
    "--no-pager": lambda: from_project("pager", True)() is False,
}


def program_options(*, hidden: bool = False) -> list[click.Parameter]:
    """The options; those after a command's name are ``hidden``, for the program's help lists them once."""
    defaults = _DEFAULTS if hidden else {}
    return [
        click.Option(
            names, expose_value=False, is_eager=True, hidden=hidden, default=defaults.get(names[-1]), **attributes
        )
        for names, attributes in _OPTIONS.items()
    ]


#: Options that a variable may set, as RECONCILER_CLUSTER sets --cluster: where things are, and how results are printed.
#: A variable stays in a shell for a day, so none says what is meant.
_SETTABLE: Final = """
    allow-env cluster color connections engine expand master no-pager output path quiet secrets-dir store verbose
"""
#: All other options: each widens, deletes, confirms, approves, writes, judges, or selects what a command is about.
_TYPED: Final = """
    accept act all allow-cleartext-login allow-deletes allowed-signers also as-is as-of at-once attempts audit base
    baseline batch bootstrap-servers branch break-lease by canary certificate client-id config
    defaults detailed-exitcode due fail-on finish fix fleet for from git-ref git-remote grace guardrails hops host
    interval journal kafka-version keep key known-principals layout lease limit listen
    logs marker matrix max-age mechanism mode name nodes not-author not-before notify-ca
    notify-secret notify-webhook notify-when offline once only operator out override overwrite plan plans policy
    port principal reason reference repeats replay require-approvals require-id resume roles run security-protocol
    simplify since snapshot snapshots source-cluster stage team throttle ticket timeout
    trust-manifest-connection type until validate-with-broker wait with write yes
"""
#: A command with an option that is in neither set cannot be loaded.
FROM_VARIABLES: Final = frozenset(_SETTABLE.split())
TYPED_ONLY: Final = frozenset(_TYPED.split())
_PREFIX: Final = "RECONCILER"
_MORE_HELP: Final = """\
Also: reconciler help COMMAND, help connection (options to reach clusters), help recipes (steps for a task), help KA012
(a lint rule).
"""
_EPILOGUE: Final = """\
Environment variables set options: {variables} for --{option}. More options: reconciler --help.
"""
_EPILOGUE_WITHOUT: Final = "More options: reconciler --help.\n"


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
    #: The module of each command that shares one: there it is ``who_can_command``, for instance.
    shared: ClassVar[Mapping[str, str]] = {}
    #: The words before the command's own name.
    words: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *arguments: Any, **more: Any) -> None:
        """As any group, with nothing loaded."""
        super().__init__(*arguments, **more)
        self._loaded: dict[str, click.Command] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        return [name for table in self.listed().values() for name in table]

    def listed(self) -> Mapping[str, Mapping[str, str]]:
        """By heading what each command does; nothing is imported for it."""
        return {"Commands": self.table}

    def home(self, name: str) -> str | None:
        """The module of a command, and after a colon its name there, else ``command``; ``None`` if there is none."""
        word = name.replace("-", "_")
        if name in self.shared:
            return f"{self.modules}{self.shared[name]}:{word}_command"
        return f"{self.modules}{word}" if name in self.table else None

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that holds the command, or ``None`` if there is no such command."""
        name = self.aliases.get(cmd_name, cmd_name)
        if name not in self._loaded:
            home = self.home(name)
            if home is None:
                return None
            self._loaded[name] = prepared(self.load(home), (*self.words, name))
        return self._loaded[name]

    def load(self, home: str) -> click.Command:
        """The command at this place."""
        module, _, name = home.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name or "command")
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
            raise click.NoSuchCommand(
                error.command_name, possibilities=(*self.list_commands(ctx), *self.aliases), ctx=ctx
            ) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands from the table, without importing one of them."""
        words: dict[str, list[str]] = {}
        for alias, name in self.aliases.items():
            words.setdefault(name, []).append(alias)
        tables = {
            heading: [(", ".join([name, *words.get(name, [])]), text) for name, text in table.items()]
            for heading, table in self.listed().items()
        }
        # One column for all headings.
        width = max(len(name) for rows in tables.values() for name, _ in rows)
        for heading, rows in tables.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """From the table, so that nothing is imported to complete a name; the group's options as ever."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem

        return [
            CompletionItem(name, help=text)
            for table in self.listed().values()
            for name, text in table.items()
            if name.startswith(incomplete)
        ]


def prepared(command: click.Command, words: tuple[str, ...]) -> click.Command:
    """A command with everything that all commands have; ``words`` are its names, as in ``("fleet", "plan")``."""
    command.make_parser = _taking_once(command.make_parser)  # type: ignore[assignment, method-assign]
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            prepared(below, (*words, name))
    if not words:
        command.params += program_options()
        command.epilog = _MORE_HELP
    options = _options(command)
    for option in options:
        if _settable(option):
            option.envvar = _variables(words, _long(option)) if option.envvar is None else option.envvar
    if options and words:
        best = next((option for option in options if variables(option)), None)
        names = () if best is None else variables(best)
        ours = _EPILOGUE_WITHOUT if best is None else _EPILOGUE
        command.epilog = (
            examples_text(words)
            + recipes_of(words)
            + ours.format(option="" if best is None else _long(best), variables=" or ".join(reversed(names)))
        )
    if words and not isinstance(command, click.Group):
        command.params += program_options(hidden=True)
        if command.callback is not None:
            command.callback = _telling(command.callback, words)
    return command


def _taking_once(make: Callable[[click.Context], Any]) -> Callable[[click.Context], Any]:
    """Parsers that refuse an option with one value, or with an opposite, that is repeated: click keeps the last."""

    def parser_of(context: click.Context) -> Any:
        parser = make(context)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            values, rest, order = parse(args)
            for option, times in Counter(order).items():
                if (
                    times > 1
                    and isinstance(option, click.Option)
                    and takes_one(option)
                    and not context.resilient_parsing
                ):
                    names = " or ".join(max(some, key=len) for some in (option.opts, option.secondary_opts) if some)
                    raise click.UsageError(
                        f"{names} is given {times} times, and only one can count: give it once", context
                    )
            return values, rest, order

        parser.parse_args = parse_args
        return parser

    return parser_of


def takes_one(option: click.Option) -> bool:
    """Whether an option has one value, or an opposite; a plain flag says the same however often it is given."""
    return not (option.multiple or option.count) and (not option.is_flag or bool(option.secondary_opts))


def variables(option: click.Option) -> tuple[str, ...]:
    """The environment variables of an option, the first that is set counts."""
    names = option.envvar or ()
    return (names,) if isinstance(names, str) else tuple(names)


def _options(command: click.Command) -> list[click.Option]:
    return [
        parameter
        for parameter in command.params
        if isinstance(parameter, click.Option) and parameter.name not in ("version", "help")
    ]


def _settable(option: click.Option) -> bool:
    name = _long(option)
    if name not in FROM_VARIABLES and name not in TYPED_ONLY:
        raise LookupError(f"nobody has decided whether a variable may set --{name}")
    return name in FROM_VARIABLES


def _telling(callback: Callable[..., Any], words: tuple[str, ...]) -> Callable[..., Any]:
    """A command that first says which variables set its options, and which do not although they are called so."""

    @functools.wraps(callback)
    def wrapper(*arguments: Any, **more: Any) -> Any:
        context = click.get_current_context()
        ignored = dict(_ignored(context, words))
        for variable, option in ignored.items():
            info(f"warning: {variable} is ignored: --{option} counts on the command line only")
        sets = dict(_sets(context))
        if sets and not settings.verbose:  # which has said so of each
            progress("from the environment: " + ", ".join(f"{name} sets --{option}" for name, option in sets.items()))
        return callback(*arguments, **more)

    return wrapper


def _ignored(context: click.Context, words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Variables that are set for options that they cannot set."""
    for option in _options(context.command):
        if not _settable(option):
            for name in _variables(words, _long(option)):
                if os.environ.get(name):
                    yield name, _long(option)


def _sets(context: click.Context | None) -> Iterator[tuple[str, str]]:
    """Variables from which options of the command, or of the program, have their value."""
    given: set[str] = set()
    while context is not None:
        sources = {parameter: context.get_parameter_source(str(parameter.name)) for parameter in context.command.params}
        given |= {
            _called(parameter) for parameter, source in sources.items() if source is click.ParameterSource.COMMANDLINE
        }
        for option in _options(context.command):
            if sources[option] is click.ParameterSource.ENVIRONMENT and _long(option) not in given:
                yield next(name for name in variables(option) if os.environ.get(name)), _long(option)
        context = context.parent


def _called(parameter: click.Parameter) -> str:
    """An option by its long name; ``path`` is also PATH as a word."""
    return _long(parameter) if isinstance(parameter, click.Option) else str(parameter.name)


def _variables(words: tuple[str, ...], option: str) -> list[str]:
    """The command's own variable, which counts first, and that of all commands with this option."""
    own, shared = ("_".join([_PREFIX, *names, option]).replace("-", "_").upper() for names in (words, ()))
    return list(dict.fromkeys([own, shared]))


def _long(option: click.Option) -> str:
    """The option's name as it is typed, without hyphens before it."""
    return max(option.opts, key=len).lstrip("-")


# ``--verbose``: what the program logs about itself, on stderr.


class _ToConsole(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Say it; the console leaves it out once nobody wants it."""
        (info if record.levelno >= logging.WARNING else debug)(safe(record.getMessage()))


def listen() -> None:
    """Hand what this package logs to the console; other packages' logs, which may hold anything, stay unheard."""
    logger = logging.getLogger("reconciler")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    if not any(isinstance(handler, _ToConsole) for handler in logger.handlers):
        logger.addHandler(_ToConsole())
