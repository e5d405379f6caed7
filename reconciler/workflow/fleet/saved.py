"""A fleet's plan, its clusters' plans and its record, as they stand in the directory of plans."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reconciler.adapters.atomic_write import write_atomically
from reconciler.fleet import (
    ApplyRecord,
    FleetPlan,
    FleetPlanError,
    fleet_plan_text,
    parse_apply_records,
    parse_fleet_plan,
    same_cluster,
)
from reconciler.plan import ids
from reconciler.workflow.fleet.planning import PlannedFleet
from reconciler.workflow.reasons import RequestError, StaleError, WorkflowError
from reconciler.workflow.saved_plans import saved_plan

#: How the fleet's own plan is called.
FLEET_FILE: Final = "fleet.json"
#: How the record of finished clusters is called.
RECORD_FILE: Final = "record.jsonl"


def check_new(directory: Path) -> None:
    """Refuse a directory that holds something already: it could be mistaken for part of the plan."""
    if directory.exists() and any(directory.iterdir()):
        raise RequestError(f"{directory} is not empty: nothing was planned", "give a new directory")


def save_fleet_plan(planned: PlannedFleet, directory: Path) -> None:
    """Write the plans first: without fleet.json there is no plan of the fleet."""
    try:
        (directory / "plans").mkdir(parents=True, exist_ok=True)
        for member in planned.plan.members:
            write_atomically(planned.texts[member.cluster], str(directory / member.file))
        write_atomically(fleet_plan_text(planned.plan), str(directory / FLEET_FILE))
    except OSError as error:
        raise WorkflowError(f"the plans cannot be saved: {error}") from error


def read_fleet_plan(directory: Path) -> tuple[FleetPlan, dict[str, str]]:
    """The fleet's plan and its clusters' plans by name, each checked against the id that the fleet's plan has of it."""
    try:
        plan = parse_fleet_plan((directory / FLEET_FILE).read_text(encoding="utf-8"))
    except FleetPlanError as error:
        raise StaleError(f"{directory / FLEET_FILE}: {error}", "plan again") from error
    except (OSError, UnicodeDecodeError) as error:
        raise WorkflowError(f"{directory / FLEET_FILE} cannot be read: {error}") from error
    texts, answered = {}, {}
    for member in plan.members:
        file = directory / member.file
        found, _ = saved_plan(str(file))
        if ids(found) != (member.change_id, member.plan_id) or found.terms.cluster != member.cluster:
            message = f"{member.file} is not the plan that {FLEET_FILE} names for cluster {member.cluster}"
            raise StaleError(message, "plan again")
        texts[member.cluster] = file.read_text(encoding="utf-8")
        answered[member.cluster] = found.cluster_id
    if same := same_cluster(answered):
        first = min(same.values())
        raise StaleError(f"{first.cluster} {first.message}", first.advice)
    return plan, texts


def add_to_record(directory: Path, lines: Iterable[str]) -> None:
    """Append records, flushed to disk; a line that a crash has cut off goes, so that it damages none behind it."""
    with (directory / RECORD_FILE).open("a+b") as record:
        record.seek(0)
        record.truncate(record.read().rfind(b"\n") + 1)
        record.writelines(f"{line}\n".encode() for line in lines)
        record.flush()
        os.fsync(record.fileno())


def read_record(directory: Path, plan: FleetPlan) -> list[ApplyRecord]:
    """What earlier runs noted of this plan; a line that a crash has cut off counts for nothing, even if it reads well.

    The next record takes the place of such a line (:func:`add_to_record`), so nothing may rest on it.
    """
    try:
        content = (directory / RECORD_FILE).read_bytes()
        return parse_apply_records(content[: content.rfind(b"\n") + 1].decode(), plan)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise WorkflowError(f"{directory / RECORD_FILE} cannot be read: {error}") from error
