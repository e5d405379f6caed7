"""What is on disk of a fleet's apply or snapshot that was ended in the middle."""

import threading
from functools import partial
from pathlib import Path

import pytest

from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.app.runs import RECORD_FILE, add_to_record, read_record, take
from reconciler.parts.fleet.proposal import ApplyRecord, FleetPlan, Member, PlannedWave, apply_record_text
from reconciler.parts.fleet.readings import CollectionLimits, SnapshotSource
from reconciler.parts.fleet.tables import store_at
from reconciler.results.fleet_drift import FleetRun
from tests.unit.workflow.killed_fleets import InTurn, KilledError
from tests.worlds import binding

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


def test_a_snapshot_that_was_killed_is_resumed_without_reading_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    store = store_at(str(tmp_path))

    def state(name: str) -> ClusterState:
        if name == "c" and not killed.is_set():
            raise KilledError(name)
        read.append(name)
        return ClusterState(f"id-{name}", frozenset({binding("User:svc ALLOW READ on TOPIC orders")}))

    def taken(*, resume: bool) -> FleetRun:
        sources = [SnapshotSource(name, Scope(), partial(state, name)) for name in "abcd"]
        return take(InTurn(4), store, sources, CollectionLimits(at_once=1), resume=resume)

    killed = threading.Event()
    with pytest.raises(KilledError):
        taken(resume=False)
    assert (read, store.run_ids()) == (["a", "b"], [])
    killed.set()
    run = taken(resume=True)
    assert read == ["a", "b", "c", "d"]
    assert [reading.cluster for reading in store.run().readings] == ["a", "b", "c", "d"]
    assert run.failures == ()
    # What ended is no run to resume, and a snapshot that nobody resumes reads everything.
    assert not store.begun()
    store.note("00000000T", run.readings[0])
    assert not store.begun()
    taken(resume=True)
    assert len(read) == 8
    store.note("99999999T", run.readings[0])
    taken(resume=False)
    assert len(read) == 12
