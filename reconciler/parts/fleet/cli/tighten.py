"""``reconciler fleet tighten``: least privilege from the logs of many clusters, as one edit of the manifests."""

import datetime
import sys
from collections.abc import Iterator

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.console import Exit, error, info, info_lines, style_for, worst
from reconciler.cli.options import Keeping, as_of_option, edit_options, output_option, path_argument
from reconciler.model.characters import safe
from reconciler.parts.edit.cli.options import keep
from reconciler.parts.evidence.app.tighten import TightenOptions
from reconciler.parts.evidence.cli import Policy, check_period, fleet_logs_option, period_options, policy_option
from reconciler.parts.evidence.show import fleet_tighten_lines
from reconciler.parts.evidence.usage.message import Window
from reconciler.parts.fleet.app.logs import log_parts
from reconciler.parts.fleet.app.runs import stored_run, wanted
from reconciler.parts.fleet.app.tighten import FleetTightening, fleet_tighten_output, tighten_fleet
from reconciler.parts.fleet.cli.fleet import (
    SparkOptions,
    engine_for,
    facts_option,
    fleet_option,
    info_unassigned,
    run_option,
    spark_options,
    store_option,
)
from reconciler.parts.fleet.engine import BYTES_IN_A_TASK, CLUSTERS_IN_A_TASK
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.fleet.tasks.logs import total
from reconciler.results.output import OutputKind
from reconciler.results.tightened import FLEET_TIGHTEN


@click.command("tighten", short_help="Narrow access of all clusters to what their logs show in use")
@path_argument
@fleet_logs_option
@period_options
@click.option("--offline", is_flag=True, help="Take what the manifests declare for the state; needs no snapshot.")
@policy_option
@click.option(
    "--limit",
    "show",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Clusters shown, and entries per list.",
)
@edit_options
@store_option
@fleet_option
@run_option
@as_of_option
@facts_option
@spark_options
@output_option
def command(
    *,
    path: str,
    places: tuple[str, ...],
    since: datetime.date | None,
    until: datetime.date | None,
    offline: bool,
    policy: Policy,
    show: int,
    keeping: Keeping,
    store: str,
    fleet_name: str | None,
    run_id: str | None,
    as_of: datetime.date | None,
    connections: str | None,
    spark: SparkOptions,
    output: str,
) -> int:
    """Remove the access that the logs of a fleet show unused, and narrow what was used in part, by one edit.

    A rule for several clusters is narrowed to what was used on any of them, if the logs of all of them are evidence
    enough, nothing holds it on any, and the result is proven on each. No cluster is contacted. Exit 1 if logs or
    clusters could not be read completely, 3 if the logs of a cluster are too thin.
    """
    check_period(since, until)
    connection = ConnectionOptions(connections)
    options = TightenOptions(Window(since, until), policy.bounds, policy.any_age)
    with engine_for(spark, store, *places) as engine:
        given = wanted(path, fleet_name, as_of, connection)
        info_unassigned(given.fleet)
        place = store_at(store)
        run = None if offline else stored_run(place, run_id)
        parts = log_parts(places, given.fleet.clusters)
        engine.sized(total(parts), BYTES_IN_A_TASK)
        engine.sized(len(given.fleet.clusters), CLUSTERS_IN_A_TASK)
        found = tighten_fleet(engine(), place, given, parts, options, connection, path=path, run=run)
    told = fleet_tighten_output(found)
    info_lines(fleet_tighten_lines(told, style_for(sys.stderr), shown=show))
    keep(
        OutputKind.FLEET_TIGHTEN,
        found.edit,
        keeping,
        message=f"Narrow access of fleet {given.fleet.name} to what was used",
        output=output,
        nothing="Nothing to tighten.",
        extra={"tightenedFleet": FLEET_TIGHTEN.write(told)},
    )
    return _status(found)


def _status(found: FleetTightening) -> int:
    for name, why in found.failed.items():
        error(f"of {safe(name)} nothing can be said: {safe(why)}")
    for text in _broken(found):
        error(f"a log file could not be read to the end: {safe(text)}")
    if found.unassigned.lines:
        info(f"{found.unassigned.lines:,} lines are of no known cluster")
    return worst(
        Exit.ERROR if found.failed or any(_broken(found)) else Exit.OK,
        Exit.FAILED_CHECK if any(cluster.thin for cluster in found.clusters) else Exit.OK,
    )


def _broken(found: FleetTightening) -> Iterator[str]:
    for summary in (*(cluster.summary for cluster in found.clusters), found.unassigned):
        yield from summary.broken
