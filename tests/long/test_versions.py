"""One whole plan, apply and drift on every Kafka version that a sandbox knows, with a probe as barrier.

The adapter's contract on each of them is in ``tests/contract``.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.model.addresses import RANGES_SINCE
from reconciler.parts.local.sandbox.layout import NEWEST_PATCH, SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from tests.integration.main_job import Job, add_probe, job

pytestmark = [pytest.mark.broker, pytest.mark.long]

VERSIONS = pytest.mark.parametrize("version", list(NEWEST_PATCH))
TEAM = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:alice
  rules:
    - {allow: [READ, DESCRIBE], topics: ["@orders"]}
    - {deny: WRITE, topics: {prefix: "@audit."}, hosts: [10.0.0.7]}
    - {allow: READ, groups: ["@group"]}
    - {allow: [CREATE_TOKENS, DESCRIBE_TOKENS], users: ["User:@bob"]}
    - {allow: DESCRIBE, delegationTokens: ['@token']}
"""
TOPIC = """\
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: team}
spec:
  topics:
    - {name: "@orders", partitions: 2, replicationFactor: 1, configs: {retention.ms: 7d}}
"""
OPENED = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:alice
  rules:
    - {allow: READ, topics: ["@orders"]}
    - {deny: WRITE, topics: ["@orders"]}
"""
RANGE = """\
    - {allow: READ, topics: ["@orders"], hosts: [10.0.0.0/8]}
"""


def _with_probe(made: Job, sandbox: Sandbox) -> Job:
    cluster = made.directory / "cluster.yaml"
    probe = "{principal: User:acl-probe, timeout: 20s}"
    cluster.write_text(cluster.read_text().replace("{wait: 100ms}", probe) + "  brokers: [1]\n")
    add_probe(made.connections, sandbox)
    return made


@VERSIONS
def test_plan_apply_drift(
    version: str, broker_of: Callable[[str], Sandbox], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sandbox = broker_of(version)
    main = _with_probe(job(tmp_path, sandbox, "versions.", capsys), sandbox)
    main.write("team.yaml", TEAM + TOPIC)
    saved = str(tmp_path / "plan.json")
    planned = main.run("plan", "--out", saved)
    assert planned.status == 0, planned.err
    assert "7 ACLs to create, 1 topic to create" in planned.out
    applied = main.run("apply", saved, str(main.directory), "--yes", cluster=False)
    assert applied.status == 0, applied.err
    assert "Applied and verified: 8 steps." in applied.out
    assert main.run("drift").status == 0

    # A range is created where the brokers know ranges, and nowhere else.
    knows = tuple(map(int, version.split("."))) >= RANGES_SINCE
    main.write("team.yaml", TEAM + RANGE + TOPIC)
    assert ("is a range, which needs Kafka 4.4" in main.run("plan").out) is not knows
    assert main.run("apply", "--yes").status == 0
    assert main.run("drift").status == (0 if knows else 2)

    # What is declared no more goes when that is asked for.
    main.write("team.yaml", TEAM.replace("[READ, DESCRIBE]", "READ") + TOPIC.replace("partitions: 2", "partitions: 3"))
    assert main.run("drift").status == 2
    gone = main.run("apply", "--yes", "--allow-deletes")
    assert gone.status == 0, gone.err
    assert main.run("drift").status == 0


@VERSIONS
def test_default_allow_is_bridged(
    version: str, sandbox_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = SandboxSpec(
        name=f"allow-{version.replace('.', '-')}",
        kafka_version=version,
        users=generated_users("admin", "reconciler", "acl-probe", "alice"),
        allow_everyone_if_no_acl_found=True,
    )
    with running(spec, root=sandbox_root) as sandbox:
        opened = _with_probe(job(tmp_path, sandbox, "open.", capsys), sandbox)
        cluster = opened.directory / "cluster.yaml"
        cluster.write_text(cluster.read_text().replace("Found: false", "Found: true"))
        opened.write("team.yaml", OPENED)
        audit = tmp_path / "audit.jsonl"
        applied = opened.run("apply", "--yes", "--audit", str(audit))
        assert applied.status == 0, applied.err
        records = [json.loads(line) for line in audit.read_text().splitlines()]
        actions = {record["action"] for record in records if record["record"] == "bridges"}
        assert actions == {"create", "created", "remove", "removed"}
        assert opened.run("drift").status == 0
