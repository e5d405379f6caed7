"""``reconciler fleet plan`` and ``fleet apply``: a saved plan for every cluster that differs, and one for the fleet.

They are performed wave by wave, each wave gated on the one before.
"""

import datetime
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from reconciler.app.connections import as_operator_says, for_copies, refuse_proposed_secrets
from reconciler.app.manifests import checked, guardrail_sources, read_sources, told_again
from reconciler.app.options import ConnectionOptions, MoveOptions, PlanOptions
from reconciler.app.records import RecordOptions, source_commit
from reconciler.cli.change_options import (
    PlanId,
    guardrails_option,
    move_options,
    planning_options,
    record_options,
    yes_option,
)
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
from reconciler.cli.notes import info_note
from reconciler.cli.options import connection_options, output_option, path_argument
from reconciler.cli.terminal import stoppable
from reconciler.model.characters import safe
from reconciler.parts.fleet.app.apply import AT_ONCE, ApplyTerms, BatchBegun, FleetApply, FleetEvent, GateClosed
from reconciler.parts.fleet.app.members import MemberConnections
from reconciler.parts.fleet.app.plan import PlanLimits, plan_fleet
from reconciler.parts.fleet.app.runs import FLEET_FILE, check_new, save_fleet_plan, wanted
from reconciler.parts.fleet.cli.fleet import (
    SparkOptions,
    at_once_option,
    engine_for,
    fleet_option,
    info_unassigned,
    snapshots_option,
    spark_options,
)
from reconciler.parts.fleet.engine import CLUSTERS_IN_A_TASK
from reconciler.parts.fleet.proposal import ApplyRecord, FleetPlan, fleet_plan_document, fleet_plan_id, not_covered
from reconciler.parts.fleet.show import fleet_plan_lines, fleet_result_lines, quiet_fleet_plan
from reconciler.results.fleet_drift import Failure
from reconciler.results.output import OutputKind

#: What a cluster without a plan means; anything else is an error.
_STATUS: Final = {"refused": Exit.REFUSED, "disagreed": Exit.FAILED_CHECK}


@click.command("plan", short_help="Plan every cluster and save the fleet's plan")
@path_argument
@click.option(
    "--out",
    "directory",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False),
    help="Save the plans to this new directory.",
)
@fleet_option
@snapshots_option
@at_once_option
@click.option("--timeout", type=float, default=300.0, show_default=True, help="Seconds to wait for one cluster.")
@planning_options
@connection_options
@spark_options
@output_option
def command(
    *,
    path: str,
    directory: str,
    fleet_name: str | None,
    snapshots: str | None,
    at_once: int,
    timeout: float,
    planning: PlanOptions,
    connection: ConnectionOptions,
    spark: SparkOptions,
    output: str,
) -> int:
    """Compare every cluster of the fleet with the manifests below PATH and save the plans.

    Nothing is written to a cluster. DIR receives one plan per cluster that differs, as `reconciler plan` saves it,
    and fleet.json, which lists them all. A cluster that cannot be planned is listed with the reason; the others are
    planned, and the command exits with 1, or with 5 if a safety check refused. What a safety check refuses about single
    changes is left out of a cluster's plan, and the command exits with 5 as well.
    """
    check_new(Path(directory))
    if snapshots is None:
        refuse_proposed_secrets(path, connection)
    members = MemberConnections(for_copies(path, connection), snapshots)
    members.refuse_past(planning.as_of)
    with engine_for(spark, connection=None if snapshots else connection) as engine:
        given = wanted(path, fleet_name, planning.as_of, connection, planning.guardrails)
        guardrails = guardrail_sources(path, planning.guardrails)
        engine.sized(len(given.fleet.clusters), CLUSTERS_IN_A_TASK)
        info_unassigned(given.fleet)
        for problem in told_again(given.manifests):
            info_note(problem)
        planned = plan_fleet(
            engine(),
            given.sources,
            given.fleet,
            members,
            replace(planning, as_of=given.as_of),
            commit=source_commit(path),
            limits=PlanLimits(at_once, timeout),
            guardrails=guardrails,
        )
    plan = planned.plan
    for name, text in planned.notes.items():
        info(f"note: {safe(name)}: {safe(text)}")
    if output == "json":
        out_json(
            OutputKind.FLEET_PLAN,
            {**fleet_plan_document(plan), **({"notes": dict(planned.notes)} if planned.notes else {})},
        )
    else:
        style = style_for(sys.stdout)
        refused = bool(planned.refusals)
        out(
            [quiet_fleet_plan(plan, refused=refused)]
            if settings.quiet
            else fleet_plan_lines(plan, style, expand=settings.expand)
        )
    if planned.refusals:
        for text in planned.refusals:
            error(text)
        error("a limit of the fleet refuses this plan: it was not saved")
        return Exit.REFUSED
    save_fleet_plan(planned, Path(directory))
    progress(f"saved {directory}: {len(plan.members)} plans and {FLEET_FILE}")
    return worst(left_out(plan), *map(status_unplanned, plan.failures))


def status_unplanned(failure: Failure) -> Exit:
    """What a cluster without a plan means for the command that planned, and for the one that performs the others."""
    return _STATUS.get(failure.code, Exit.ERROR)


def left_out(plan: FleetPlan) -> Exit:
    """Say that guards refuse some of the changes, which keeps no other one from being saved and performed."""
    if not plan.refused:
        return Exit.OK
    error(f"safety checks refuse changes of {len(plan.refused):,} of the clusters: their plans are the rest")
    return Exit.REFUSED


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
def apply_command(
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
