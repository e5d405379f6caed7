"""``reconciler fleet usage`` and ``fleet tighten``: what authorizer logs show of bindings, refusals and changes.

Least privilege from the logs of many clusters is one edit of the manifests.
"""

import datetime
import sys
from collections.abc import Iterator
from typing import Any

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.change_options import Keeping, edit_options
from reconciler.cli.console import CommandError, Exit, error, info, info_lines, out, out_json, style_for, worst
from reconciler.cli.options import as_of_option, output_option, path_argument
from reconciler.dataclass import dataclass
from reconciler.model.characters import safe
from reconciler.parts.edit.cli.options import keep
from reconciler.parts.evidence.app.tighten import TightenOptions
from reconciler.parts.evidence.cli import (
    Policy,
    check_period,
    fleet_logs_option,
    period_options,
    policy_option,
    replay_options,
)
from reconciler.parts.evidence.show import fleet_tighten_lines, reading_document, usage_document, usage_lines
from reconciler.parts.evidence.usage.cluster import ClusterUsage, UsageQuestion
from reconciler.parts.evidence.usage.message import Window
from reconciler.parts.fleet.app import tighten
from reconciler.parts.fleet.app.runs import stored_run, wanted
from reconciler.parts.fleet.cli import fleet
from reconciler.parts.fleet.engine import BYTES_IN_A_TASK, CLUSTERS_IN_A_TASK
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.fleet.tasks.logs import LogFindings, total
from reconciler.results import OutputKind
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
@fleet.store_option
@fleet.fleet_option
@fleet.run_option
@as_of_option
@fleet.facts_option
@fleet.spark_options
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
    spark: fleet.SparkOptions,
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
    with fleet.engine_for(spark, store, *places) as engine:
        given = wanted(path, fleet_name, as_of, connection)
        fleet.info_unassigned(given.fleet)
        place = store_at(store)
        run = None if offline else stored_run(place, run_id)
        parts = tighten.log_parts(places, given.fleet.clusters)
        engine.sized(total(parts), BYTES_IN_A_TASK)
        engine.sized(len(given.fleet.clusters), CLUSTERS_IN_A_TASK)
        tightening = tighten.tighten_fleet(engine(), place, given, parts, options, connection, path=path, run=run)
    document = tighten.fleet_tighten_output(tightening)
    info_lines(fleet_tighten_lines(document, style_for(sys.stderr), shown=show))
    keep(
        OutputKind.FLEET_TIGHTEN,
        tightening.edit,
        keeping,
        message=f"Narrow access of fleet {given.fleet.name} to what was used",
        output=output,
        nothing="Nothing to tighten.",
        extra={"tightenedFleet": FLEET_TIGHTEN.write(document)},
    )
    return _status(tightening)


def _status(tightening: tighten.FleetTightening) -> int:
    for name, why in tightening.failed.items():
        error(f"nothing can be said of {safe(name)}: {safe(why)}")
    for text in _broken(tightening):
        error(f"a log file could not be read to the end: {safe(text)}")
    if tightening.unassigned.lines:
        info(f"{tightening.unassigned.lines:,} lines are of no known cluster")
    return worst(
        Exit.ERROR if tightening.failed or any(_broken(tightening)) else Exit.OK,
        Exit.FAILED_CHECK if any(cluster.thin for cluster in tightening.clusters) else Exit.OK,
    )


def _broken(tightening: tighten.FleetTightening) -> Iterator[str]:
    for summary in (*(cluster.summary for cluster in tightening.clusters), tightening.unassigned):
        yield from summary.broken


@dataclass(frozen=True, slots=True)
class _UsageOptions:
    """Options as typed; at most one of ``plan`` and ``replay`` is a change that is tried."""

    path: str
    places: tuple[str, ...]
    since: datetime.date | None
    until: datetime.date | None
    offline: bool
    plan: str | None
    replay: bool
    repeats: int
    store: str
    fleet_name: str | None
    run_id: str | None
    as_of: datetime.date | None
    connections: str | None

    @property
    def question(self) -> UsageQuestion:
        """What is asked of every cluster."""
        return UsageQuestion(Window(self.since, self.until), self.repeats)


@click.command("usage", short_help="Evaluate authorizer logs: used bindings, refusals, replay")
@path_argument
@fleet_logs_option
@period_options
@click.option("--offline", is_flag=True, help="Evaluate what the manifests declare; needs no snapshot.")
@click.option(
    "--plan",
    metavar="PLAN",
    type=click.Path(exists=True),
    help="Replay the accesses on a saved plan, or on a directory of plans.",
)
@replay_options
@fleet.store_option
@fleet.fleet_option
@fleet.run_option
@as_of_option
@fleet.facts_option
@fleet.spark_options
@output_option
def usage_command(*, show: int, spark: fleet.SparkOptions, output: str, **options: Any) -> int:
    """Evaluate authorizer logs and Confluent's audit events: which bindings of a snapshot were used.

    No cluster is contacted. PATH's Cluster documents and the operator's file supply scope, super users and
    allowEveryoneIfNoAclFound. With
    --plan or --replay, exit 3 if an access that was seen would fail or cannot be decided. Exit 1 if logs or clusters
    could not be read completely.
    """
    asked = _UsageOptions(**options)
    _check(asked)
    run_id, findings = _log_findings(asked, spark)
    if output == "json":
        out_json(OutputKind.FLEET_USAGE, _document(run_id, asked, findings))
    else:
        title = "Use by the logs, of what is declared" if run_id is None else f"Use by the logs, of snapshot {run_id}"
        out(usage_lines(title, findings.clusters, findings.unassigned, style_for(sys.stdout), shown=show))
    return _usage_status(findings)


def _check(asked: _UsageOptions) -> None:
    changes = (asked.plan is not None) + asked.replay
    check_period(asked.since, asked.until)
    if changes > 1:
        raise CommandError("--plan and --replay are two changes", "give one of them", Exit.USAGE)
    if asked.offline and changes:
        raise CommandError("--offline has no state that a change could begin from", "leave it out", Exit.USAGE)


def _log_findings(asked: _UsageOptions, spark: fleet.SparkOptions) -> tuple[str | None, LogFindings]:
    with fleet.engine_for(spark, asked.store, *asked.places) as engine:
        store = store_at(asked.store)
        given = wanted(asked.path, asked.fleet_name, asked.as_of, ConnectionOptions(asked.connections))
        fleet.info_unassigned(given.fleet)
        run = None if asked.offline else stored_run(store, asked.run_id)
        logs = tighten.Logs(tighten.log_parts(asked.places, given.fleet.clusters), asked.question)
        engine.sized(total(logs.parts), BYTES_IN_A_TASK)
        engine.sized(len(given.fleet.clusters), CLUSTERS_IN_A_TASK)
        plans = tighten.planned_changes(asked.plan, run) if asked.plan is not None and run is not None else None
        findings = tighten.fleet_usage(engine(), store, given, logs, run, plans=plans, replay=asked.replay)
    return None if run is None else run.id, findings


def _document(run_id: str | None, asked: _UsageOptions, findings: LogFindings) -> dict[str, Any]:
    return {
        "run": run_id,
        "since": None if asked.since is None else asked.since.isoformat(),
        "until": None if asked.until is None else asked.until.isoformat(),
        "clusters": [usage_document(usage) for usage in findings.clusters],
        "unassigned": reading_document(findings.unassigned),
    }


def _usage_status(findings: LogFindings) -> Exit:
    failed = [usage.cluster for usage in findings.clusters if usage.failure]
    if failed:
        error(f"nothing can be said of {', '.join(failed)}")
    broken = [
        text for summary in (*(u.summary for u in findings.clusters), findings.unassigned) for text in summary.broken
    ]
    if broken:
        error(f"{len(broken)} log file{'' if len(broken) == 1 else 's'} could not be read to the end")
    return worst(
        Exit.ERROR if failed or broken else Exit.OK,
        Exit.FAILED_CHECK if any(map(_breaks, findings.clusters)) else Exit.OK,
    )


def _breaks(usage: ClusterUsage) -> bool:
    return usage.replay is not None and bool(usage.replay.fails or usage.replay.unclear)
