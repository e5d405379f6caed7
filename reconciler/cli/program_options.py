"""Options of the program, which may be given before a command's name and after it."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from reconciler.cli.console import COLORS, Settings, debug, settings
from reconciler.cli.defaults import from_project
from reconciler.cli.file_mode import Mode, set_mode


def _set(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """A callback that changes a setting of the console if the option was given, here or before the command's name."""

    def change(context: click.Context, option: click.Parameter, value: Any) -> None:
        implied = context.get_parameter_source(str(option.name)) is click.ParameterSource.DEFAULT
        if value not in (None, False) and not (implied and getattr(settings, name) != getattr(Settings(), name)):
            setattr(settings, name, value)

    return change


def _set_verbose(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        from reconciler.cli.verbose import listen

        settings.verbose = True
        listen()
        for one in context.command.params:
            names = one.envvar if isinstance(one.envvar, list) else []
            variable = next((name for name in names if os.environ.get(name)), None)
            if variable is not None:  # the name only: a value may be anything
                debug(f"{variable} sets {max(one.opts, key=len)}, unless the command line does")


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
    "--no-pager": lambda: from_project("pager", True)() is False,
}


def program_options(*, hidden: bool = False) -> list[click.Parameter]:
    """The options; those after a command's name are ``hidden``, for the program's help lists them once."""
    defaults = _DEFAULTS if hidden else {}
    return [
        click.Option(names, expose_value=False, is_eager=True, hidden=hidden, default=defaults.get(names[-1]), **said)
        for names, said in _OPTIONS.items()
    ]
