"""What a cluster in memory asks of a kind of resource. Each other module of this folder is one kind."""

from collections.abc import Sequence
from typing import Protocol

from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.ports import Answer, ReadRequest
from reconciler.snapshot.document import Snapshot


class Kind(Protocol):
    """A kind of resource. It takes changes of this kind only, all of one verb and one type."""

    @property
    def TYPES(self) -> tuple[type, ...]:
        """Which types the sides of its changes have."""
        ...

    def view(self, snapshot: Snapshot, request: ReadRequest, state: ClusterState) -> ClusterState:
        """``state``, less what was not asked for of this kind. A gap is said of what was asked for only."""
        ...

    def can_validate(self, change: Change) -> bool:
        """Whether Kafka's protocol can validate such a change without performing it."""
        ...

    def send(self, before: Snapshot, changes: Sequence[Change]) -> tuple[Snapshot, list[Answer]]:
        """The snapshot after the changes, by Kafka's rules, and an answer for each."""
        ...
