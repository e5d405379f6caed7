"""What writing to a Kafka cluster asks of a kind of resource. Each other module of this folder is one kind."""

from collections.abc import Sequence
from typing import Protocol

from reconciler.adapters.kafka.client import AdminConnection
from reconciler.model import Change
from reconciler.ports import Answer


class Kind(Protocol):
    """A kind of resource. It takes changes of this kind only, all of one verb and one type."""

    @property
    def TYPES(self) -> tuple[type, ...]:  # noqa: N802 - a constant of each module
        """Which types the sides of its changes have."""
        ...

    def send(
        self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False
    ) -> list[Answer]:
        """See :meth:`reconciler.ports.ClusterWriter.send`; with ``only_validate``, ``ChangeValidator.validate``."""
        ...
