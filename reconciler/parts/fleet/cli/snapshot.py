"""``reconciler fleet snapshot`` and ``drift``: read all clusters into a store, and compare them with the manifests.

Most is imported while Spark starts.
"""

import dataclasses
import datetime
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import click

from reconciler.app.connections import as_operator_says, refuse_proposed_secrets
from reconciler.app.manifests import load
from reconciler.app.options import ConnectionOptions, moment, now
from reconciler.cli.console import CommandError, Exit, error, out, out_json, progress, settings, style_for, worst
from reconciler.cli.options import as_of_option, connection_options, listing_option, output_option, path_argument
from reconciler.cli.parts import part_module
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.model.characters import counted
from reconciler.parts.fleet.cli import fleet
from reconciler.parts.fleet.engine import CLUSTERS_IN_A_TASK, ROWS_IN_A_TASK
from reconciler.results import OutputKind
from reconciler.results.fleet_drift import FleetDrift, FleetRun, HeaderError
from reconciler.show.document import lines_shown
from reconciler.show.fleet_report import (
    FleetReport,
    drift_lines,
    drift_summary,
    fleet_document,
    fleet_report,
    run_lines,
)

if TYPE_CHECKING:
    from reconciler.parts.fleet.store import FleetStore

_SHOWN: Final = 10


@click.command("snapshot", short_help="Read all clusters into the store")
@path_argument
@fleet.store_option
@fleet.fleet_option
@click.option(
    "-c",
    "--cluster",
    "only",
    multiple=True,
    metavar="NAME",
    envvar=["RECONCILER_FLEET_SNAPSHOT_CLUSTER"],  # the cluster of other commands would leave out the rest of the fleet
    help="Read only this cluster; repeatable.",
)
@click.option(
    "--from",
    "files",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Import a snapshot file instead of reading the cluster; repeatable.",
)
@fleet.snapshots_option
@click.option(
    "--keep",
    type=click.IntRange(0),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="Days of which all runs are kept; then one a day for a year, and one a week for seven years.",
)
@click.option(
    "--resume", is_flag=True, help="Continue a killed snapshot: the clusters that it read are not read again."
)
@fleet.at_once_option
@click.option("--timeout", type=float, default=120.0, show_default=True, help="Seconds to wait for one cluster.")
@click.option(
    "--attempts", type=click.IntRange(1, 10), default=3, show_default=True, help="Maximum attempts per cluster."
)
@connection_options
@fleet.spark_options
@output_option
def command(
    *,
    path: str,
    store: str,
    fleet_name: str | None,
    only: tuple[str, ...],
    files: tuple[str, ...],
    snapshots: str | None,
    keep: int,
    resume: bool,
    at_once: int,
    timeout: float,
    attempts: int,
    connection: ConnectionOptions,
    spark: fleet.SparkOptions,
    output: str,
) -> int:
    """Read every cluster of the fleet that PATH declares into the store.

    Nothing is written to a cluster. A cluster that cannot be read is recorded with the reason, the others are read, and
    the command exits with 1. With --cluster or --from, everything else is carried over from the run before; what other
    drivers write to the store meanwhile is too.
    """
    if files and (only or snapshots):
        raise CommandError("--from goes without --cluster and --snapshots", status=Exit.USAGE)
    if not (files or snapshots):
        refuse_proposed_secrets(path, connection)
    with fleet.engine_for(spark, store, *files, connection=None if files or snapshots else connection) as engine:
        from reconciler.parts.fleet.app.members import MemberConnections, file_readers, live_readers
        from reconciler.parts.fleet.app.runs import fleet_in, take
        from reconciler.parts.fleet.readings import CollectionLimits
        from reconciler.parts.fleet.tables import store_at

        manifests = as_operator_says(load(path), path, connection)
        carries: Callable[[str], bool] | None = _every_other
        if files:
            readers = file_readers(manifests, files)
        else:
            chosen = fleet_in(manifests, fleet_name)
            if not only:  # what no manifest declares any more goes
                others = set(manifests.clusters) - set(chosen.clusters)
                carries = others.__contains__ if others else None
            fleet.info_unassigned(chosen)
            unknown = sorted(set(only) - set(chosen.clusters))
            if unknown:
                raise CommandError(f"not in fleet {chosen.name}: {', '.join(unknown)}", status=Exit.USAGE)
            members = MemberConnections(connection, snapshots)
            readers = live_readers(manifests, only or chosen.clusters, members, moment())
        engine.sized(len(readers), CLUSTERS_IN_A_TASK)
        place = store_at(store)
        patience = CollectionLimits(at_once, timeout, attempts)
        run = take(engine(), place, readers, patience, carries=carries, resume=resume)
    forgotten = _forgotten(place, keep)
    if output == "json":
        out_json(OutputKind.FLEET_SNAPSHOT, run_document(run))
    else:
        out(run_lines(run))
    if forgotten:
        progress(f"forgotten: {', '.join(forgotten)}")
    asked = {reader.cluster for reader in readers}
    failed = [failure for failure in run.failures if failure.cluster in asked]
    if failed:
        error(f"{len(failed)} of {len(asked)} clusters could not be read")
    return Exit.ERROR if failed else Exit.OK


def _every_other(_: str) -> bool:
    return True


def _forgotten(place: "FleetStore", keep: int) -> list[str]:
    """The runs that went; the new one is there whatever becomes of the old ones."""
    try:
        gone: list[str] = part_module("history", "--keep").thin_out(place, keep, now())
    except (HeaderError, OSError) as trouble:
        error(f"no run was forgotten: {trouble}", "remove the record that is damaged")
        return []
    return gone


def run_document(run: FleetRun) -> dict[str, object]:
    """What ``--output json`` prints."""
    return {
        "run": run.id,
        "taken": run.taken,
        "clusters": [
            {
                "cluster": item.cluster,
                "clusterId": item.cluster_id,
                "taken": item.taken,
                "bindings": item.rows,
                "topics": item.topic_count,
                "opaque": len(item.opaque),
                "unreadableTopics": dict(item.unreadable_topics),
                "aclGap": item.acl_gap,
                "topicGap": item.topic_gap,
                "notes": list(item.notes),
            }
            for item in run.readings
        ],
        "failures": [dataclasses.asdict(item) for item in run.failures],
    }


@click.command("drift", short_help="Detect drift of all clusters")
@path_argument
@fleet.store_option
@fleet.fleet_option
@fleet.run_option
@click.option(
    "--limit",
    "show",
    type=click.IntRange(0),
    help="Maximum differences shown per cluster.  [default: 10; all in a table or CSV]",
)
@as_of_option
@fleet.facts_option
@fleet.spark_options
@listing_option(
    "clusters.differences",
    columns={"CLUSTER": "cluster", "CHANGE": "sign", "DIFFERENCE": "text", "NOT KNOWN": "failure.message doubt"},
)
def drift_command(
    *,
    path: str,
    store: str,
    fleet_name: str | None,
    run_id: str | None,
    show: int | None,
    as_of: datetime.date | None,
    connections: str | None,
    spark: fleet.SparkOptions,
    output: str,
) -> int:
    """Compare a snapshot of the fleet with the manifests below PATH. Exit 2 if a cluster differs, 1 if one is unknown.

    No cluster is contacted. The differences stay in the store, for `reconciler fleet query`. `reconciler report`
    makes a page with a heat map, or metrics, of the JSON.
    """
    with fleet.engine_for(spark, store) as engine:
        from reconciler.parts.fleet.app.runs import drift_fleet, is_compiled, stored_run, wanted
        from reconciler.parts.fleet.tables import store_at

        place = store_at(store)
        run = stored_run(place, run_id)
        engine.sized(run.rows, ROWS_IN_A_TASK)
        given = wanted(path, fleet_name, as_of, ConnectionOptions(connections))
        # What was compiled before is no work, of however many clusters.
        if engine.is_local and not is_compiled(place, given):
            engine.sized(len(given.fleet.clusters), CLUSTERS_IN_A_TASK)
        fleet.info_unassigned(given.fleet)
        drift = drift_fleet(engine(), place, run, given)
    shown = Shown(_SHOWN if show is None and not settings.rows else show, teams=output == "json")
    report = report_of(drift, place, given.manifests, run, shown)
    if output == "json":
        out_json(OutputKind.FLEET_DRIFT, fleet_document(report))
    else:
        style = style_for(sys.stdout)
        out([drift_summary(report)] if settings.quiet else drift_lines(report, style, expand=settings.expand))
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
