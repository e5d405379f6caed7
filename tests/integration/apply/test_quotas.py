"""Client quotas on a real broker, by the command line: plan, apply, drift, export, undo."""

import re
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from reconciler.kafka.cluster import connect
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Change, Create, Delete
from reconciler.parts.local.sandbox.state import Sandbox
from tests.integration.main_job import Job, job
from tests.plan_files import plan_id_of

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
    assert team.run("apply", undo, str(team.directory), "--require-id", plan_id_of(undo), cluster=False).status == 0
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


EVERY_QUOTA = CLUSTER.replace('{prefix: "User:@"}', "{any: true}").replace("spec:\n", "spec:\n  prune: [quotas]\n")
SLOWED = """\
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: team}
spec:
  quotas:
    - {ip: 127.0.0.9, limits: {connection_creation_rate: 1}}
"""


def let_in(broker: Sandbox) -> int:
    """How many of 25 connections from 127.0.0.9 the broker takes up within a second and a half."""
    host, port = broker.settings("admin")["bootstrap.servers"].rsplit(":", 1)
    with ExitStack() as stack:
        sockets = []
        for _ in range(25):
            one = stack.enter_context(socket.create_connection((host, int(port)), 5, ("127.0.0.9", 0)))
            one.setblocking(False)
            sockets.append(one)
        time.sleep(1.5)
        return sum(_is_open(one) for one in sockets)


def soon_lets_in(broker: Sandbox, expected: range) -> bool:
    """Whether it comes to let in so many: a broker applies a quota to itself after it shows it."""
    until = time.monotonic() + 30
    while (count := let_in(broker)) not in expected and time.monotonic() < until:
        pass
    return count in expected


def _is_open(one: socket.socket) -> bool:
    try:
        return bool(one.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


def altered(broker: Sandbox, change: Change) -> None:
    settings = broker.settings("admin")
    with connect(client_settings(settings.pop("bootstrap.servers"), settings, SecretSource())) as cluster:
        assert cluster.send([change])[0].good


def test_an_address_that_is_limited_in_another_spelling_is_limited_as_declared(team: Job, broker: Sandbox) -> None:
    mapped, declared = (
        ClientQuota(QuotaEntity.of(ip=text), {"connection_creation_rate": 1})
        for text in ("::ffff:127.0.0.9", "127.0.0.9")
    )
    team.write("cluster.yaml", EVERY_QUOTA)
    team.write("quotas.yaml", SLOWED)
    for there in ((mapped,), (mapped, declared)):
        for quota in there:
            altered(broker, Create(quota))
        planned = team.run("plan", "--allow-deletes")
        assert "quota of ip ::ffff:127.0.0.9" in planned.out
        assert team.run("apply", "--yes", "--allow-deletes").status == 0
        assert team.run("drift").status == 0
        assert soon_lets_in(broker, range(13))
        if there[-1] is not declared:
            altered(broker, Delete(declared))

    altered(broker, Create(mapped))
    team.write("cluster.yaml", CLUSTER.replace('{prefix: "User:@"}', "{any: true}"))
    for command in ("plan", "drift"):
        found = team.run(command)
        assert "of the same address as the quota of ip 127.0.0.9" in " ".join(found.out.split())
        assert "Nothing to do" not in found.out
    team.write("quotas.yaml", SLOWED + '    - {ip: "::ffff:127.0.0.9", absent: true}\n')
    assert team.run("apply", "--yes", "--allow-deletes").status == 0
    assert soon_lets_in(broker, range(13))
    team.write("quotas.yaml", SLOWED.replace("limits: {connection_creation_rate: 1}", "absent: true"))
    assert team.run("apply", "--yes", "--allow-deletes").status == 0
    assert soon_lets_in(broker, range(25, 26))
