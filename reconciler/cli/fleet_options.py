"""Options that the fleet's subcommands share, and what follows from them: a session, a store, members."""

import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import click

from reconciler.cli.console import info, progress
from reconciler.cli.defaults import user_connections
from reconciler.cli.options import gathered, with_options
from reconciler.dataclass import dataclass
from reconciler.report.style import safe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reconciler.fleet import Fleet
    from reconciler.workflow.options import ConnectionOptions


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

facts_option = click.option(
    "--connections",
    metavar="FILE",
    default=user_connections,
    type=click.Path(exists=True, dir_okay=False),
    help="The operator's file: facts about clusters that no manifest may contradict. Nothing connects.",
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


def session_for(
    options: SparkOptions, *places: str, connection: "ConnectionOptions | None" = None, passwords: bool = False
) -> "AbstractContextManager[SparkSession]":
    """A session for one command, whose tasks use files at ``places`` and connect to clusters as ``connection`` says.

    With ``passwords``, they also set passwords that manifests refer to.
    """
    from reconciler.workflow.fleet import spark, task_secrets

    if sys.stderr.isatty():
        progress("starting Spark …")
    return spark(options.master, ui=options.ui, secrets=task_secrets(places, connection, passwords=passwords))


def info_unassigned(fleet: "Fleet") -> None:
    """Say which clusters belong to no wave."""
    if fleet.unassigned:
        from reconciler.report.fleet_plan_text import cluster_names

        info(f"in no wave of fleet {safe(fleet.name)}, and left alone: {cluster_names(fleet.unassigned)}")
