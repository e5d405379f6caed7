"""``reconciler fleet plan``: a saved plan for every cluster that differs, and one for the fleet."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from reconciler.app.connections import for_copies, refuse_proposed_secrets
from reconciler.app.manifests import guardrail_sources, told_again
from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.app.records import source_commit
from reconciler.cli.console import Exit, error, info, out, out_json, progress, settings, style_for, worst
from reconciler.cli.notes import info_note
from reconciler.cli.options import connection_options, output_option, path_argument, planning_options
from reconciler.model.characters import safe
from reconciler.parts.fleet.app.members import MemberConnections
from reconciler.parts.fleet.app.plan import PlanLimits, plan_fleet
from reconciler.parts.fleet.app.runs import FLEET_FILE, check_new, save_fleet_plan, wanted
from reconciler.parts.fleet.cli.fleet import (
    SparkOptions,
    engine_for,
    fleet_option,
    info_unassigned,
    snapshots_option,
    spark_options,
)
from reconciler.parts.fleet.engine import CLUSTERS_IN_A_TASK
from reconciler.parts.fleet.proposal import FleetPlan, fleet_plan_document
from reconciler.parts.fleet.show import fleet_plan_lines, quiet_fleet_plan
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
@click.option("--at-once", type=click.IntRange(1, 64), default=4, show_default=True, help="Clusters per Spark task.")
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
