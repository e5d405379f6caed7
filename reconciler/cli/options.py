"""Options that several commands share, spelled once and handed over as values."""

import datetime
import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from reconciler.app.options import SNAPSHOT, ConnectionOptions, PastReadings, moment
from reconciler.cli.console import CommandError, Exit, debug, settings
from reconciler.cli.parts import part_module
from reconciler.kafka.reader_process import started_early
from reconciler.model.desired import Expiry, instant_of, read_moment

if TYPE_CHECKING:
    from click.decorators import FC

    from reconciler.app.manifests import FoundProject
    from reconciler.show.result import Columns

# What the values of options can be, beside what click has.


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


class Moment(click.ParamType[datetime.date]):
    """A day as YYYY-MM-DD, or an instant as RFC 3339 writes it."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime.date:
        """Parse, or fail with what was expected."""
        if isinstance(value, datetime.date):
            return value
        try:
            return read_moment(value)
        except ValueError:
            instead = "is not a date: write YYYY-MM-DD, or an instant as 2027-01-31T18:00:00Z"
            self.fail(f"{value!r} {_without_zone(value) or instead}", param, ctx)


def _without_zone(text: str) -> str:
    """What to write where only the time zone is missing: without one it is another instant wherever it is read."""
    written = re.fullmatch(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?", text, re.ASCII)
    return (
        f"has no time zone: write {written[1]}T{written[2]}{written[3] or ':00'}Z for UTC, or an offset"
        if written
        else ""
    )


class Since(click.ParamType[datetime.datetime]):
    """A day, an instant, or a time ago as a number of days or hours: ``90d``."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime.datetime:
        """The instant in UTC, or fail with what was expected."""
        if isinstance(value, datetime.datetime):
            return value
        if match := re.fullmatch(r"([0-9]{1,5})([hd])", value):
            return moment() - datetime.timedelta(**{{"h": "hours", "d": "days"}[match[2]]: int(match[1])})
        try:
            return instant_of(read_moment(value))
        except ValueError:
            instead = "is no time: write YYYY-MM-DD, an instant as 2027-01-31T18:00:00Z, or 90d"
            self.fail(f"{value!r} {_without_zone(value) or instead}", param, ctx)


_SPAN: Final = re.compile(r"([1-9][0-9]{0,3})(m|h|d|w)")
_DAYS: Final = {"d": 1, "w": 7}
_MINUTES: Final = {"m": 1, "h": 60}


class Until(click.ParamType[Expiry]):
    """A day or an instant; days or weeks from today, ``14d``, ``2w``; minutes or hours from now, ``30m``, ``2h``."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Expiry:
        """Parse, or fail with what was expected."""
        if isinstance(value, Expiry):
            return value
        match = _SPAN.fullmatch(value)
        if match is None:
            return Expiry(Moment().convert(value, param, ctx))
        count, unit = int(match[1]), match[2]
        if unit in _MINUTES:
            return Expiry(moment() + datetime.timedelta(minutes=count * _MINUTES[unit]))
        return Expiry(moment().date() + datetime.timedelta(days=count * _DAYS[unit]))


# Where an option's value comes from if nobody gives it: the project file, and the user's own connections file.


def project() -> "FoundProject | None":
    """The project file of this run, read when something first asks for it."""
    if settings.project is None:
        context = click.get_current_context(silent=True)
        # What a shell asks while somebody types has no room for the problems of a file.
        typing = context is not None and context.resilient_parsing
        settings.project = (None if typing else project_of(),)
        for project_file in filter(None, settings.project):
            debug(f"project file: {project_file.file}")
    return settings.project[0]


def project_of(*below: str) -> "FoundProject | None":
    """The project file above these directories, or above the working directory."""
    from reconciler.app.manifests import find_project  # what only prints help reads no file

    return find_project(*below)


def from_project(field: str, otherwise: Any) -> Callable[[], Any]:
    """A default that the project file can set."""

    def default() -> Any:
        project_file = project()
        value = None if project_file is None else getattr(project_file.project, field)
        return otherwise if value is None else value

    return default


def project_path() -> str:
    """Where the manifests are if no PATH is given."""
    project_file = project()
    return (None if project_file is None else project_file.path) or "."


def user_connections() -> str | None:
    """The connections file that the user keeps, if there is one.

    Not in CI: there another job of the same user may have left it, and a pipeline can name its file.
    """
    if "CI" in os.environ:
        return None
    from platformdirs import user_config_path

    try:
        file = user_config_path("reconciler", appauthor=False) / "connections.yaml"
    except RuntimeError:  # no home directory
        return None
    if not (file.is_absolute() and file.is_file()):
        return None
    debug(f"connections file: {file}")
    return str(file)


Function: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Function], Function]


#: Names ``--path``, which is read before the word, in the context of a command.
_PATH: Final = "reconciler.path"


def _keep_path(context: click.Context, option: click.Parameter, value: str | None) -> None:
    context.meta[_PATH] = value, context.get_parameter_source(str(option.name))


def _path_of(context: click.Context, argument: click.Parameter, value: str | None) -> str | None:
    """PATH as a word, or as ``--path`` and what stands for it; both at once are a mistake."""
    option, source = context.meta[_PATH]
    if context.get_parameter_source(str(argument.name)) is not click.ParameterSource.COMMANDLINE:
        return value if option is None else str(option)
    if source is click.ParameterSource.COMMANDLINE:
        raise click.UsageError("PATH is given twice, as a word and with --path", context)
    return value


def _path_option(name: str, word: str = "", **more: Any) -> Decorator:
    words = f"Manifests: a directory, or one file{word}.  [default: .]"
    return click.option("-f", "--path", name, metavar="PATH", type=click.Path(), help=words, **more)


#: ``--path PATH``, where no word is PATH.
path_option = _path_option("path")


def _path(default: Callable[[], str] | None) -> Decorator:
    option = _path_option(
        "path_option", "; the same as the word PATH", expose_value=False, is_eager=True, callback=_keep_path
    )
    argument = click.argument(
        "path", metavar="[PATH]", default=default, required=False, type=click.Path(), callback=_path_of
    )
    return lambda function: argument(option(function))


#: ``[PATH]``, or ``--path PATH``.
path_argument = _path(project_path)
#: The same where a command can do without manifests: ``None`` unless given.
optional_path_argument = _path(None)


#: What ``--roles`` takes, and what it means.
_ROLES: Final = {
    "exact": "where they are equivalent",
    "implied": "also where they only add DESCRIBE, which READ and WRITE grant anyway",
    "none": "or nowhere",
}


def roles_option(*choices: str) -> Decorator:
    """``--roles``: where built-in roles are written."""
    meanings = ", ".join(f"{_ROLES[name]} ({name})" for name in choices)
    return click.option(
        "--roles",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help=f"Write built-in roles {meanings}.",
    )


def listing_option(*lists: str, columns: "Columns | None" = None) -> Decorator:
    """``--output``, with table and CSV if the command's document has ``lists``, such as ``states.findings``.

    ``columns`` are those of a table that people read, by their headings; CSV has every field.

    A command is told ``text`` or ``json``: whatever is not text is its JSON document, in that form.
    """

    def chosen(context: click.Context, option: click.Parameter, value: str) -> str:
        if value in ("text", "json"):
            return value
        from reconciler.show import result as forms

        tree = forms.lists_at(*lists)
        forms_of: dict[str, Callable[[Any], Iterable[str]]] = {
            "yaml": lambda document: [forms.yaml_text(document)],
            "table": lambda document: [forms.table_text(document, tree, columns)],
            "csv": lambda document: forms.csv_pieces(document, tree),
        }
        form = forms_of[value]
        settings.document = lambda document: form(forms.plain_document(document))
        settings.rows, settings.table = value in ("table", "csv"), value == "table"
        return "json"

    return click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json", "yaml", *(["table", "csv"] if lists else [])]),
        default=from_project("output", "text"),
        callback=chosen,
        help="Output format on stdout.  [default: text]",
    )


output_option = listing_option()

offline_option = click.option(
    "--offline", is_flag=True, help="With --cluster: use only what is declared for it; do not connect."
)

as_of_option = click.option(
    "--as-of",
    metavar="TIME",
    type=Moment(),
    help="Day (YYYY-MM-DD, as it begins in UTC) or instant (2027-01-31T18:00:00Z) that counts as now.  [default: now]",
)


class StoreOfReadings(click.ParamType[PastReadings]):
    """A store of readings, with the part that knows states of the past by it."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> PastReadings:
        """The place with its reader, or end the command with how to install the part."""
        if isinstance(value, PastReadings):
            return value
        return PastReadings(str(value), part_module("history", "--store").read_past)


#: ``--store`` and what belongs to it.
past_options: Final = (
    click.option(
        "--store",
        metavar="PLACE",
        type=StoreOfReadings(),
        help="With --cluster and --as-of: answer for that past time, by the readings that serve --store or fleet "
        "snapshot keep here.",
    ),
    click.option(
        "--audit",
        metavar="FILE",
        multiple=True,
        help="With --store: an audit log, which has the instants and the people of changes; repeatable.",
    ),
)


#: What was done before what a store of readings shows.
past_audit_option = click.option(
    "--audit", metavar="FILE", multiple=True, help="With --store: an audit log of runs; repeatable."
)


class ConnectionOption(click.Option):
    """An option of every command that connects: help names them together, and ``help connection`` describes them."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """One line for all of them, in the place of the first."""
        return ("Connection options: reconciler help connection", "") if self.name == "connections" else None

    def whole_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """As any option."""
        return super().get_help_record(ctx)


def _secrets(cls: type[click.Option]) -> "tuple[Callable[[FC], FC], ...]":
    return (
        click.option(
            "--allow-env",
            cls=cls,
            multiple=True,
            metavar="NAME",
            help="Allow ${env:NAME} to read this variable; repeatable.",
        ),
        click.option(
            "--secrets-dir",
            "secrets_dirs",
            cls=cls,
            multiple=True,
            metavar="DIR",
            type=click.Path(exists=True, file_okay=False),
            help="Allow ${file:…} and ${dir:…} to read from this directory.",
        ),
    )


#: ``--allow-env``, ``--secrets-dir``: which references to secrets are followed.
SECRETS = _secrets(click.Option)

_CONNECTION = (
    click.option(
        "--connections",
        cls=ConnectionOption,
        metavar="FILE",
        default=user_connections,
        type=click.Path(exists=True, dir_okay=False),
        help="The operator's file: how to reach clusters, and facts about them that no manifest may contradict. "
        "Required if CI is set.  [default: reconciler/connections.yaml in your configuration directory]",
    ),
    click.option(
        "--trust-manifest-connection",
        "trust_manifests",
        cls=ConnectionOption,
        is_flag=True,
        help="Let the manifests name addresses and secrets: whoever edits them can redirect your login.",
    ),
    *_secrets(ConnectionOption),
    click.option(
        "--allow-cleartext-login",
        "cleartext_login",
        cls=ConnectionOption,
        is_flag=True,
        help="Allow SASL without TLS to other machines: whoever sees the traffic can use or guess the password.",
    ),
)


def meant_cluster(cluster: str | None) -> str | None:
    """The cluster that a command connects to: the one named, else the project's, else ``None`` for the only one.

    In CI somebody has to name it: a proposal that renames its Cluster document would choose where it is performed.
    """
    if cluster is None and "CI" in os.environ:
        advice = "pass --cluster NAME, or set RECONCILER_CLUSTER in the pipeline"
        raise CommandError("in CI the operator names the cluster, not the manifests", advice, Exit.USAGE)
    named: str | None = from_project("cluster", None)()
    return cluster or named


def _cluster_names(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """For completion: the clusters of the connections file and of the manifests that the words so far name."""
    from reconciler.app.session import cluster_names  # no other word of a command line needs it to be completed

    path = context.params.get("path") or from_project("path", ".")() or "."
    names = cluster_names(path, context.params.get("connections") or user_connections())
    return sorted(name for name in names if name.startswith(begun))


def cluster_option(*, needed: bool = True) -> Decorator:
    """``--cluster NAME|snapshot:FILE``; a command that asks a cluster anyway (``needed``) can find out which one."""
    alone = "  [default: the only one declared]" if needed else ""
    return click.option(
        "-c",
        "--cluster",
        metavar="NAME",
        shell_complete=_cluster_names,
        callback=(lambda _, __, value: meant_cluster(value)) if needed else None,
        help=f"A declared cluster, or snapshot:FILE (NAME=snapshot:FILE if several are declared).{alone}",
    )


@contextmanager
def started_reader(cluster: str | None) -> Iterator[None]:
    """Start the process that will list the ACLs of ``cluster``, unless that is a snapshot file.

    It loads its libraries on another processor, while this process loads its own. Nothing is sent, and it knows no
    secret yet; if the use case fails before it reads a cluster, the process ends with it.
    """
    if cluster is not None and SNAPSHOT in cluster:
        yield
        return
    with started_early():
        yield


def start_reader(cluster: str | None) -> None:
    """Start the process that will read ``cluster``, before what the command imports; it ends with the command."""
    click.get_current_context().with_resource(started_reader(cluster))


def gathered(
    name: str,
    kind: Callable[[], Any],
    *options: Decorator,
    implied: Mapping[str, str] = {},
    spread: Mapping[str, Callable[[Any], Mapping[str, Any]]] = {},
) -> tuple[Decorator, ...]:
    """Options that a command gets as the fields of one value.

    They are gathered while the command line is parsed, so nothing stands between the program and the command.
    ``implied`` are the fields that say of others whether their value is a default; ``spread`` makes several fields of
    one option.
    """

    def gather(context: click.Context, option: click.Parameter, value: Any) -> None:
        called = str(option.name)
        fields = dict(spread[called](value)) if called in spread else {called: value}
        if option.name in implied and value is not None:
            fields[implied[option.name]] = context.get_parameter_source(option.name) is click.ParameterSource.DEFAULT
        context.params[name] = replace(context.params.get(name) or kind(), **fields)

    def attached(decorator: Decorator, function: Function) -> Function:
        function = decorator(function)
        option: click.Parameter = function.__click_params__[-1]  # type: ignore[attr-defined]
        option.expose_value, option.callback = False, gather
        return function

    return tuple(partial(attached, option) for option in options)


def with_options(options: tuple[Decorator, ...]) -> Decorator:
    """All of them, listed by ``--help`` in the given order."""
    return lambda function: functools.reduce(lambda decorated, option: option(decorated), reversed(options), function)


#: Everything about reaching clusters, handed over as ``connection``.
CONNECTION: Final = gathered(
    "connection",
    lambda: ConnectionOptions(default_path=project_path()),
    *_CONNECTION,
    implied={"connections": "implied"},
)
connection_options = with_options(CONNECTION)
