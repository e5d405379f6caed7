"""A fleet's plan, its clusters' plans and its record, as they stand in the directory of plans."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reconciler.cli.exits import CommandError, Exit
from reconciler.fleet import ApplyRecord, FleetPlan, FleetPlanError, parse_apply_records, parse_fleet_plan
from reconciler.plan import plan_id
from reconciler.workflow.planning import saved_plan

#: How the fleet's own plan is called.
FLEET_FILE: Final = "fleet.json"
#: How the record of finished clusters is called.
RECORD_FILE: Final = "record.jsonl"


def read_fleet_plan(directory: Path) -> tuple[FleetPlan, dict[str, str]]:
    """The fleet's plan and its clusters' plans by name, each checked against the id that the fleet's plan has of it."""
    try:
        plan = parse_fleet_plan((directory / FLEET_FILE).read_text(encoding="utf-8"))
    except FleetPlanError as error:
        raise CommandError(f"{directory / FLEET_FILE}: {error}", "plan again", Exit.STALE) from error
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{directory / FLEET_FILE} cannot be read: {error}") from error
    texts = {}
    for member in plan.members:
        file = directory / member.file
        found, _ = saved_plan(str(file))
        if plan_id(found) != member.plan_id or found.terms.cluster != member.cluster:
            message = f"{member.file} is not the plan that {FLEET_FILE} names for cluster {member.cluster}"
            raise CommandError(message, "plan again", Exit.STALE)
        texts[member.cluster] = file.read_text(encoding="utf-8")
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
    """What earlier runs noted of this plan."""
    try:
        return parse_apply_records((directory / RECORD_FILE).read_text(encoding="utf-8"), plan)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise CommandError(f"{directory / RECORD_FILE} cannot be read: {error}") from error
