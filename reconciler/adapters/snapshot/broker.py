"""What a snapshot says of its brokers, beside the state itself."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

from reconciler.codec import Says, integer
from reconciler.dataclass import dataclass
from reconciler.model import ClusterState

#: ``QuorumController.MAX_RECORDS_PER_USER_OP``: no request changes more.
MAX_RECORDS: Final = 10_000
_OneOrMore: TypeAlias = Annotated[int, integer(1)]


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    """Broker defaults for new topics, and who could hold replicas.

    ``broker_ids`` is ``None`` where the snapshot does not say: then no replication factor is too high.
    ``topics_created`` counts the topics created on this snapshot, so that each gets an id of its own.
    """

    default_partitions: Annotated[_OneOrMore, Says("How many partitions a topic gets that names none.", 1)] = 1
    default_replication_factor: Annotated[_OneOrMore, Says("How many replicas a topic gets that names none.", 3)] = 1
    broker_ids: Annotated[tuple[int, ...] | None, Says("null: unknown, and no replication factor is too high.")] = None
    topics_created: Annotated[
        int, Says("How many topics were created on this snapshot; their ids follow from it.", 0)
    ] = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One cluster as a file holds it.

    ``racks`` are those of brokers in memory: a file holds none, so that nothing is moved by what a file says.
    """

    state: ClusterState
    broker: BrokerFacts = BrokerFacts()
    racks: Mapping[int, str | None] | None = None


def topic_id(cluster_id: str, number: int) -> str:
    """The id of the ``number``-th topic created on a snapshot, in the form of Kafka's ``Uuid``: 22 characters.

    It is drawn from no randomness, so that the same writes give the same file.
    """
    digest = hashlib.sha256(f"{cluster_id}/{number}".encode()).digest()[:16]
    text = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    # Like Uuid.randomUuid, none that a command line would take for an option.
    return "A" + text[1:] if text.startswith("-") else text
