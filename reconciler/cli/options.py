"""Options that several commands share, spelled once and handed over as values."""

import datetime
import functools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from reconciler.cli.exits import CommandError, Exit
from reconciler.workflow.options import ConnectionOptions, PlanOptions

if TYPE_CHECKING:
    from reconciler.plan import GuardAcknowledgement

Function: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Function], Function]


class Date(click.ParamType[datetime.date]):
    """A day as YYYY-MM-DD."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime.date:
        """Parse, or fail with what was expected."""
        if isinstance(value, datetime.date):
            return value
        try:
            day = datetime.date.fromisoformat(value)
        except ValueError:
            day = None
        if day is None or day.isoformat() != value:  # as in manifests: no week, no day without hyphens
            self.fail(f"{value!r} is not a date: write YYYY-MM-DD", param, ctx)
        return day


class Accepted(click.ParamType["GuardAcknowledgement"]):
    """``GUARD=OBJECT``."""

    name = "guard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "GuardAcknowledgement":
        """Parse, or end the command with the guards that there are."""
        from reconciler.plan import Guard, GuardAcknowledgement

        guard, equals, name = value.partition("=")
        try:
            if not equals or not name:
                raise ValueError
            return GuardAcknowledgement(Guard(guard), name, "accepted on the command line")
        except ValueError:
            advice = f"guards are: {', '.join(Guard)}"
            raise CommandError(f"--accept {value}: write GUARD=OBJECT", advice, Exit.USAGE) from None


path_argument = click.argument("path", default=".", metavar="[PATH]", type=click.Path())

output_option = click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format on stdout.",
)

as_of_option = click.option(
    "--as-of", metavar="DATE", type=Date(), help="Date used to decide what has expired.  [default: today, UTC]"
)

expand_option = click.option("--expand", is_flag=True, help="Print one line per binding and per topic.")

accept_option = click.option(
    "--accept",
    multiple=True,
    metavar="GUARD=OBJECT",
    type=Accepted(),
    help="Acknowledge a guard for this object; repeatable.",
)

#: ``--allow-env``, ``--secrets-dir``: which references to secrets are followed.
SECRETS = (
    click.option(
        "--allow-env", multiple=True, metavar="NAME", help="Allow ${env:NAME} to read this variable; repeatable."
    ),
    click.option(
        "--secrets-dir",
        "secrets_dirs",
        multiple=True,
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False),
        help="Allow ${file:…} and ${dir:…} to read from this directory.",
    ),
)

_CONNECTION = (
    click.option(
        "--connections",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="File with the clusters' connections; replaces those in the manifests. Required if CI is set.",
    ),
    *SECRETS,
)

_PLANNING = (
    click.option("--allow-deletes", is_flag=True, help="Delete what is no longer declared."),
    accept_option,
    click.option(
        "--only",
        multiple=True,
        metavar="FIELD=NAME",
        help="Plan only these, as in principals=User:svc-* or topics=payments.orders.",
    ),
    click.option("--exclude", multiple=True, metavar="FIELD=NAME", help="Skip these; same syntax as --only."),
    click.option(
        "--baseline",
        metavar="SNAPSHOT",
        type=click.Path(exists=True, dir_okay=False),
        help="Earlier snapshot: refuse to plan if it had ACLs and the cluster now lists none.",
    ),
    as_of_option,
)


def cluster_option(*, required: bool = True) -> Decorator:
    """``--cluster NAME|snapshot:FILE``."""
    return click.option(
        "--cluster",
        required=required,
        metavar="NAME",
        help="A declared cluster, or snapshot:FILE (NAME=snapshot:FILE if several are declared).",
    )


def gathered(name: str, kind: Callable[[], Any], *options: Decorator) -> tuple[Decorator, ...]:
    """Options that a command gets as the fields of one value.

    They are gathered while the command line is parsed, so nothing stands between the program and the command.
    """

    def gather(context: click.Context, option: click.Parameter, value: Any) -> None:
        context.params[name] = replace(context.params.get(name) or kind(), **{str(option.name): value})

    def attached(decorator: Decorator, function: Function) -> Function:
        function = decorator(function)
        option: click.Parameter = function.__click_params__[-1]  # type: ignore[attr-defined]
        option.expose_value, option.callback = False, gather
        return function

    return tuple(partial(attached, option) for option in options)


def with_options(options: tuple[Decorator, ...]) -> Decorator:
    """All of them, listed by ``--help`` in the given order."""
    return lambda function: functools.reduce(lambda made, option: option(made), reversed(options), function)


#: ``--connections``, ``--allow-env``, ``--secrets-dir``, handed over as ``connection``.
CONNECTION: Final = gathered("connection", ConnectionOptions, *_CONNECTION)
connection_options = with_options(CONNECTION)

#: Everything that says what a plan may hold, handed over as ``planning``.
planning_options = with_options(gathered("planning", PlanOptions, *_PLANNING))
