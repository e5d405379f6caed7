"""``reconciler fleet plan``: a saved plan for every cluster that differs, and one for the fleet."""

import json
import os
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from reconciler import __version__
from reconciler.adapters.spark.tasks import run_tasks, task_count
from reconciler.cli.console import error, info, out, out_json, paint_for
from reconciler.cli.exits import CommandError, Exit, worst
from reconciler.cli.fleet_members import Means, everywhere
from reconciler.cli.fleet_options import (
    SparkOptions,
    fleet_in,
    fleet_option,
    session_for,
    snapshots_option,
    spark_options,
)
from reconciler.cli.fleet_planning import Order, plan_all
from reconciler.cli.fleet_saved import FLEET_FILE
from reconciler.cli.options import connection_options, output_option, path_argument, planning_options
from reconciler.fleet import (
    Failure,
    Fleet,
    FleetPlan,
    Member,
    PlannedWave,
    fleet_plan_document,
    fleet_plan_text,
    limit_refusals,
    partition,
)
from reconciler.plan import file_digest
from reconciler.report.fleet_plan_text import fleet_plan_lines
from reconciler.workflow.commits import source_commit
from reconciler.workflow.manifests import checked, read_sources
from reconciler.workflow.options import ConnectionOptions, PlanOptions, today

#: What a cluster without a plan means for the command; anything else is an error.
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
    planned, and the command exits with 1, or with 5 if a guard refused.
    """
    _check_out(Path(directory))
    texts = read_sources(path)
    manifests = checked(texts)
    fleet = fleet_in(manifests, fleet_name)
    with session_for(spark) as session:
        shared = session.sparkContext.broadcast(tuple(texts))
        order = Order(shared, Means(everywhere(connection), snapshots), planning, source_commit(path), at_once, timeout)
        lists = partition(fleet.clusters, [1] * len(fleet.clusters), task_count(session))
        sides = [json.loads(line) for line in run_tasks(session, lists, partial(plan_all, order=order))]
    day = (planning.as_of or today()).isoformat()
    plan = assembled(fleet, sides, day, order.commit)
    if output == "json":
        out_json(fleet_plan_document(plan))
    else:
        out(fleet_plan_lines(plan, paint_for(sys.stdout)))
    if refused := limit_refusals(plan):
        for text in refused:
            error(text)
        error("a limit of the fleet refuses this plan: it was not saved")
        return Exit.REFUSED
    _save(plan, sides, Path(directory))
    return worst(*(_STATUS.get(failure.code, Exit.ERROR) for failure in plan.failures))


def assembled(fleet: Fleet, sides: Iterable[dict[str, Any]], day: str, commit: str | None) -> FleetPlan:
    """The fleet's plan from what was said of each cluster."""
    by_name = {side["cluster"]: side for side in sides}
    failures = [
        Failure(name, side["code"], side["message"], side["advice"])
        for name, side in sorted(by_name.items())
        if "code" in side
    ]
    return FleetPlan(
        fleet.name,
        day,
        tuple(
            PlannedWave(
                wave.name,
                tuple(_member(by_name[name]) for name in wave.clusters if "text" in by_name[name]),
                wave.soak,
                wave.max_failures,
                tuple(name for name in wave.clusters if "code" in by_name[name]),
            )
            for wave in fleet.waves
        ),
        tuple(sorted(name for name, side in by_name.items() if "left" in side)),
        tuple(failures),
        fleet.limits,
        __version__,
        commit,
    )


def _member(side: dict[str, Any]) -> Member:
    name = side["cluster"]
    return Member(
        name,
        side["plan_id"],
        side["change_id"],
        f"plans/{name}.json",
        file_digest(side["text"]),
        side["steps"],
        side["deletes"],
        side["seconds"],
    )


def _check_out(place: Path) -> None:
    if place.exists() and any(place.iterdir()):
        raise CommandError(f"{place} is not empty: nothing was planned", "give a new directory", Exit.USAGE)


def _save(plan: FleetPlan, sides: Iterable[dict[str, Any]], place: Path) -> None:
    """The plans first: without fleet.json there is no plan of the fleet."""
    texts = {side["cluster"]: side["text"] for side in sides if "text" in side}
    try:
        (place / "plans").mkdir(parents=True, exist_ok=True)
        for member in plan.members:
            _write(place / member.file, texts[member.cluster])
        _write(place / FLEET_FILE, fleet_plan_text(plan))
    except OSError as error:
        raise CommandError(f"the plans cannot be saved: {error}") from error
    info(f"saved {place}: {len(plan.members)} plans and {FLEET_FILE}")


def _write(target: Path, text: str) -> None:
    temporary = target.with_name(f".{target.name}")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(target)
