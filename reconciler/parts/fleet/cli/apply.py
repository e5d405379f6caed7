"""``reconciler fleet apply``: perform a fleet's plans, wave by wave, each wave gated on the one before."""

import datetime
import sys
from pathlib import Path

import click

from reconciler.app.connections import as_operator_says, for_copies, refuse_proposed_secrets
from reconciler.app.manifests import checked, guardrail_sources, read_sources
from reconciler.app.options import ConnectionOptions, MoveOptions
from reconciler.app.records import RecordOptions
from reconciler.cli.approval_options import PlanId
from reconciler.cli.console import (
    CommandError,
    Exit,
    error,
    info,
    info_lines,
    out,
    out_json,
    progress,
    settings,
    status_of,
    style_for,
    worst,
)
from reconciler.cli.options import (
    connection_options,
    guardrails_option,
    move_options,
    output_option,
    path_argument,
    record_options,
    yes_option,
)
from reconciler.cli.terminal import stoppable
from reconciler.parts.fleet.app.apply import AT_ONCE, ApplyTerms, BatchBegun, FleetApply, FleetEvent, GateClosed
from reconciler.parts.fleet.cli.fleet import SparkOptions, engine_for, spark_options
from reconciler.parts.fleet.cli.plan import left_out, status_unplanned
from reconciler.parts.fleet.engine import CLUSTERS_IN_A_TASK
from reconciler.parts.fleet.proposal import ApplyRecord, FleetPlan, fleet_plan_id, not_covered
from reconciler.parts.fleet.show import fleet_plan_lines, fleet_result_lines
from reconciler.results.output import OutputKind


@click.command("apply", short_help="Apply a fleet's plans, wave by wave")
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@path_argument
@yes_option
@click.option(
    "--require-id",
    "ids",
    multiple=True,
    metavar="ID",
    type=PlanId("fleet", "change", "plan"),
    help="Refuse any other plan: the fleet-… id, or change-… and plan-… ids that cover every cluster, or their first "
    "8 digits or more; repeatable.",
)
@click.option("--wait", is_flag=True, help="Wait at each gate until its soak time has passed.")
@click.option(
    "--at-once", type=click.IntRange(1, 512), default=AT_ONCE, show_default=True, help="Clusters to apply at once."
)
@click.option("--timeout", type=float, default=3600.0, show_default=True, help="Seconds to wait for one cluster.")
@click.option(
    "--lease/--no-lease",
    default=True,
    show_default=True,
    help="Hold the lease of each cluster: other applies exit with status 6 meanwhile.",
)
@click.option(
    "--break-lease",
    multiple=True,
    metavar="HOLDER",
    help="Take over leases of HOLDER. Use it only if that run is dead; repeatable.",
)
@record_options
@move_options
@guardrails_option
@connection_options
@spark_options
@output_option
def command(
    *,
    directory: str,
    path: str,
    yes: bool,
    ids: tuple[str, ...],
    wait: bool,
    at_once: int,
    timeout: float,
    lease: bool,
    break_lease: tuple[str, ...],
    records: RecordOptions,
    moves: MoveOptions,
    guardrails: str | None,
    connection: ConnectionOptions,
    spark: SparkOptions,
    output: str,
) -> int:
    """Apply the plans that `reconciler fleet plan` saved in DIR, connecting as PATH's Cluster documents say.

    To continue after a failure, an interruption or a gate, run the same command again: DIR/record.jsonl records
    finished clusters, and finished steps are recognised. Exit 2 if clusters remain after a gate that is not open
    yet. Exit 5 if safety checks left changes out of the plans, whatever remains besides. If all else is done, clusters
    that could not be planned give the status that they gave `reconciler fleet plan`.
    """
    fleet = FleetApply.saved(Path(directory))
    plan = fleet.plan
    _check_consent(plan, ids, yes=yes, expand=settings.expand)
    sources = read_sources(path)
    as_operator_says(checked(sources), path, connection)
    refuse_proposed_secrets(path, connection)
    judging = guardrail_sources(path, guardrails)
    statuses = [Exit.OK]
    if not fleet.finished:
        held = None if judging is None else tuple(judging)
        reach = for_copies(path, connection)
        terms = ApplyTerms(reach, at_once, timeout, records, held, moves, lease, break_lease)
        with (
            engine_for(spark, connection=connection, passwords=True, once=at_once) as engine,
            stoppable("clusters") as interrupted,
        ):
            engine.sized(len(plan.members), CLUSTERS_IN_A_TASK)
            statuses += map(_told, fleet.perform(engine(), sources, terms, wait=wait, interrupted=interrupted))
            statuses.append(Exit.INTERRUPTED if interrupted() else Exit.OK)
        statuses += [status_of(record.reason) for record in fleet.records.values()]
    if output == "json":
        out_json(OutputKind.FLEET_APPLY, _document(plan, fleet.records))
    else:
        out(fleet_result_lines(plan, fleet.records, style_for(sys.stdout)))
    ended = worst(left_out(plan), *statuses)
    # What could not be planned is not as declared, but first comes whatever is left to do of the rest.
    return ended if ended is not Exit.OK else worst(*map(status_unplanned, plan.failures))


def _told(event: FleetEvent) -> Exit:
    """Say what happens, and the status that it means."""
    match event:
        case BatchBegun():
            progress(f"wave {event.wave}: {', '.join(event.clusters)}")
        case ApplyRecord() if not event.succeeded:
            error(f"cluster {event.cluster}: {event.reason}: {event.message}")
        case ApplyRecord():
            progress(f"cluster {event.cluster}: as planned")
        case GateClosed(wave, gate) if gate.shut:
            names = ", ".join((*gate.failed, *gate.unfinished, *(f"{name} (not planned)" for name in gate.unplanned)))
            advice = "plan again" if gate.unplanned else "fix what failed, then run the same command"
            error(f"the gate after wave {wave} stays closed: {names}", advice)
            return Exit.ERROR
        case GateClosed(wave, gate):
            opens = datetime.datetime.fromtimestamp(gate.opens, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            info(f"the gate after wave {wave} opens at {opens}; run the same command then, or pass --wait")
            return Exit.DIFFERENT
    return Exit.OK


def _check_consent(plan: FleetPlan, ids: tuple[str, ...], *, yes: bool, expand: bool) -> None:
    if ids:
        if left := not_covered(plan, ids):
            names = [f"{member.cluster}: {member.change_id}" for member in left]
            raise CommandError(
                f"nobody approved the plans of {len(left)} clusters; the fleet's id is\n  {fleet_plan_id(plan)}\n  "
                + "\n  ".join(names),
                "name every change with --require-id, or plan again; nothing was sent",
                Exit.STALE,
            )
        return
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError(
            "no terminal to ask on",
            "give --require-id with the fleet's id or those of the reviewed changes, or --yes",
            Exit.USAGE,
        )
    info_lines(fleet_plan_lines(plan, style_for(sys.stderr), expand=expand))
    if not click.confirm("Perform these plans?", err=True):
        raise CommandError("not confirmed: nothing was sent", status=Exit.INTERRUPTED)


def _document(plan: FleetPlan, records: dict[tuple[str, str], ApplyRecord]) -> dict[str, object]:
    return {
        "fleetId": fleet_plan_id(plan),
        "waves": [
            {
                "name": wave.name,
                "clusters": [
                    {
                        "cluster": member.cluster,
                        "planId": member.plan_id,
                        "status": None if record is None else int(status_of(record.reason)),
                        "message": "" if record is None else record.message,
                        "done": 0 if record is None else record.done,
                        "already": 0 if record is None else record.already,
                    }
                    for member in wave.members
                    for record in [records.get((member.cluster, member.plan_id))]
                ],
                "notPlanned": list(wave.unplanned),
            }
            for wave in plan.waves
        ],
    }
