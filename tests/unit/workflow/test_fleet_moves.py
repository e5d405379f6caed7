"""How fast replicas move is said once for a fleet, and reaches the process of each cluster."""

import io
from pathlib import Path
from typing import Any

import pytest

from reconciler.app.options import ConnectionOptions, MoveOptions
from reconciler.app.reasons import WorkflowError
from reconciler.parts.fleet.app import apply as child
from reconciler.parts.fleet.app.apply import ApplyTerms, ChildTask, MemberJob, task_of

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
