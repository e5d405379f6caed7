"""How a kind of resource is read from and sent to a Kafka cluster. Each other module of this folder is one kind."""

from collections.abc import Callable, Sequence
from typing import Protocol

from reconciler.dataclass import dataclass
from reconciler.kafka.client import AdminConnection
from reconciler.kafka.handshake import Handshake
from reconciler.kafka.listing import AclListing
from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.ports import Answer, ReadRequest


@dataclass(frozen=True, slots=True)
class ReadSession:
    """What the kinds share while one :class:`~reconciler.ports.ReadRequest` is answered.

    ``listing`` is the listing of ACLs, which runs in another process; ``seen`` are the names of topics that a broker
    shows us, if all topics were requested.
    """

    connection: AdminConnection
    request: ReadRequest
    handshake: Handshake
    listing: AclListing | None
    seen: Sequence[str]


class Kind(Protocol):
    """A kind of resource. Its changes must all be of this kind, one verb and one type."""

    @property
    def TYPES(self) -> tuple[type, ...]:
        """The types of the before and after sides of its changes."""
        ...

    def read(self, session: ReadSession, state: ClusterState) -> ClusterState:
        """``state``, with the kinds that are already read, and this kind as far as it was requested.

        Raises :class:`~reconciler.ports.ClusterError` rather than leave something out silently.
        """
        ...

    def send(
        self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False
    ) -> list[Answer]:
        """See :meth:`reconciler.ports.ClusterWriter.send`; with ``only_validate``, ``ChangeValidator.validate``."""
        ...

    def begin(self, connection: AdminConnection, changes: Sequence[Change]) -> Callable[[], list[Answer]]:
        """See :meth:`reconciler.ports.PipelinedWriter.begin`."""
        ...
