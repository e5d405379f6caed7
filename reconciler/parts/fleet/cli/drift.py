"""``reconciler fleet drift``: how all clusters differ from the manifests.

Most is imported while Spark starts.
"""

import datetime
import sys
from typing import TYPE_CHECKING, Final

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.console import Exit, error, out, out_json, settings, style_for, worst
from reconciler.cli.options import as_of_option, listing_option, path_argument
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.model.characters import counted
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
from reconciler.parts.fleet.engine import CLUSTERS_IN_A_TASK, ROWS_IN_A_TASK
from reconciler.results import OutputKind
from reconciler.results.fleet_drift import FleetDrift, FleetRun
from reconciler.show.document import lines_shown
from reconciler.show.fleet_report import FleetReport, drift_lines, drift_summary, fleet_document, fleet_report

if TYPE_CHECKING:
    from reconciler.parts.fleet.store import FleetStore

_SHOWN: Final = 10


@click.command("drift", short_help="Detect drift of all clusters")
@path_argument
@store_option
@fleet_option
@run_option
@click.option(
    "--limit",
    "show",
    type=click.IntRange(0),
    help="Maximum differences shown per cluster.  [default: 10; all in a table or CSV]",
)
@as_of_option
@facts_option
@spark_options
@listing_option(
    "clusters.differences",
    columns={"CLUSTER": "cluster", "CHANGE": "sign", "DIFFERENCE": "text", "NOT KNOWN": "failure.message doubt"},
)
def command(
    *,
    path: str,
    store: str,
    fleet_name: str | None,
    run_id: str | None,
    show: int | None,
    as_of: datetime.date | None,
    connections: str | None,
    spark: SparkOptions,
    output: str,
) -> int:
    """Compare a snapshot of the fleet with the manifests below PATH. Exit 2 if a cluster differs, 1 if one is unknown.

    No cluster is contacted. The differences stay in the store, for `reconciler fleet query`. `reconciler report`
    makes a page with a heat map, or metrics, of the JSON.
    """
    with engine_for(spark, store) as engine:
        from reconciler.parts.fleet.app.runs import drift_fleet, is_compiled, stored_run, wanted
        from reconciler.parts.fleet.tables import store_at

        place = store_at(store)
        run = stored_run(place, run_id)
        engine.sized(run.rows, ROWS_IN_A_TASK)
        given = wanted(path, fleet_name, as_of, ConnectionOptions(connections))
        # What was compiled before is no work, of however many clusters.
        if engine.is_local and not is_compiled(place, given):
            engine.sized(len(given.fleet.clusters), CLUSTERS_IN_A_TASK)
        info_unassigned(given.fleet)
        drift = drift_fleet(engine(), place, run, given)
    shown = Shown(_SHOWN if show is None and not settings.rows else show, teams=output == "json")
    fleet = report_of(drift, place, given.manifests, run, shown)
    if output == "json":
        out_json(OutputKind.FLEET_DRIFT, fleet_document(fleet))
    else:
        style = style_for(sys.stdout)
        out([drift_summary(fleet)] if settings.quiet else drift_lines(fleet, style, expand=settings.expand))
    doubtful = drift.doubtful[: lines_shown(len(drift.doubtful), expand=settings.expand)]
    for item in doubtful:
        error(f"{item.cluster}: {item.doubt}")
    if len(doubtful) < len(drift.doubtful):
        error(f"{len(drift.doubtful) - len(doubtful):,} more clusters could not be read completely")
    if drift.failed:
        error(f"nothing can be said of {counted(len(drift.failed), 'cluster')}")
    return worst(Exit.ERROR if drift.failed else Exit.OK, Exit.DIFFERENT if drift.differing else Exit.OK)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a report has besides counts: so many differences of each cluster (or all), and whose they are."""

    differences: int | None
    teams: bool


def report_of(drift: FleetDrift, store: "FleetStore", manifests: Manifests, run: FleetRun, shown: Shown) -> FleetReport:
    """What is reported, whatever the format."""
    from reconciler.parts.fleet.app.members import differences_by_team
    from reconciler.parts.fleet.differences import changes_of

    teams = differences_by_team(drift, store, manifests) if shown.teams else {}
    taken = {item.cluster: item.taken for item in run.readings}
    return fleet_report(
        drift,
        lambda item: changes_of(store.files, item.files, item.cluster),
        taken=taken,
        teams=teams,
        shown=shown.differences,
    )
