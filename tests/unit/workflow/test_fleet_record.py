"""The record of a fleet's apply on disk."""

from pathlib import Path

from reconciler.parts.fleet.app.runs import RECORD_FILE, add_to_record, read_record
from reconciler.parts.fleet.proposal import ApplyRecord, FleetPlan, Member, PlannedWave, apply_record_text

_MEMBERS = tuple(Member(name, f"plan-{name}", "change-1", f"plans/{name}.json", "file-1", 1, 0) for name in "abc")
_PLAN = FleetPlan("world", "2026-11-21", (PlannedWave("all", _MEMBERS),))


def _ended(name: str) -> ApplyRecord:
    return ApplyRecord(name, f"plan-{name}", "", 1.0, "größer")


def test_what_a_crash_cut_off_damages_nothing_that_is_noted_later(tmp_path: Path) -> None:
    add_to_record(tmp_path, [apply_record_text(_ended("a"))])
    file = tmp_path / RECORD_FILE
    file.write_bytes(file.read_bytes() + apply_record_text(_ended("b")).encode()[:40])
    assert read_record(tmp_path, _PLAN) == [_ended("a")]
    for name in "bc":
        add_to_record(tmp_path, [apply_record_text(_ended(name))])
    assert read_record(tmp_path, _PLAN) == [_ended("a"), _ended("b"), _ended("c")]
