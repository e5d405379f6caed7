"""Check that an ACL listing is of this cluster and is not a refusal that looks empty.

librdkafka returns an empty list if DescribeAcls fails, whatever the reason: it drops the top-level error code.
A cluster without an authorizer reports every operation as permitted, and another authorizer may keep no ACLs. So a
listing by the client counts only together with proof of the right to list, and of an authorizer that answers about
ACLs. Raw messages need no proof: they carry the error code.
"""

from reconciler.adapters.kafka import codes
from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.handshake import AuthorizerPresence, Handshake, handshake_with, probe_authorizer
from reconciler.adapters.kafka.listing import AclReader, ListingResult, refusal
from reconciler.ports import ClusterError


def checked_listing(connection: AdminConnection, handshake: Handshake, listed: ListingResult) -> ListingResult:
    """``listed``, or :class:`ClusterError`. ``handshake`` must be from before the listing was read."""
    # Bootstrap addresses of two clusters would mix the topics of one with the ACLs of the other.
    if listed.cluster_id is not None and listed.cluster_id != handshake.cluster_id:
        raise ClusterError(
            "cluster_mismatch",
            f"the bootstrap servers lead to two clusters, {handshake.cluster_id} and {listed.cluster_id}",
            "List only the brokers of one cluster.",
        )
    # One request that returned something was not refused. Of shards, some may have been refused, some not.
    whole_and_filled = listed.reader is AclReader.CLIENT and any(listed.listing)
    if listed.reader is not AclReader.MESSAGES and not whole_and_filled:
        _prove_right_to_list(connection, handshake, empty=not any(listed.listing))
    return listed


def _prove_right_to_list(connection: AdminConnection, before: Handshake, *, empty: bool) -> None:
    """Prove that we were allowed to list before and still are: an empty listing or shard may be a refusal."""
    after = handshake_with(connection)
    if not (before.may_list_acls and after.may_list_acls):
        raise refusal(codes.CLUSTER_AUTHORIZATION_FAILED)
    probe = probe_authorizer(connection)
    if probe.authorizer is AuthorizerPresence.ABSENT:
        raise refusal(codes.SECURITY_DISABLED)
    # Whoever may list and not alter is no super user, so at least one ACL says so.
    if probe.authorizer is AuthorizerPresence.UNKNOWN or (empty and probe.may_alter is False):
        raise ClusterError(
            "acl_listing_unproven",
            "cannot tell whether this cluster has no ACLs, or its authorizer failed to list them",
            "Use client settings that kafka-python supports too (see docs/client-settings.md): it reports the error.",
        )
