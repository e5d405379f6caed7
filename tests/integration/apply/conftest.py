"""Manifests of one test on the session's broker, which every module leaves as it found it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.adapters.kafka.cluster import KafkaCluster, connect
from reconciler.adapters.kafka.secret_source import SecretSource
from reconciler.adapters.kafka.settings import client_settings
from reconciler.adapters.sandbox import Sandbox, SandboxSpec, generated_users, running
from reconciler.ports import ReadRequest
from tests.integration.main_job import Job, job
from tests.verbs import deletions


def _opened(broker: Sandbox) -> KafkaCluster:
    settings = broker.settings("admin")
    servers = settings.pop("bootstrap.servers")
    return connect(client_settings(servers, settings, SecretSource()))


@pytest.fixture(scope="module", autouse=True)
def tidy(broker: Sandbox) -> Iterator[None]:
    """Delete what the module's plans created: their DENYs for ``User:*`` would make other tests' listings partial."""
    with _opened(broker) as cluster:
        before = cluster.read(ReadRequest(all_topics=False)).bindings
    yield
    with _opened(broker) as cluster:
        left = sorted(cluster.read(ReadRequest(all_topics=False)).bindings - before)
        for start in range(0, len(left), 500):
            cluster.send(deletions(left[start : start + 500]))


@pytest.fixture(scope="session")
def open_broker(sandbox_root: Path) -> Iterator[Sandbox]:
    """A broker with allow.everyone.if.no.acl.found=true."""
    users = generated_users("admin", "reconciler", "acl-probe", "alice", "bob")
    spec = SandboxSpec(name="open-by-default", users=users, allow_everyone_if_no_acl_found=True)
    with running(spec, root=sandbox_root) as sandbox:
        yield sandbox


@pytest.fixture
def team(tmp_path: Path, broker: Sandbox, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Job:
    """A scope of this test's own."""
    return job(tmp_path, broker, f"apply{abs(hash(request.node.name)) % 10**8}.", capsys)
