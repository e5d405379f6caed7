"""Client quotas on a real broker, by the command line: plan, apply, drift, export, undo."""

import re
from pathlib import Path

import pytest

from reconciler.adapters.sandbox import Sandbox
from tests.integration.main_job import Job, job

pytestmark = pytest.mark.broker

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: it}
spec:
  superUsers: [User:admin]
  allowEveryoneIfNoAclFound: false
  barrier: {wait: 100ms}
  scope: {include: [{principals: {prefix: "User:@"}}]}
"""
BEFORE = """\
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: team}
spec:
  quotas:
    - {user: "@a", limits: {producer_byte_rate: 1MiB/s, request_percentage: 50%}}
    - {user: "@b", clientId: {default: true}, limits: {controller_mutation_rate: 0.5}}
"""
AFTER = """\
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: team}
spec:
  quotas:
    - {user: "@a", limits: {producer_byte_rate: 2MiB/s}, reason: backfill}
    - {user: "@b", clientId: {default: true}, absent: true}
    - {user: "@c", limits: {consumer_byte_rate: 3MiB/s}}
"""


@pytest.fixture
def team(tmp_path: Path, broker: Sandbox, capsys: pytest.CaptureFixture[str]) -> Job:
    found = job(tmp_path, broker, "quota-team-", capsys)
    found.write("cluster.yaml", CLUSTER)
    return found


def test_quotas_are_planned_applied_compared_exported_and_undone(team: Job, tmp_path: Path) -> None:
    team.write("quotas.yaml", BEFORE)
    assert team.run("apply", "--yes").status == 0
    assert team.run("drift").status == 0

    team.write("quotas.yaml", AFTER)
    assert team.run("drift").status == 2
    saved = str(tmp_path / "plan.json")
    planned = team.run("plan", "--allow-deletes", "--out", saved)
    assert planned.status == 0, planned.err
    assert "producer_byte_rate: 1048576 (1MiB/s) → 2097152 (2MiB/s)" in planned.out
    assert "1 quota to create, 1 quota to alter, 1 quota to delete" in planned.out
    applied = team.run("apply", saved, str(team.directory), "--yes", cluster=False)
    assert applied.status == 0, applied.err
    assert team.run("drift").status == 0
    assert team.run("plan", "--detailed-exitcode").status == 0

    exported = tmp_path / "exported"
    assert team.run("export", "--out", str(exported)).status == 0
    text = (exported / "quotas.yaml").read_text(encoding="utf-8")
    assert "user: quota-team-a" in text
    assert "quota-team-b" not in text

    undo = str(tmp_path / "undo.json")
    undone = team.run("undo", saved, str(team.directory), "--allow-deletes", "--out", undo, cluster=False)
    assert undone.status == 0, undone.err
    assert team.run("apply", undo, str(team.directory), "--yes", cluster=False).status == 0
    team.write("quotas.yaml", BEFORE)
    assert team.run("drift").status == 0

    team.write("quotas.yaml", re.sub(r"limits: {.*}}", "absent: true}", BEFORE))
    assert team.run("apply", "--yes", "--allow-deletes").status == 0, "the broker is left as it was"


GRANT = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec: {principals: ["User:@a", "User:@c"], rules: [{allow: READ, topics: [quota-topic]}]}
"""


def test_a_grant_is_shown_with_the_quota_that_no_manifest_names(team: Job) -> None:
    team.write("quotas.yaml", BEFORE)
    assert team.run("apply", "--yes").status == 0
    (team.directory / "quotas.yaml").unlink()
    team.write("acls.yaml", GRANT)
    planned = team.run("plan")
    assert planned.status == 0, planned.err
    assert "User:quota-team-c: unlimited" in planned.out
    assert "User:quota-team-a: producer_byte_rate = 1048576 (1MiB/s) by `user quota-team-a`" in planned.out
    (team.directory / "acls.yaml").unlink()
    team.write("quotas.yaml", re.sub(r"limits: {.*}}", "absent: true}", BEFORE))
    assert team.run("apply", "--yes", "--allow-deletes").status == 0, "the broker is left as it was"
