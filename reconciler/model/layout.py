"""Where the replicas of topics are, how large they are, and which of them are being moved (KIP-455)."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import NamedTuple, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.model.frozen import FrozenMap

#: Broker ids by partition, the preferred leader first.
Assignments: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class PartitionLayout:
    """One partition: its replicas, those in sync, and the bytes that brokers hold of it, where they told.

    During a reassignment ``replicas`` holds both old and new ones: ``adding`` are not in sync yet, or not yet known to
    be, and ``removing`` go once they are.
    """

    replicas: tuple[int, ...]
    in_sync: frozenset[int]
    sizes: Mapping[int, int] = field(default_factory=dict)
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_moving(self) -> bool:
        """Whether a reassignment is unfinished."""
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas once nothing is moving; brokers put those that go last (``PartitionReassignmentReplicas``)."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)

    @property
    def reverted(self) -> tuple[int, ...]:
        """The replicas once the reassignment is cancelled (``PartitionReassignmentRevert``).

        Their order is the one that they have now, and so the preferred leader may be another one than at first.
        """
        return tuple(broker for broker in self.replicas if broker not in self.adding)

    @property
    def size(self) -> int:
        """The bytes of the largest replica; 0 where no broker told."""
        return max(self.sizes.values(), default=0)

    @property
    def bytes_left(self) -> int:
        """About how many bytes the new replicas lack."""
        new = set(self.adding) - self.in_sync
        return sum(max(0, self.size - self.sizes.get(broker, 0)) for broker in new)

    @property
    def behind(self) -> tuple[int, ...]:
        """Replicas that are out of sync, or whose broker is offline, though nobody is adding them."""
        return tuple(one for one in self.replicas if one not in self.in_sync and one not in self.adding)


class MoveLimits(NamedTuple):
    """How much of a topic may move at a time; a partition that is larger than ``size`` bytes moves alone.

    Enough to keep brokers busy, and little enough to be over soon where somebody stops an apply.
    """

    partitions: int = 50
    size: int = 50 * 2**30


@dataclass(frozen=True, slots=True)
class Layout:
    """The brokers with their racks, and the partitions of some topics, all read at one moment."""

    racks: Mapping[int, str | None]
    topics: Mapping[str, tuple[PartitionLayout, ...]] = field(default_factory=FrozenMap)

    def __post_init__(self) -> None:
        """Takes any mapping of topics and keeps it sorted and read-only."""
        object.__setattr__(self, "topics", FrozenMap(self.topics))

    def moving(self, topic: str) -> Iterator[tuple[int, PartitionLayout]]:
        """The partitions of a topic whose reassignment is unfinished, with their numbers."""
        return ((number, one) for number, one in enumerate(self.topics.get(topic, ())) if one.is_moving)
