"""Options that several commands share, spelled once and handed over as values."""

import datetime
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import click

Function: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Reach:
    """How the operator lets commands reach clusters and secrets."""

    connections: str | None = None
    allow_env: tuple[str, ...] = ()
    secrets_dirs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanningOptions:
    """What the command line says about a plan; texts as typed."""

    as_of: datetime.date | None = None
    allow_deletes: bool = False
    accept: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    baseline: str | None = None


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
            self.fail(f"{value!r} is no day: write YYYY-MM-DD", param, ctx)
        return day


path_argument = click.argument("path", default=".", metavar="[PATH]", type=click.Path())

output_option = click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="What goes to stdout: text for people, JSON for programs.",
)

as_of_option = click.option(
    "--as-of", metavar="DATE", type=Date(), help="The day that decides what has expired.  [default: today, UTC]"
)

expand_option = click.option("--expand", is_flag=True, help="One line for each binding, and each topic.")

#: ``--allow-env``, ``--secrets-dir``: which references to secrets are followed.
SECRETS = (
    click.option("--allow-env", multiple=True, metavar="NAME", help="Environment variable that ${env:NAME} may read."),
    click.option(
        "--secrets-dir",
        "secrets_dirs",
        multiple=True,
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False),
        help="Directory from which ${file:…} and ${dir:…} may read secrets.",
    ),
)

_CONNECTION = (
    click.option(
        "--connections",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="Cluster documents whose connection part replaces the manifests' own; required where CI is set.",
    ),
    *SECRETS,
)

_PLANNING = (
    click.option("--allow-deletes", is_flag=True, help="Delete what is no longer declared."),
    click.option("--accept", multiple=True, metavar="GUARD=OBJECT", help="Let a guard pass this object; repeatable."),
    click.option(
        "--only",
        multiple=True,
        metavar="FIELD=NAME",
        help="Only these, as in principals=User:svc-* or topics=payments.orders.",
    ),
    click.option("--exclude", multiple=True, metavar="FIELD=NAME", help="Leave these out; spelled as for --only."),
    click.option(
        "--baseline",
        metavar="SNAPSHOT",
        type=click.Path(exists=True, dir_okay=False),
        help="A snapshot of before: an empty listing where it has bindings is refused.",
    ),
    as_of_option,
)


def cluster_option(*, required: bool = True) -> Callable[[Function], Function]:
    """``--cluster NAME|snapshot:FILE``."""
    return click.option(
        "--cluster",
        required=required,
        metavar="NAME",
        help="A declared cluster, or snapshot:FILE (NAME=snapshot:FILE where several are declared).",
    )


def connection_options(function: Function) -> Function:
    """``--connections``, ``--allow-env``, ``--secrets-dir``, handed over as ``reach``."""

    @functools.wraps(function)
    def gathered(
        *, connections: str | None, allow_env: tuple[str, ...], secrets_dirs: tuple[str, ...], **others: Any
    ) -> Any:
        return function(reach=Reach(connections, allow_env, secrets_dirs), **others)

    return _with(gathered, _CONNECTION)


def planning_options(function: Function) -> Function:
    """Everything that says what a plan may hold, handed over as ``planning``."""
    names = PlanningOptions.__slots__

    @functools.wraps(function)
    def gathered(**given: Any) -> Any:
        planning = PlanningOptions(**{name: given.pop(name) for name in names})
        return function(planning=planning, **given)

    return _with(gathered, _PLANNING)


def _with(function: Function, options: tuple[Callable[[Function], Function], ...]) -> Function:
    """Apply options so that ``--help`` lists them in the given order."""
    for option in reversed(options):
        function = option(function)
    return function
