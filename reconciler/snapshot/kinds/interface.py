"""What a cluster in memory asks of a kind of resource, and how all listed kinds answer by Kafka's rules."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from reconciler.model.listing import NOT_READ, Change, ListedItem, altered, resource_of
from reconciler.model.state import ClusterState
from reconciler.ports import Answer, ReadRequest
from reconciler.snapshot.document import DONE, Snapshot, failed


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


class ListedKind:
    """One listed kind."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self._resource = resource

    @property
    def TYPES(self) -> tuple[type, ...]:
        """The type of its resources."""
        return (self._resource,)

    def view(self, snapshot: Snapshot, request: ReadRequest, state: ClusterState) -> ClusterState:
        """All of them or none."""
        return state if self._resource.KIND in request.listings else state.with_listing(self._resource, NOT_READ)

    def can_validate(self, change: Change) -> bool:
        """As the kind says."""
        return self._resource.CAN_VALIDATE

    def send(self, before: Snapshot, changes: Sequence[Change]) -> tuple[Snapshot, list[Answer]]:
        """A change sets and removes its own values only; a snapshot without a listing of them takes none."""
        state = before.state
        listing = state.listing(self._resource)
        if listing.items is None:
            reason = listing.gap or f"the snapshot holds no {self._resource.WORDS}"
            return before, [failed("CLUSTER_AUTHORIZATION_FAILED", reason)] * len(changes)
        if state.metadata_version is not None and state.metadata_version < self._resource.LEVEL.number:
            return before, [failed("UNSUPPORTED_VERSION", self._resource.LEVEL.refusal)] * len(changes)
        items: dict[Any, ListedItem] = dict(listing.by_key)
        answers = []
        for change in changes:
            item: ListedItem = resource_of(change)
            refused = None if change.after is None else item.refusal(state.kafka_version)
            answers.append(DONE if refused is None else failed(*refused))
            if refused is None:
                there = items.get(item.key, item.with_values({}))
                items[item.key] = there.with_values(altered(there.values, change.before, change.after))
        found = frozenset(item for item in items.values() if item.values)
        return replace(before, state=state.with_listing(self._resource, replace(listing, items=found))), answers
