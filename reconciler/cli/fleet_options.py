"""Options that the fleet's subcommands share, and what follows from them: a session, a store, members."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from reconciler.cli.console import info
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import gathered, with_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reconciler.adapters.spark.store import FleetStore
    from reconciler.fleet import Fleet, FleetRun
    from reconciler.manifest import Manifests


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where Spark runs; ``None`` is what spark-submit says, or all cores of this machine."""

    master: str | None = None
    ui: bool = False


store_option = click.option(
    "--store",
    metavar="PLACE",
    default=".fleet",
    show_default=True,
    help="Snapshot store: a directory, or an address such as hdfs://… or s3://….",
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

#: ``--master`` and ``--spark-ui``, handed over as ``spark``.
spark_options = with_options(
    gathered(
        "spark",
        SparkOptions,
        click.option("--master", metavar="URL", help="Spark master.  [default: all local cores]"),
        click.option("--spark-ui", "ui", is_flag=True, help="Start Spark's web UI."),
    )
)


@contextmanager
def session_for(spark: SparkOptions) -> "Iterator[SparkSession]":
    """A session for one command."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from reconciler.adapters.spark.session import spark_session

    if sys.stderr.isatty():
        info("starting Spark …")
    try:
        with spark_session(spark.master, ui=spark.ui) as session:
            yield session
    except (PySparkException, Py4JError) as error:
        raise CommandError(
            f"Spark failed: {_cause(error)}", "a run that is not complete is not there; start again"
        ) from error


def _cause(error: Exception) -> str:
    """One line; py4j puts what was called before it, which tells nobody anything."""
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    return lines[0] if lines else type(error).__name__


def fleet_in(manifests: "Manifests", name: str | None) -> "Fleet":
    """The fleet that is meant; says which clusters belong to no wave."""
    from reconciler.fleet import UnknownFleetError, fleet_of

    try:
        fleet = fleet_of(manifests, name)
    except UnknownFleetError as error:
        raise CommandError(str(error), "give --fleet NAME", Exit.USAGE) from error
    if fleet.unassigned:
        info(f"in no wave of fleet {fleet.name}, and left alone: {', '.join(fleet.unassigned)}")
    if not fleet.clusters:
        raise CommandError(f"no declared cluster belongs to fleet {fleet.name}", "declare Cluster documents")
    return fleet


def stored_run(store: "FleetStore", run_id: str | None) -> "FleetRun":
    """A run of the store, or the end of the command."""
    from reconciler.adapters.spark.store import NoRunError
    from reconciler.fleet import HeaderError

    try:
        return store.run(run_id)
    except NoRunError as error:
        raise CommandError(str(error), "take one with `reconciler fleet snapshot`") from error
    except (HeaderError, OSError) as error:
        raise CommandError(f"the snapshot cannot be read: {error}") from error
