"""What ``doctor`` shows about a cluster and our rights on it."""

from collections.abc import Mapping

from reconciler.adapters.kafka.handshake import AuthorizerPresence, Broker
from reconciler.dataclass import dataclass
from reconciler.model import FrozenMap


@dataclass(frozen=True, slots=True)
class Inspection:
    """A cluster as one broker describes it to us.

    ``operations`` are those that we may do on the cluster (KIP-430), ``None`` without DESCRIBE on CLUSTER.
    ``can_list_acls`` and ``can_alter_acls`` are ``None`` if there is no authorizer, or if it is unknown.
    ``metadata_version`` is the finalized feature level, ``None`` if it cannot be read. ``visible_topics`` counts the
    topics that a listing shows us. ``no_messages`` says why kafka-python is not used, after its name. ``configs`` are a
    broker's configs that tell its make or its authorizer.
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
    no_messages: str | None = None
    configs: Mapping[str, str | None] = FrozenMap()
