"""Options that the fleet's subcommands share, and what follows from them: a session, a store, members."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from reconciler.cli.console import info, progress
from reconciler.cli.defaults import user_connections
from reconciler.cli.options import gathered, with_options
from reconciler.dataclass import dataclass
from reconciler.report.style import safe

if TYPE_CHECKING:
    from reconciler.adapters.spark.session import Session
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


@contextmanager
def session_for(
    options: SparkOptions,
    *places: str,
    connection: "ConnectionOptions | None" = None,
    passwords: bool = False,
    workers: bool = True,
) -> "Iterator[Session]":
    """A session for one command, whose tasks use files at ``places`` and connect to clusters as ``connection`` says.

    It starts while the block reads manifests, and is waited for where it is called; ``workers`` says that tasks run in
    Python. With ``passwords``, they also set passwords that manifests refer to.
    """
    from reconciler.adapters.spark.session import is_running
    from reconciler.workflow.fleet.session import starting_spark, task_secrets

    first = options.master is None and not is_running()
    if sys.stderr.isatty():
        progress("starting Spark …")
    secrets = task_secrets(places, connection, passwords=passwords)
    with starting_spark(options.master, ui=options.ui, secrets=secrets, workers=workers) as session:
        yield session
    if first and "CI" not in os.environ:
        _prepare_quick_starts()


def _prepare_quick_starts() -> None:
    """Once on a machine, after a command has said what it had to say; not where all is thrown away after each run."""
    from reconciler.adapters.spark.class_archive import is_missing, make_archive

    if is_missing() and (context := click.get_current_context(silent=True)) is not None:

        def make() -> None:
            progress("preparing quick starts of Spark (once; up to a minute)")
            make_archive()

        context.call_on_close(make)


def info_unassigned(fleet: "Fleet") -> None:
    """Say which clusters belong to no wave."""
    if fleet.unassigned:
        from reconciler.report.fleet_plan_text import cluster_names

        info(f"in no wave of fleet {safe(fleet.name)}, and left alone: {cluster_names(fleet.unassigned)}")
