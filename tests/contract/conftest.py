"""Every implementation of the port, one after the other: in memory, in a file, and two real brokers."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.adapters.kafka.cluster import KafkaCluster, connect
from reconciler.adapters.kafka.secret_source import SecretSource
from reconciler.adapters.kafka.settings import client_settings
from reconciler.adapters.sandbox import Sandbox
from reconciler.adapters.snapshot import BrokerFacts, MemoryCluster, SnapshotCluster, snapshot_text
from reconciler.model import ClusterState, Listing
from tests.contract.subject import Subject

_ONE_BROKER = BrokerFacts(broker_ids=(1,))


def _connected(sandbox: Sandbox) -> KafkaCluster:
    settings = sandbox.settings("reconciler")
    servers = settings.pop("bootstrap.servers")
    return connect(client_settings(servers, settings, SecretSource()))


@pytest.fixture(scope="session")
def current_cluster(broker: Sandbox) -> Iterator[Subject]:
    with _connected(broker) as cluster:
        yield Subject(cluster, (4, 3))


@pytest.fixture(scope="session")
def oldest_cluster(broker_3_9: Sandbox) -> Iterator[Subject]:
    with _connected(broker_3_9) as cluster:
        yield Subject(cluster, (3, 9))


@pytest.fixture
def memory_cluster() -> Subject:
    state = ClusterState("memory", listings={"quotas": Listing(frozenset())}, kafka_version=(4, 3))
    return Subject(MemoryCluster(state, _ONE_BROKER), (4, 3))


@pytest.fixture
def snapshot_cluster(tmp_path: Path) -> Subject:
    path = tmp_path / "cluster.json"
    state = ClusterState("snapshot", listings={"quotas": Listing(frozenset())}, kafka_version=(4, 3))
    path.write_text(snapshot_text(state, _ONE_BROKER), encoding="utf-8")
    return Subject(SnapshotCluster(path), (4, 3))


@pytest.fixture(
    params=[
        "memory_cluster",
        "snapshot_cluster",
        pytest.param("current_cluster", marks=pytest.mark.broker),
        pytest.param("oldest_cluster", marks=pytest.mark.broker),
    ]
)
def subject(request: pytest.FixtureRequest) -> Subject:
    found: Subject = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def own() -> str:
    """A text that only this test uses, in every name that it makes: brokers are shared."""
    return f"c{secrets.token_hex(6)}"
