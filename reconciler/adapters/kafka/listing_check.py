"""When an ACL listing is believed: it is of this cluster, and no refusal in disguise.

The client turns a refused listing into an empty one, and a cluster without an authorizer grants every operation; so
what the client lists counts only beside proofs. Raw messages need none: they carry the error itself.
"""

from reconciler.adapters.kafka import codes
from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.handshake import AuthorizerPresence, Handshake, handshake_with, probe_authorizer
from reconciler.adapters.kafka.listing import AclReader, ListingResult, refusal
from reconciler.ports import ClusterError


def checked_listing(connection: AdminConnection, handshake: Handshake, listed: ListingResult) -> ListingResult:
    """``listed``, or :class:`ClusterError`; ``handshake`` was asked for before the listing was read."""
    if listed.cluster_id is not None and listed.cluster_id != handshake.cluster_id:
        raise ClusterError(
            "cluster_mismatch",
            f"the bootstrap servers lead to two clusters, {handshake.cluster_id} and {listed.cluster_id}",
            "List the brokers of one cluster only.",
        )
    whole_and_filled = listed.reader is AclReader.CLIENT and any(listed.listing)
    if listed.reader is not AclReader.MESSAGES and not whole_and_filled:
        _prove_right_to_list(connection, handshake)
    return listed


def _prove_right_to_list(connection: AdminConnection, before: Handshake) -> None:
    """Proves that we might list before and still may: an empty listing, or one shard of it, may be a refusal."""
    after = handshake_with(connection)
    if not (before.may_list_acls and after.may_list_acls):
        raise refusal(codes.CLUSTER_AUTHORIZATION_FAILED)
    if not after.may_lack_authorizer:
        return
    authorizer = probe_authorizer(connection).authorizer
    if authorizer is AuthorizerPresence.ABSENT:
        raise refusal(codes.SECURITY_DISABLED)
    if authorizer is AuthorizerPresence.UNKNOWN:
        raise ClusterError(
            "acl_listing_unproven",
            "nothing shows whether this cluster has no ACLs or no authorizer",
            "Use settings that kafka-python can take over (see docs/client-settings.md): it hears the error itself.",
        )
