"""Every implementation of the port, one after the other: in memory, in a file, and real brokers of several versions."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from reconciler.codec.kinds import LISTED
from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.flavored import FlavoredCluster
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.model.flavor import FLAVORS
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.parts.local.sandbox.layout import DEFAULT_VERSION
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from reconciler.snapshot.file import MemoryCluster, SnapshotCluster
from tests.contract.confluent_cloud import ConfluentCloud
from tests.contract.subject import Subject

_ONE_BROKER = BrokerFacts(broker_ids=(1,))


def _connected(sandbox: Sandbox) -> KafkaCluster:
    settings = sandbox.settings("reconciler", "PLAIN")
    servers = settings.pop("bootstrap.servers")
    return connect(client_settings(servers, settings, SecretSource()))


@pytest.fixture(scope="session")
def cluster_of(broker_of: Callable[[str], Sandbox]) -> Iterator[Callable[[str], Subject]]:
    """A connection to a real broker, by Kafka version."""
    with ExitStack() as stack:

        @cache
        def connected(version: str) -> Subject:
            cluster = stack.enter_context(_connected(broker_of(version)))
            major, minor = version.split(".")[:2]
            return Subject(cluster, (int(major), int(minor)))

        yield connected


@pytest.fixture
def memory_cluster() -> Subject:
    state = ClusterState("memory", listings=dict.fromkeys(LISTED, Listing(frozenset())), kafka_version=(4, 4))
    return Subject(MemoryCluster(state, _ONE_BROKER), (4, 4))


@pytest.fixture
def snapshot_cluster(tmp_path: Path) -> Subject:
    path = tmp_path / "cluster.json"
    state = ClusterState("snapshot", listings=dict.fromkeys(LISTED, Listing(frozenset())), kafka_version=(4, 4))
    path.write_text(snapshot_text(state, _ONE_BROKER), encoding="utf-8")
    return Subject(SnapshotCluster(path), (4, 4))


@pytest.fixture
def confluent_cloud_cluster() -> Subject:
    """An emulation, read and written as its flavor needs it."""
    state = ClusterState("lkc-9gz21", listings=dict.fromkeys(LISTED, Listing(frozenset())), kafka_version=(4, 4))
    # Which configs a user may set is the service's policy, and no part of what the port promises.
    cloud = ConfluentCloud(state, _ONE_BROKER, settable=None)
    return Subject(FlavoredCluster(cloud, FLAVORS["confluent-cloud"]), (4, 4))


#: The newest keeps the contract in every run, older ones in the long tests.
_ALWAYS: Final = (DEFAULT_VERSION,)
_LONG: Final = ("4.3", "4.2", "4.1", "4.0", "3.9")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test of the contract, on every implementation."""
    if "subject" not in metafunc.fixturenames:
        return
    real = [
        pytest.param(version, marks=[pytest.mark.broker, *([pytest.mark.long] if version in _LONG else [])])
        for version in (*_ALWAYS, *_LONG)
    ]
    metafunc.parametrize(
        "subject",
        ["memory_cluster", "snapshot_cluster", "confluent_cloud_cluster", *real],
        indirect=True,
        scope="function",
    )


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> Subject:
    if request.param.endswith("_cluster"):
        found: Subject = request.getfixturevalue(request.param)
        return found
    of: Callable[[str], Subject] = request.getfixturevalue("cluster_of")
    return of(request.param)


@pytest.fixture
def own() -> str:
    """A text that only this test uses, in every name that it makes: brokers are shared."""
    return f"c{secrets.token_hex(6)}"
