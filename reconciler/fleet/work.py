"""Which buckets have to be compared, and how tasks share them; equal pairs are never read."""

import heapq
from collections.abc import Iterable, Sequence
from typing import TypeVar

from reconciler.dataclass import dataclass
from reconciler.fleet.header import Bucket, Reading

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BucketPair:
    """The buckets with the same part of both sides of one cluster; one side may have a finer division."""

    cluster: str
    number: int
    desired: tuple[Bucket, ...]
    live: tuple[Bucket, ...]
    same_scope: bool

    @property
    def rows(self) -> int:
        """How much there is to read."""
        return sum(bucket.rows for bucket in (*self.desired, *self.live))

    @property
    def bytes(self) -> int:
        """How much that is on disk."""
        return sum(bucket.bytes for bucket in (*self.desired, *self.live))

    @property
    def equal(self) -> bool:
        """Whether the headers alone show that nothing in scope differs."""
        if not self.same_scope or len(self.desired) != len(self.live):
            return False
        sides = zip(self.desired, self.live, strict=True)
        return all(wanted.digest == found.owned_digest for wanted, found in sides)


def pairs(desired: Reading, live: Reading) -> list[BucketPair]:
    """The pairs of one cluster, by the coarser of the two divisions."""
    count = min(len(desired.buckets), len(live.buckets))
    same = desired.scope == live.scope
    return [
        BucketPair(desired.cluster, number, desired.buckets[number::count], live.buckets[number::count], same)
        for number in range(count)
    ]


def partition(units: Iterable[T], weights: Sequence[int], tasks: int) -> list[list[T]]:
    """At most ``tasks`` lists of about the same weight: the heaviest first, each to the lightest list."""
    order = sorted(zip(weights, units, strict=True), key=lambda item: -item[0])
    lists: list[list[T]] = [[] for _ in range(max(1, min(tasks, len(order))))]
    heap = [(0, index) for index in range(len(lists))]
    for weight, unit in order:
        load, index = heapq.heappop(heap)
        lists[index].append(unit)
        heapq.heappush(heap, (load + weight + 1, index))
    return [part for part in lists if part]
