"""Two operators on one real broker, each a process of its own: what the lease keeps apart, and what happens without."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reconciler.apply.lease import lease_claims
from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.model.acl import AclBinding
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import Job
from tests.prepared import prepared
from tests.verbs import creations

pytestmark = pytest.mark.broker

TEAM = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules: [{allow: READ, topics: ["@orders"]}]
"""
_PROGRAM = "from reconciler.cli.main import main; main()"


@pytest.fixture
def admin(broker: Sandbox) -> Iterator[KafkaCluster]:
    with connect(settings_of(broker.settings("admin"))) as cluster:
        yield cluster


@pytest.fixture
def slow(team: Job) -> Job:
    """A job whose next apply replaces a grant, and waits three seconds in between."""
    team.write("team.yaml", TEAM)
    assert team.run("apply", "--yes").status == 0
    cluster = team.directory / "cluster.yaml"
    cluster.write_text(cluster.read_text().replace("{wait: 100ms}", "{wait: 3s}"))
    team.write("team.yaml", TEAM.replace("READ", "WRITE"))
    return team


@contextmanager
def _dana(job: Job, *more: str) -> "Iterator[subprocess.Popen[str]]":
    """Another person's apply of what the manifests say now."""
    where = [str(job.directory), "--cluster", "it", "--connections", str(job.connections)]
    program = prepared().joining + _PROGRAM
    line = [sys.executable, "-c", program, "apply", *where, "--yes", "--allow-deletes", "--operator", "dana", *more]
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=path) as process:
        try:
            yield process
        finally:
            process.kill()


def _until(admin: KafkaCluster, seen: Callable[[frozenset[AclBinding]], bool]) -> None:
    end = time.monotonic() + 120
    while not seen(admin.read(ReadRequest(all_topics=False)).bindings):
        assert time.monotonic() < end


def _written(job: Job) -> Callable[[frozenset[AclBinding]], bool]:
    return lambda bindings: any("WRITE" in str(b) and b.pattern.name.startswith(job.prefix) for b in bindings)


def test_while_one_holds_the_lease_the_other_is_told_by_whom_and_sends_nothing(slow: Job, admin: KafkaCluster) -> None:
    with _dana(slow, "--lease") as dana:
        _until(admin, _written(slow))
        dana.send_signal(signal.SIGSTOP)
        for more in ([], ["--lease"], ["--break-lease", "somebody"]):
            refused = slow.run("apply", "--yes", "--allow-deletes", *more)
            assert refused.status == 6, refused.err
            assert "somebody else is applying: dana holds the lease, by run 20" in refused.err
            assert "--break-lease dana" in refused.err
        assert "dana" in slow.run("cleanup", "--yes").err, "a run that is going on is not cleaned up"
        dana.send_signal(signal.SIGCONT)
        _, told = dana.communicate(timeout=60)
        assert dana.returncode == 0, told
    assert not lease_claims(admin.read(ReadRequest(all_topics=False)).bindings)
    assert slow.run("apply", "--yes", "--lease").status == 0
    assert slow.run("drift").status == 0


def test_the_lease_of_a_killed_run_is_no_drift_and_can_be_broken_and_cleaned(slow: Job, admin: KafkaCluster) -> None:
    with _dana(slow, "--lease") as dana:
        _until(admin, _written(slow))
        dana.kill()
        dana.wait()
    (left,) = lease_claims(admin.read(ReadRequest(all_topics=False)).bindings)
    assert left.holder == "dana"
    assert "__kr" not in slow.run("drift", "--output", "json").out
    assert slow.run("apply", "--yes", "--allow-deletes").status == 6
    cleaned = slow.run("cleanup", "--run", left.run, "--yes")
    assert "Removed." in cleaned.out
    admin.send(creations([left.binding]))
    broken = slow.run("apply", "--yes", "--allow-deletes", "--break-lease", "dana")
    assert broken.status == 0, broken.err
    assert not lease_claims(admin.read(ReadRequest(all_topics=False)).bindings)
    assert slow.run("drift").status == 0


def test_without_it_the_one_who_was_overtaken_notices_and_takes_nothing_away(slow: Job, admin: KafkaCluster) -> None:
    with _dana(slow) as dana:
        _until(admin, _written(slow))
        dana.send_signal(signal.SIGSTOP)
        cluster = slow.directory / "cluster.yaml"
        cluster.write_text(cluster.read_text().replace("{wait: 3s}", "{wait: 100ms}"))
        slow.write("team.yaml", TEAM.replace("READ", "DESCRIBE"))
        assert slow.run("apply", "--yes", "--allow-deletes").status == 0
        dana.send_signal(signal.SIGCONT)
        told, _ = dana.communicate(timeout=60)
        assert dana.returncode == 1, told
        assert "somebody else changed what this plan touches" in told
    assert slow.run("drift").status == 0, "the other one's wish stands whole"
