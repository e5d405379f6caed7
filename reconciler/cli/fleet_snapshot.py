"""``reconciler fleet snapshot``: read all clusters into a store."""

import dataclasses
import datetime
import secrets
from collections.abc import Sequence

import click

from reconciler.adapters.clock import SystemClock
from reconciler.adapters.spark.collecting import CollectionLimits, carried, collect
from reconciler.adapters.spark.store import FleetStore
from reconciler.cli.console import error, info, out, out_json
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_members import Means, everywhere, file_sources, live_sources
from reconciler.cli.fleet_options import (
    SparkOptions,
    fleet_in,
    fleet_option,
    session_for,
    snapshots_option,
    spark_options,
    store_option,
)
from reconciler.cli.options import connection_options, output_option, path_argument
from reconciler.fleet import FleetRun, HeaderError, Reading
from reconciler.report.fleet_text import run_lines
from reconciler.workflow.manifests import load
from reconciler.workflow.options import ConnectionOptions, today


@click.command("snapshot", short_help="Read all clusters into the store")
@path_argument
@store_option
@fleet_option
@click.option("--cluster", "only", multiple=True, metavar="NAME", help="Read only this cluster; repeatable.")
@click.option(
    "--from",
    "files",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Import a snapshot file instead of reading the cluster; repeatable.",
)
@snapshots_option
@click.option(
    "--keep", type=click.IntRange(1), default=30, show_default=True, help="Number of runs to keep in the store."
)
@click.option("--at-once", type=click.IntRange(1, 64), default=4, show_default=True, help="Clusters per Spark task.")
@click.option("--timeout", type=float, default=120.0, show_default=True, help="Seconds to wait for one cluster.")
@click.option(
    "--attempts", type=click.IntRange(1, 10), default=3, show_default=True, help="Maximum attempts per cluster."
)
@connection_options
@spark_options
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
    at_once: int,
    timeout: float,
    attempts: int,
    connection: ConnectionOptions,
    spark: SparkOptions,
    output: str,
) -> int:
    """Read every cluster of the fleet that PATH declares into the store.

    Nothing is written to a cluster. A cluster that cannot be read is recorded with the reason, the others are read, and
    the command exits with 1. With --cluster or --from, everything else is carried over from the run before.
    """
    manifests = load(path)
    if files and (only or snapshots):
        raise CommandError("--from goes without --cluster and --snapshots", status=Exit.USAGE)
    if files:
        sources = file_sources(manifests, files)
    else:
        fleet = fleet_in(manifests, fleet_name)
        unknown = sorted(set(only) - set(fleet.clusters))
        if unknown:
            raise CommandError(f"not in fleet {fleet.name}: {', '.join(unknown)}", status=Exit.USAGE)
        sources = live_sources(manifests, only or fleet.clusters, Means(everywhere(connection), snapshots), today())
    place = FleetStore.at(store)
    taken = SystemClock().now()
    before = _carried(place, [source.cluster for source in sources]) if only or files else ()
    run = FleetRun(new_run_id(), taken, before)
    with session_for(spark) as session:
        run = collect(session, place, sources, run, CollectionLimits(at_once, timeout, attempts))
    forgotten = _forgotten(place, keep)
    if output == "json":
        out_json(run_document(run))
    else:
        out(run_lines(run))
    if forgotten:
        info(f"forgotten: {', '.join(forgotten)}")
    if run.failures:
        error(f"{len(run.failures)} of {len(run.failures) + len(run.readings)} clusters could not be read")
    return Exit.ERROR if run.failures else Exit.OK


def _carried(place: FleetStore, but: Sequence[str]) -> tuple[Reading, ...]:
    try:
        return carried(place, but)
    except (HeaderError, OSError) as error:
        raise CommandError(f"the run before cannot be read: {error}", "read the whole fleet") from error


def _forgotten(place: FleetStore, keep: int) -> list[str]:
    """The runs that went; the new one is there whatever becomes of the old ones."""
    try:
        return place.retain(keep)
    except (HeaderError, OSError) as trouble:
        error(f"no run was forgotten: {trouble}", "remove the record that is damaged")
        return []


def new_run_id() -> str:
    """Sorts by time, to the microsecond, and is unique all the same."""
    return f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%S.%fZ}-{secrets.token_hex(2)}"


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
            }
            for item in run.readings
        ],
        "failures": [dataclasses.asdict(item) for item in run.failures],
    }
