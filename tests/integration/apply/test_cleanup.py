"""A run that was killed between its barriers leaves sentinels; cleanup finds and removes them on a real broker."""

import json
from pathlib import Path

import pytest

from reconciler.apply.barrier import barrier_name, deny_probe_acls, start_probe_acls
from reconciler.cli.main import run as main
from reconciler.kafka.cluster import connect
from reconciler.model.scope import is_reserved
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import Job
from tests.verbs import creations

pytestmark = pytest.mark.broker


def test_cleanup_removes_what_a_killed_run_left(team: Job, broker: Sandbox, tmp_path: Path) -> None:
    run = "20260101T000000Z-dead"
    left = (*start_probe_acls(run, "User:acl-probe"), *deny_probe_acls(barrier_name(run, 1), "User:acl-probe"))
    with connect(settings_of(broker.settings("admin"))) as admin:
        admin.send(creations(left))
        drifted = team.run("drift")
        assert drifted.status == 2, "nothing of a dead run is hidden"
        assert "left by a run that is over" in drifted.out
        refused = team.run("cleanup", "--run", run)
        assert refused.status == 64, "no terminal to ask on"
        audit = tmp_path / "audit.jsonl"
        cleaned = team.run("cleanup", "--run", run, "--yes", "--audit", str(audit), "--operator", "ann")
        assert cleaned.status == 0, cleaned.err
        before, after = map(json.loads, audit.read_text().splitlines())
        assert (before["record"], before["action"], before["operator"]) == ("cleanup", "remove", "ann")
        assert len(before["bindings"]) == len(left)
        assert (after["action"], after["bindings"]) == ("left", [])
        assert main(["audit", "verify", str(audit)]) == 0
        assert f"Left by run {run}, begun" in cleaned.out
        bindings = admin.read(ReadRequest(all_topics=False)).bindings
        assert not [binding for binding in bindings if is_reserved(binding.pattern.name) and run in str(binding)]
        assert team.run("drift").status == 0
        assert "Nothing is left" in team.run("cleanup", "--run", run, "--yes").out
