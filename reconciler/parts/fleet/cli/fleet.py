"""``reconciler fleet``: the same on many clusters, on Spark. A subcommand's module is imported when it is asked for."""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.commands import CommandTable
from reconciler.cli.console import CommandError, Exit, info, progress
from reconciler.cli.options import gathered, user_connections, with_options
from reconciler.cli.parts import PARTS
from reconciler.dataclass import dataclass
from reconciler.model.characters import safe
from reconciler.parts.fleet import NEEDS
from reconciler.parts.fleet.app.engines import EngineChoice, EngineName, EngineOptions, chosen_engine, task_secrets
from reconciler.parts.fleet.spark.session import is_running, remote_of
from reconciler.show.fleet_report import cluster_names

if TYPE_CHECKING:
    from reconciler.parts.fleet.membership import Fleet

#: What YARN calls a container: the third number is the attempt.
_ATTEMPT: Final = re.compile(r"container_(?:e\d+_)?\d+_\d+_(\d+)_\d+")
#: Every subcommand and what it does, in the order in which people meet them.
SUBCOMMANDS: Final = {
    "snapshot": "Read all clusters into the store",
    "drift": "Detect drift of all clusters",
    "plan": "Plan every cluster and save the fleet's plan",
    "approve": "Sign a fleet's plan as its approver",
    "apply": "Apply a fleet's plans, wave by wave",
    "lock": "Deny a principal everything on every cluster",
    "query": "Query the whole fleet",
    "usage": "Evaluate authorizer logs: used bindings, refusals, replay",
    "tighten": "Narrow access of all clusters to what their logs show in use",
    "pack": "Pack the environment for a Spark cluster's executors",
}


class Subcommands(CommandTable):
    """The fleet's commands; they need packages of an extra."""

    table = SUBCOMMANDS
    aliases = {"diff": "plan", "status": "drift"}  # noqa: RUF012 - a ClassVar of the base
    modules = "reconciler.parts.fleet.cli."
    shared = {"apply": "plan", "approve": "plan", "drift": "snapshot", "usage": "tighten"}  # noqa: RUF012
    words = ("fleet",)

    def load(self, home: str) -> click.Command:
        """The command; a package that is not installed ends it with the extra to install."""
        missing = next((package for package in NEEDS if find_spec(package) is None), None)
        if missing is not None:
            raise CommandError(f"fleet commands need the package {missing}", PARTS["fleet"].pip)
        return super().load(home)


@click.command("fleet", cls=Subcommands, short_help="Snapshot, compare, plan and apply many clusters on Spark")
def command() -> None:
    """Snapshot, compare, plan, apply and query a fleet of clusters."""


# Options that the fleet's subcommands share, and what follows from them: a session, a store, members.


#: Seconds until it is first said how far tasks are.
_FIRST_TICK: Final = 5.0


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where the work is done; ``master`` ``None`` is what spark-submit says, or all cores of this machine."""

    engine: str = "auto"
    master: str | None = None


store_option = click.option(
    "--store",
    metavar="PLACE",
    default=".fleet",
    show_default=True,
    help="Snapshot store: a directory, or an address such as hdfs://… or s3://….",
)

at_once_option = click.option(
    "--at-once", type=click.IntRange(1, 64), default=4, show_default=True, help="Clusters per Spark task."
)

fleet_option = click.option(
    "--fleet", "fleet_name", metavar="NAME", help="Name of the Fleet document, if several are declared."
)

run_option = click.option("--run", "run_id", metavar="ID", help="Snapshot run.  [default: the newest]")

snapshots_option = click.option(
    "--snapshots",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="Use snapshot files instead of clusters: DIR/NAME.json for cluster NAME.",
)

facts_option = click.option(
    "--connections",
    metavar="FILE",
    default=user_connections,
    type=click.Path(exists=True, dir_okay=False),
    help="The operator's file: facts about clusters that no manifest may contradict. Nothing connects.",
)

#: ``--engine`` and ``--master``, handed over as ``spark``.
spark_options = with_options(
    gathered(
        "spark",
        SparkOptions,
        click.option(
            "--engine",
            type=click.Choice(["auto", "spark", "local"]),
            default="auto",
            help="Where the work is done: on Spark, or in this process. auto: in this process if that takes less time "
            "than Spark's start.",
        ),
        click.option(
            "--master", metavar="URL", help="Spark master, or sc://… for Spark Connect.  [default: all local cores]"
        ),
    )
)


@contextmanager
def engine_for(
    options: SparkOptions,
    *places: str,
    connection: ConnectionOptions | None = None,
    passwords: bool = False,
    workers: bool = True,
    once: int = 0,
) -> "Iterator[EngineChoice]":
    """An engine for one command, whose tasks use files at ``places`` and connect to clusters as ``connection`` says.

    Which one is decided by the work, and Spark starts while the block reads manifests. With ``workers``, tasks run in
    Python; with ``passwords``, they also set passwords that manifests refer to. With ``once`` they change clusters, so
    many at a time.
    """
    if options.engine == "local" and options.master is not None:
        raise CommandError("--master is Spark's", "leave it out, or --engine local", Exit.USAGE)
    first = options.master is None and not is_running() and not remote_of(None)
    secrets = task_secrets(places, connection, passwords=passwords)
    asked = EngineOptions(EngineName(options.engine), options.master, secrets, workers, once)
    # spark-submit puts what a program says on stderr among its standard output, where a program may look for JSON.
    ticker = None if "PYSPARK_GATEWAY_PORT" in os.environ else Ticker()
    with chosen_engine(asked, tell=info, watch=ticker) as choice:
        yield choice
    if first and not choice.is_local and "CI" not in os.environ:
        _prepare_quick_starts()


def refuse_second_attempt() -> None:
    """Refuse to change clusters because YARN runs a driver again that has ended: who started it decides about that."""
    attempt = _ATTEMPT.fullmatch(os.environ.get("CONTAINER_ID", ""))
    if attempt is not None and int(attempt[1]) > 1:
        raise CommandError(
            "YARN runs this a second time, because the first time did not end with 0: nothing was sent",
            "see how the first attempt ended; set spark.yarn.maxAppAttempts to 1",
            Exit.USAGE,
        )


class Ticker:
    """Says how far tasks are: after some seconds first, then ever less often, some ten times in an hour and a half."""

    def __init__(self) -> None:
        """From now on."""
        self._pause = _FIRST_TICK
        self._next = time.monotonic() + self._pause

    def __call__(self, doing: str, ended: int, size: int, counts: Mapping[str, int]) -> None:
        """As :data:`reconciler.parts.fleet.engine.Watch`."""
        if time.monotonic() < self._next or ended == size:
            return
        self._pause *= 2
        self._next = time.monotonic() + self._pause
        parts = [f"{doing}: {ended:,} of {size:,} done", *(f"{counts[kind]:,} {kind}" for kind in sorted(counts))]
        progress(", ".join(parts))


def _prepare_quick_starts() -> None:
    """Once on a machine, after a command has said what it had to say; not where all is thrown away after each run."""
    from reconciler.parts.fleet.spark.jvm import is_missing, make_archive

    if is_missing() and (context := click.get_current_context(silent=True)) is not None:

        def make() -> None:
            progress("preparing quick starts of Spark (once; up to a minute)")
            make_archive()

        context.call_on_close(make)


def info_unassigned(fleet: "Fleet") -> None:
    """Say which clusters belong to no wave."""
    if fleet.unassigned:
        info(f"in no wave of fleet {safe(fleet.name)}, and left alone: {cluster_names(fleet.unassigned)}")
