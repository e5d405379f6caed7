"""A cluster in memory whose brokers take several readings to move replicas, as real ones take hours."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Change, Update
from reconciler.model.state import ClusterState
from reconciler.model.topic import Layout, PartitionLayout, Topic, TopicReplicas
from reconciler.ports import Answer, AnswerStatus, ReadRequest
from reconciler.snapshot.document import BrokerFacts
from reconciler.snapshot.file import MemoryCluster

RACKS: Mapping[int, str | None] = {1: "a", 2: "b", 3: "c"}
MIB = 2**20


class SlowMoves(MemoryCluster):
    """``readings`` of the layout show a move unfinished; ``None``: it never ends. Each replica has ``size`` bytes."""

    def __init__(self, *topics: Topic, readings: int | None = 3, size: int = MIB) -> None:
        state = ClusterState("c", topics={topic.name: topic for topic in topics})
        super().__init__(state, BrokerFacts(broker_ids=(1, 2, 3)), RACKS)
        self.readings, self.size = readings, size
        self.moving: dict[str, Any] = {}
        self.left: dict[str, int | None] = {}
        self.sent: list[str] = []
        #: Brokers that hold no replica in sync.
        self.offline: set[int] = set()

    def begin(self, change: Any) -> None:
        """Start a move, as anybody may."""
        self.moving[change.after.name], self.left[change.after.name] = change, self.readings

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        """Moves are accepted and go on; all else is done at once."""
        if not isinstance(changes[0].after, TopicReplicas):
            return super().send(changes)
        for change in changes:
            self.sent.append(change.after.name)  # type: ignore[union-attr]
            self.begin(change)
        return [Answer(AnswerStatus.DONE)] * len(changes)

    def reassignments(self) -> Layout:
        """Whatever moves; it takes no reading off."""
        found = super().read(ReadRequest(acls=False, layout=list(self.moving))).layout or super().reassignments()
        topics = {name: self._parts(name, parts) for name, parts in found.topics.items()}
        return Layout(found.racks, FrozenMap(topics))

    def cancel_reassignments(self, partitions: Sequence[tuple[str, int]]) -> list[Answer]:
        """All of a topic at once."""
        if not {topic for topic, _ in partitions} <= self.moving.keys():
            return super().cancel_reassignments(partitions)
        for name in {topic for topic, _ in partitions}:
            parts = self.reassignments().topics[name]
            old = TopicReplicas(name, tuple(() for _ in parts))
            super().send([Update(old, TopicReplicas(name, tuple(one.reverted for one in parts)))])
            del self.moving[name]
        return [Answer(AnswerStatus.DONE)] * len(partitions)

    def read(self, request: ReadRequest) -> ClusterState:
        """Each reading of a layout is a step towards the end of what it shows."""
        for name in request.layout:
            left = self.left.get(name)
            if name in self.moving and left == 0:
                super().send([self.moving.pop(name)])
            elif left is not None:
                self.left[name] = left - 1
        found = super().read(request)
        if found.layout is None:
            return found
        topics = {name: self._parts(name, parts) for name, parts in found.layout.topics.items()}
        return replace(found, layout=Layout(found.layout.racks, FrozenMap(topics)))

    def _parts(self, name: str, parts: Sequence[PartitionLayout]) -> tuple[PartitionLayout, ...]:
        move = self.moving.get(name)
        shown = []
        for number, one in enumerate(parts):
            new = one.replicas if move is None else move.after.assignments[number]
            adding = tuple(broker for broker in new if broker not in one.replicas)
            removing = tuple(broker for broker in one.replicas if broker not in new)
            in_sync = frozenset(one.replicas) - self.offline
            sizes = dict.fromkeys(one.replicas, self.size)
            shown.append(PartitionLayout((*new, *removing), in_sync, sizes, adding, removing))
        return tuple(shown)
