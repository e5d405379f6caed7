"""Manifests of one test on the session's broker, which every module leaves as it found it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.adapters.kafka.cluster import KafkaCluster, connect
from reconciler.adapters.kafka.secret_source import SecretSource
from reconciler.adapters.kafka.settings import client_settings
from reconciler.adapters.sandbox import Sandbox
from reconciler.ports import ReadRequest
from tests.integration.main_job import Job, job


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
            cluster.delete_acls(left[start : start + 500])


@pytest.fixture
def team(tmp_path: Path, broker: Sandbox, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Job:
    """A scope of this test's own."""
    return job(tmp_path, broker, f"apply{abs(hash(request.node.name)) % 10**8}.", capsys)
