"""When an ACL listing is believed: it is of this cluster, and no refusal in disguise.

The client turns a refused listing into an empty one, and a cluster without an authorizer grants every operation; so
what the client lists counts only beside proofs. Raw messages need none: they carry the error itself.
"""

from reconciler.adapters.kafka import codes
from reconciler.adapters.kafka.client import Connection
from reconciler.adapters.kafka.listing import Listed, Reader, refusal
from reconciler.adapters.kafka.preflight import Authorizer, Greeting, greet, probe_authorizer
from reconciler.ports import ClusterError


def believed(connection: Connection, greeting: Greeting, listed: Listed) -> Listed:
    """``listed``, or :class:`ClusterError`; ``greeting`` was asked for before the listing was read."""
    if listed.cluster_id is not None and listed.cluster_id != greeting.cluster_id:
        raise ClusterError(
            "cluster_mismatch",
            f"the bootstrap servers lead to two clusters, {greeting.cluster_id} and {listed.cluster_id}",
            "List the brokers of one cluster only.",
        )
    whole_and_filled = listed.reader is Reader.CLIENT and any(listed.listing)
    if listed.reader is not Reader.MESSAGES and not whole_and_filled:
        _prove_right_to_list(connection, greeting)
    return listed


def _prove_right_to_list(connection: Connection, before: Greeting) -> None:
    """Proves that we might list before and still may: an empty listing, or one shard of it, may be a refusal."""
    after = greet(connection)
    if not (before.may_list_acls and after.may_list_acls):
        raise refusal(codes.CLUSTER_AUTHORIZATION_FAILED)
    if not after.may_lack_authorizer:
        return
    authorizer = probe_authorizer(connection).authorizer
    if authorizer is Authorizer.ABSENT:
        raise refusal(codes.SECURITY_DISABLED)
    if authorizer is Authorizer.UNKNOWN:
        raise ClusterError(
            "acl_listing_unproven",
            "nothing shows whether this cluster has no ACLs or no authorizer",
            "Use settings that kafka-python can take over (see docs/client-settings.md): it hears the error itself.",
        )
