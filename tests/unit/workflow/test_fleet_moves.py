"""How fast replicas move is said once for a fleet, and reaches the process of each cluster."""

import io
from pathlib import Path
from typing import Any

import pytest

from reconciler.app.options import ConnectionOptions, MoveOptions
from reconciler.app.reasons import WorkflowError
from reconciler.app.records import RecordOptions
from reconciler.apply.environment import LeaseRequest
from reconciler.manifest.read.findings import Source
from reconciler.parts.fleet.app import apply as child
from reconciler.parts.fleet.app.apply import ApplyTerms, ChildTask, MemberJob, apply_member, task_of
from reconciler.parts.fleet.proposal import ApplyRecord

MOVES = MoveOptions(throttle=50 * 2**20, batch_partitions=3, batch_bytes=2**30)


def test_the_process_of_a_cluster_moves_replicas_as_the_fleet_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(MemberJob("prod", "plan-1", "{}", ""), tmp_path, ApplyTerms(ConnectionOptions(), moves=MOVES))
    assert ChildTask.parse(task.text()) == task
    given = []

    def apply_plan(*_: Any, **__: Any) -> None:
        given.append(_[4].moves)
        raise WorkflowError("enough")

    monkeypatch.setattr(child, "apply_plan", apply_plan)
    monkeypatch.setattr("sys.stdin", io.StringIO(task.text()))
    child.main()
    assert given == [MOVES]


def test_what_held_the_plans_holds_them_where_they_are_performed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process of a cluster gets the guardrails as texts, the one plan by its id, a lease and an audit log."""
    given = []

    def apply_plan(plan: str, path: str, *more: Any, **_: Any) -> None:
        options = more[2]
        texts = [Path(place, "all.yaml").read_text() for place in (path, str(options.guardrails))]
        given.append((texts, options.require_id, options.lease, options.records.audit, Path(plan).read_text()))
        raise WorkflowError("enough")

    def here(job: MemberJob, scratch: Path, terms: ApplyTerms) -> ApplyRecord:
        task = task_of(job, scratch, terms)
        Path(task.plan_file).write_text(job.text)
        monkeypatch.setattr("sys.stdin", io.StringIO(task.text()))
        child.main()
        return ApplyRecord(job.cluster, job.plan_id, "", 0.0)

    monkeypatch.setattr(child, "apply_plan", apply_plan)
    monkeypatch.setattr(child, "_apply_one", here)
    records = RecordOptions(audit=str(tmp_path / "audit.jsonl"), operator="ops")
    terms = ApplyTerms(ConnectionOptions(), guardrails=(Source("all.yaml", "the base"),), records=records)
    job, own = MemberJob("prod", "plan-1", "{}", ""), (Source("all.yaml", "its"),)
    assert len([*apply_member([job], "0", terms=terms, texts=own)]) == 1
    assert given == [(["its", "the base"], "plan-1", LeaseRequest("ops"), records.audit, "{}")]
