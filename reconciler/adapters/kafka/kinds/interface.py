"""What a Kafka cluster is asked about a kind of resource. Each other module of this folder is one kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.handshake import Handshake
from reconciler.adapters.kafka.listing import AclListing
from reconciler.model import Change, ClusterState
from reconciler.ports import Answer, ReadRequest


@dataclass(frozen=True, slots=True)
class ReadSession:
    """What the kinds share while one :class:`~reconciler.ports.ReadRequest` is answered.

    ``listing`` is the one of ACLs, which goes on in another process; ``seen`` are the names of topics that a broker
    shows us, where all of them were asked for.
    """

    connection: AdminConnection
    request: ReadRequest
    handshake: Handshake
    listing: AclListing | None
    seen: Sequence[str]


class Kind(Protocol):
    """A kind of resource. It takes changes of this kind only, all of one verb and one type."""

    @property
    def TYPES(self) -> tuple[type, ...]:  # noqa: N802 - a constant of each module
        """Which types the sides of its changes have."""
        ...

    def read(self, session: ReadSession, state: ClusterState) -> ClusterState:
        """``state``, which has what the kinds before have read, and what was asked for of this kind.

        Raises :class:`~reconciler.ports.ClusterError` rather than to leave anything out without a word.
        """
        ...

    def send(
        self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False
    ) -> list[Answer]:
        """See :meth:`reconciler.ports.ClusterWriter.send`; with ``only_validate``, ``ChangeValidator.validate``."""
        ...
