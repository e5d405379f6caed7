"""What ``doctor`` wants to know of a cluster and of our standing in it."""

from dataclasses import dataclass

from reconciler.adapters.kafka.handshake import AuthorizerPresence, Broker


@dataclass(frozen=True, slots=True)
class Inspection:
    """A cluster as one broker describes it to us.

    ``operations`` are ours on the cluster, by name (KIP-430): ``None`` where DESCRIBE on CLUSTER is missing.
    ``can_list_acls`` and ``can_alter_acls`` are ``None`` where there is no authorizer, or where it cannot be told.
    ``metadata_version`` is the
    finalized feature level (``None`` where it cannot be read), ``visible_topics`` how many topics a listing shows us.
    """

    cluster_id: str
    brokers: tuple[Broker, ...]
    controller: int | None
    operations: frozenset[str] | None
    authorizer: AuthorizerPresence
    can_list_acls: bool | None
    can_alter_acls: bool | None
    metadata_version: int | None
    visible_topics: int
