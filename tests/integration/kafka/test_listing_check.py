"""A listing by the client is believed only beside proofs, asked of real brokers."""

import pytest

from reconciler.kafka.bindings import ListedAcls
from reconciler.kafka.client import AdminConnection
from reconciler.kafka.handshake import AuthorizerPresence, AuthorizerProbe, handshake_with, probe_authorizer
from reconciler.kafka.listing import AclReader, ListingResult, checked_listing
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    ResourcePattern,
    ResourceType,
)
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ClusterError
from tests.integration.kafka.conftest import settings_of

pytestmark = pytest.mark.broker

ENTRY = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
EMPTY = ListedAcls(frozenset(), ())
FILLED = ListedAcls(frozenset({AclBinding(ResourcePattern(ResourceType.TOPIC, "t"), ENTRY)}), ())
ODD = ListedAcls(frozenset(), (OpaqueBinding("x", "User:a", "*", None, 3, None, 3),))


def judge(
    sandbox: Sandbox, user: str, listing: ListedAcls, reader: AclReader, cluster_id: str | None = None
) -> ListingResult:
    connection = AdminConnection(settings_of(sandbox.settings(user)))
    try:
        return checked_listing(connection, handshake_with(connection), ListingResult(cluster_id, listing, reader, None))
    finally:
        connection.close()


@pytest.mark.parametrize("listing", [EMPTY, FILLED, ODD])
@pytest.mark.parametrize("reader", list(AclReader))
def test_somebody_who_may_list_is_believed(broker: Sandbox, listing: ListedAcls, reader: AclReader) -> None:
    assert judge(broker, "admin", listing, reader).listing == listing


@pytest.mark.parametrize(
    ("reader", "listing"), [(AclReader.CLIENT, EMPTY), (AclReader.SHARDS, EMPTY), (AclReader.SHARDS, FILLED)]
)
def test_an_empty_listing_or_a_shard_is_not_believed_without_the_right(
    broker: Sandbox, reader: AclReader, listing: ListedAcls
) -> None:
    with pytest.raises(ClusterError, match="not authorized to list ACLs"):
        judge(broker, "nobody", listing, reader)


def test_entries_prove_the_right_to_list_them(broker: Sandbox) -> None:
    for listing in (FILLED, ODD):
        assert judge(broker, "nobody", listing, AclReader.CLIENT).listing == listing


@pytest.mark.parametrize("reader", [AclReader.CLIENT, AclReader.SHARDS])
def test_an_empty_listing_is_not_believed_without_an_authorizer(
    broker_no_authorizer: Sandbox, reader: AclReader
) -> None:
    with pytest.raises(ClusterError, match="no authorizer"):
        judge(broker_no_authorizer, "admin", EMPTY, reader)


@pytest.mark.parametrize("reader", list(AclReader))
def test_a_listing_of_another_cluster_is_not_believed(broker: Sandbox, reader: AclReader) -> None:
    with pytest.raises(ClusterError, match="lead to two clusters"):
        judge(broker, "admin", FILLED, reader, cluster_id="another")


@pytest.mark.parametrize(
    ("fixture", "user", "probe"),
    [
        ("broker", "admin", AuthorizerProbe(AuthorizerPresence.PRESENT, may_alter=True)),
        ("broker", "nobody", AuthorizerProbe(AuthorizerPresence.PRESENT, may_alter=False)),
        ("broker_no_authorizer", "admin", AuthorizerProbe(AuthorizerPresence.ABSENT)),
    ],
)
def test_the_probe_tells_them_apart(
    fixture: str, user: str, probe: AuthorizerProbe, request: pytest.FixtureRequest
) -> None:
    sandbox: Sandbox = request.getfixturevalue(fixture)
    connection = AdminConnection(settings_of(sandbox.settings(user)))
    assert probe_authorizer(connection) == probe
    connection.close()
