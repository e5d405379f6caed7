"""``reconciler fleet apply``: perform a fleet's plans, wave by wave, each wave gated on the one before."""

import datetime
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.adapters.spark.tasks import run_tasks
from reconciler.cli.console import error, info, out, out_json, paint_for
from reconciler.cli.exits import PRECEDENCE, CommandError, Exit, worst
from reconciler.cli.fleet_members import everywhere
from reconciler.cli.fleet_options import SparkOptions, session_for, spark_options
from reconciler.cli.fleet_performing import Conditions, Job, apply_all
from reconciler.cli.fleet_saved import add_to_record, read_fleet_plan, read_record
from reconciler.cli.options import connection_options, output_option
from reconciler.cli.terminal import stoppable
from reconciler.fleet import (
    ApplyRecord,
    FleetPlan,
    Member,
    PlannedWave,
    failures_exceeded,
    fleet_plan_id,
    gate_after,
    latest,
    not_covered,
    parse_apply_records,
    partition,
    pending,
)
from reconciler.report.fleet_plan_text import fleet_plan_lines, fleet_result_lines
from reconciler.workflow.manifests import read_sources
from reconciler.workflow.options import ConnectionOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(slots=True)
class _Pass:
    """One run of the command over a fleet's plan; ``records`` holds what the record says so far."""

    directory: Path
    plan: FleetPlan
    conditions: Conditions
    records: dict[tuple[str, str], ApplyRecord]
    interrupted: Callable[[], bool]
    began: list[ApplyRecord] = field(default_factory=list)


@click.command("apply", short_help="Apply a fleet's plans, wave by wave")
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.argument("path", metavar="[PATH]", default=".", type=click.Path())
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--require-id",
    "ids",
    multiple=True,
    metavar="ID",
    help="Refuse any other plan: the fleet-… id, or change-… and plan-… ids that cover every cluster; repeatable.",
)
@click.option("--wait", is_flag=True, help="Wait at each gate until its soak time has passed.")
@click.option("--at-once", type=click.IntRange(1, 64), default=4, show_default=True, help="Clusters per Spark task.")
@click.option("--timeout", type=float, default=3600.0, show_default=True, help="Seconds to wait for one cluster.")
@click.option("--operator", metavar="NAME", help="Operator name in the journals.  [default: USER@HOST]")
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
    operator: str | None,
    connection: ConnectionOptions,
    spark: SparkOptions,
    output: str,
) -> int:
    """Apply the plans that `reconciler fleet plan` saved in DIR, connecting as PATH's Cluster documents say.

    To continue after a failure, an interruption or a gate, run the same command again: DIR/record.jsonl records
    finished clusters, and finished steps are recognised. Exit 2 if clusters remain after a gate that is not open yet.
    """
    plan, plans = read_fleet_plan(Path(directory))
    _check_consent(plan, ids, yes=yes)
    texts = read_sources(path)
    records = latest(read_record(Path(directory), plan))
    if any(pending(wave, records) for wave in plan.waves):
        with session_for(spark) as session, stoppable("clusters") as interrupted:
            shared = session.sparkContext.broadcast(tuple(texts))
            conditions = Conditions(shared, everywhere(connection), at_once, timeout, operator)
            here = _Pass(Path(directory), plan, conditions, records, interrupted)
            status = _perform(session, here, plans, wait=wait)
    else:
        status = Exit.OK
    if output == "json":
        out_json(_document(plan, records))
    else:
        out(fleet_result_lines(plan, records, paint_for(sys.stdout)))
    return status


def _perform(session: "SparkSession", here: _Pass, plans: dict[str, str], *, wait: bool) -> Exit:
    statuses = [Exit.OK]
    for number, wave in enumerate(here.plan.waves):
        if number and not _passes(here.plan.waves[number - 1], here, statuses, wait=wait):
            break
        for chunk in _chunks(session, wave, here):
            if here.interrupted() or failures_exceeded(wave, latest(here.began)):
                break
            _run_chunk(session, here, wave, chunk, plans)
        if here.interrupted():
            statuses.append(Exit.INTERRUPTED)
            break
    statuses += [_status(record) for record in here.records.values() if not record.succeeded]
    return worst(*statuses)


def _passes(wave: PlannedWave, here: _Pass, statuses: list[Exit], *, wait: bool) -> bool:
    """Whether the gate behind ``wave`` lets the next one begin."""
    gate = gate_after(wave, here.records)
    if gate.shut:
        names = ", ".join((*gate.failed, *gate.unfinished, *(f"{name} (not planned)" for name in gate.unplanned)))
        advice = "plan again" if gate.unplanned else "mend what failed, then run the same command"
        error(f"the gate behind wave {wave.name} stays shut: {names}", advice)
        statuses.append(Exit.ERROR)
        return False
    while (left := gate.opens - time.time()) > 0:
        if not wait or here.interrupted():
            opens = datetime.datetime.fromtimestamp(gate.opens, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            info(f"the gate behind wave {wave.name} opens at {opens}; run the same command then, or give --wait")
            statuses.append(Exit.DIFFERENT)
            return False
        time.sleep(min(left, 1.0))
    return True


def _chunks(session: "SparkSession", wave: PlannedWave, here: _Pass) -> Iterator[tuple[Member, ...]]:
    """As many clusters as are performed side by side: behind each chunk the record is written."""
    left = pending(wave, here.records)
    size = int(session.sparkContext.defaultParallelism) * here.conditions.at_once
    yield from (left[start : start + size] for start in range(0, len(left), size))


def _run_chunk(
    session: "SparkSession", here: _Pass, wave: PlannedWave, chunk: tuple[Member, ...], plans: dict[str, str]
) -> None:
    jobs = [
        Job(
            member.cluster,
            member.plan_id,
            plans[member.cluster],
            str((here.directory / f"{member.file}.journal").resolve()),
        )
        for member in chunk
    ]
    info(f"wave {wave.name}: {', '.join(member.cluster for member in chunk)}")
    lists = partition(jobs, [1 + member.steps for member in chunk], int(session.sparkContext.defaultParallelism))
    lines = run_tasks(session, lists, partial(apply_all, conditions=here.conditions))
    add_to_record(here.directory, lines)
    for record in parse_apply_records("\n".join(lines) + "\n", here.plan):
        here.began.append(record)
        here.records[(record.cluster, record.plan_id)] = record
        if not record.succeeded:
            error(f"cluster {record.cluster} ended with {record.status}: {record.message}")


def _status(record: ApplyRecord) -> Exit:
    return Exit(record.status) if record.status in PRECEDENCE else Exit.ERROR


def _check_consent(plan: FleetPlan, ids: tuple[str, ...], *, yes: bool) -> None:
    if ids:
        if left := not_covered(plan, ids):
            names = [f"{member.cluster}: {member.change_id}" for member in left]
            raise CommandError(
                f"nobody agreed to the plans of {len(left)} clusters; the fleet's id is\n  {fleet_plan_id(plan)}\n  "
                + "\n  ".join(names),
                "name every change with --require-id, or plan again; nothing was sent",
                Exit.STALE,
            )
        return
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError(
            "nobody can be asked here, because there is no terminal",
            "give --require-id with the fleet's id or those of the reviewed changes, or --yes",
            Exit.USAGE,
        )
    for line in fleet_plan_lines(plan, paint_for(sys.stderr)):
        info(line)
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
                        "status": None if record is None else record.status,
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
