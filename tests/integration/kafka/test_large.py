"""Clusters with more ACLs than the client library survives."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.listing import AclReader
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import AnswerStatus, ClusterError, ReadRequest
from tests.integration.kafka.conftest import settings_of
from tests.verbs import creations

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(900)]

ONLY_ACLS = ReadRequest(all_topics=False)


@pytest.fixture
def roomy(sandbox_root: Path) -> Iterator[Sandbox]:
    """A broker of its own with a large heap."""
    with running(SandboxSpec(name="roomy", users=generated_users("admin"), heap="2g"), root=sandbox_root) as sandbox:
        yield sandbox


def fill(cluster: KafkaCluster, acls: int, resources: int) -> frozenset[AclBinding]:
    """Creates ``acls`` bindings spread evenly over ``resources`` topics."""
    patterns = [ResourcePattern(ResourceType.TOPIC, f"large-{number:06}") for number in range(resources)]
    entries = [
        AccessControlEntry(
            f"User:a-principal-with-a-long-name-{number}", "*", AclOperation.READ, AclPermissionType.ALLOW
        )
        for number in range(acls // resources)
    ]
    bindings = [AclBinding(pattern, entry) for pattern in patterns for entry in entries]
    for start in range(0, len(bindings), 1000):
        batch = bindings[start : start + 1000]
        assert {answer.status for answer in cluster.send(creations(batch))} == {AnswerStatus.DONE}
    return frozenset(bindings)


def test_more_acls_than_a_thread_s_stack_holds(roomy: Sandbox) -> None:
    settings = settings_of(roomy.settings("admin"))
    with connect(settings) as cluster:
        wanted = fill(cluster, 150_000, 30_000)
        assert cluster.read(ONLY_ACLS).bindings == wanted
    for reader in (AclReader.CLIENT, AclReader.SHARDS):
        with connect(settings, readers=(reader,)) as cluster:
            assert cluster.read(ONLY_ACLS).bindings == wanted


def test_more_resources_than_the_client_can_parse(roomy: Sandbox) -> None:
    settings = settings_of(roomy.settings("admin"))
    with connect(settings) as cluster:
        wanted = fill(cluster, 120_000, 120_000)
        assert cluster.read(ONLY_ACLS).bindings == wanted
    with (
        connect(settings, readers=(AclReader.CLIENT, AclReader.SHARDS)) as cluster,
        pytest.raises(
            ClusterError, match="client: the process ended with status -6; shards: the process ended"
        ) as died,
    ):
        cluster.read(ONLY_ACLS)
    assert "100,000 resources" in died.value.advice
    with connect(settings, readers=(AclReader.CLIENT, AclReader.MESSAGES)) as cluster:
        state = cluster.read(ONLY_ACLS)
        assert (state.bindings, state.acl_gap) == (wanted, None)
