"""A listing by the client is believed only beside proofs, asked of real brokers."""

import pytest

from reconciler.adapters.kafka.belief import believed
from reconciler.adapters.kafka.bindings import Listing
from reconciler.adapters.kafka.client import Connection
from reconciler.adapters.kafka.listing import Listed, Reader
from reconciler.adapters.kafka.preflight import Authorizer, Probe, greet, probe_authorizer
from reconciler.adapters.sandbox import Sandbox
from reconciler.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    ResourcePattern,
    ResourceType,
)
from reconciler.ports import ClusterError
from tests.integration.kafka.conftest import settings_of

pytestmark = pytest.mark.broker

ENTRY = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
EMPTY = Listing(frozenset(), ())
FILLED = Listing(frozenset({AclBinding(ResourcePattern(ResourceType.TOPIC, "t"), ENTRY)}), ())
ODD = Listing(frozenset(), (OpaqueBinding("x", "User:a", "*", None, 3, None, 3),))


def judge(sandbox: Sandbox, user: str, listing: Listing, reader: Reader, cluster_id: str | None = None) -> Listed:
    connection = Connection(settings_of(sandbox.settings(user)))
    try:
        return believed(connection, greet(connection), Listed(cluster_id, listing, reader, None))
    finally:
        connection.close()


@pytest.mark.parametrize("listing", [EMPTY, FILLED, ODD])
@pytest.mark.parametrize("reader", list(Reader))
def test_somebody_who_may_list_is_believed(broker: Sandbox, listing: Listing, reader: Reader) -> None:
    assert judge(broker, "admin", listing, reader).listing == listing


@pytest.mark.parametrize(
    ("reader", "listing"), [(Reader.CLIENT, EMPTY), (Reader.SHARDS, EMPTY), (Reader.SHARDS, FILLED)]
)
def test_an_empty_listing_or_a_shard_is_not_believed_without_the_right(
    broker: Sandbox, reader: Reader, listing: Listing
) -> None:
    with pytest.raises(ClusterError, match="not authorised to list ACLs"):
        judge(broker, "nobody", listing, reader)


def test_entries_prove_the_right_to_list_them(broker: Sandbox) -> None:
    for listing in (FILLED, ODD):
        assert judge(broker, "nobody", listing, Reader.CLIENT).listing == listing


@pytest.mark.parametrize("reader", [Reader.CLIENT, Reader.SHARDS])
def test_an_empty_listing_is_not_believed_without_an_authorizer(broker_no_authorizer: Sandbox, reader: Reader) -> None:
    with pytest.raises(ClusterError, match="no authorizer"):
        judge(broker_no_authorizer, "admin", EMPTY, reader)


@pytest.mark.parametrize("reader", list(Reader))
def test_a_listing_of_another_cluster_is_not_believed(broker: Sandbox, reader: Reader) -> None:
    with pytest.raises(ClusterError, match="lead to two clusters"):
        judge(broker, "admin", FILLED, reader, cluster_id="another")


@pytest.mark.parametrize(
    ("fixture", "user", "probe"),
    [
        ("broker", "admin", Probe(Authorizer.PRESENT, may_alter=True)),
        ("broker", "nobody", Probe(Authorizer.PRESENT, may_alter=False)),
        ("broker_no_authorizer", "admin", Probe(Authorizer.ABSENT)),
    ],
)
def test_the_probe_tells_them_apart(fixture: str, user: str, probe: Probe, request: pytest.FixtureRequest) -> None:
    sandbox: Sandbox = request.getfixturevalue(fixture)
    connection = Connection(settings_of(sandbox.settings(user)))
    assert probe_authorizer(connection) == probe
    connection.close()
