"""Target replicas of partitions: spread over racks, even over brokers, with as few bytes moved as that takes.

In this order of importance:

1. each partition's replicas are spread over racks as evenly as they can be (KIP-36; ``StripedReplicaPlacer``);
2. brokers have equally many replicas, within 1 wherever racks permit it;
3. the fewest bytes are copied, then the fewest replicas;
4. preferred leaders stay;
5. of brokers that are equally good, those with less other load are taken, then those with smaller ids.

Leaders, the first replicas, are even within 1 wherever replicas are, and stay where they can. Kafka's own tool
(``kafka-reassign-partitions.sh --generate``) places every partition anew, wherever its replicas are.
"""

from collections.abc import Hashable, Mapping, Sequence

from reconciler.dataclass import dataclass
from reconciler.placement.spread import Weights, spread


@dataclass(frozen=True, slots=True)
class PlacementBroker:
    """A broker that may hold replicas; those without a ``rack`` count as one rack, as in ``StripedReplicaPlacer``."""

    id: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class PlacedPartition:
    """Where a partition's replicas are, the preferred leader first, and how many bytes one of them has."""

    replicas: tuple[int, ...]
    size: int = 0


def target_replicas(
    partitions: Sequence[PlacedPartition],
    factor: int,
    brokers: Sequence[PlacementBroker],
    load: Mapping[int, int] | None = None,
) -> tuple[tuple[int, ...], ...]:
    """The replicas that each partition should have, ``factor`` of them, all on ``brokers``.

    ``load`` is what brokers hold of other topics, in any unit: it decides only between brokers that are equally good.
    The same arguments, brokers in any order, give the same result. Raises ``ValueError`` if there are fewer brokers
    than replicas.
    """
    if not 1 <= factor <= len(brokers):
        raise ValueError(f"{factor} replicas need as many brokers, and there are {len(brokers)}")
    known = {broker.id: broker.rack for broker in sorted(brokers, key=lambda one: one.id)}
    chosen = _chosen(partitions, factor, known, load or {})
    leaders = _leaders(partitions, chosen, known)
    return tuple(
        _ordered(partition, replicas, leader)
        for partition, replicas, leader in zip(partitions, chosen, leaders, strict=True)
    )


def copied_bytes(partitions: Sequence[PlacedPartition], targets: Sequence[Sequence[int]]) -> int:
    """The bytes that brokers copy: each replica where there was none counts its partition's size."""
    pairs = zip(partitions, targets, strict=True)
    return sum(partition.size * len({*target} - {*partition.replicas}) for partition, target in pairs)


def _chosen(
    partitions: Sequence[PlacedPartition], factor: int, racks: Mapping[int, Hashable], load: Mapping[int, int]
) -> list[frozenset[int]]:
    placed = len(partitions) * factor
    # Least other load first, then the smaller id: a rank, so that no load is too large to be outweighed.
    order = sorted(racks, key=lambda broker: (load.get(broker, 0), broker))
    rank = {broker: place for place, broker in enumerate(order)}
    copy = 2 * len(racks) * placed + 1
    byte = copy * (placed + 1)

    def cost(partition: PlacedPartition, broker: int) -> int:
        if broker not in partition.replicas:
            return copy + byte * partition.size + rank[broker]
        # Of replicas that go, the preferred leader is the last.
        return rank[broker] + (0 if broker == partition.replicas[0] else len(racks))

    costs = [{broker: cost(partition, broker) for broker in racks} for partition in partitions]
    return spread(costs, factor, racks, _weights(costs, placed))


def _leaders(
    partitions: Sequence[PlacedPartition], chosen: Sequence[frozenset[int]], racks: Mapping[int, Hashable]
) -> list[int]:
    """One of its replicas for each partition: the first one of the old order that stays costs least."""
    costs = [
        {
            broker: partition.replicas.index(broker) if broker in partition.replicas else len(racks)
            for broker in sorted(replicas)
        }
        for partition, replicas in zip(partitions, chosen, strict=True)
    ]
    one_rack = dict.fromkeys(racks)
    found = spread(costs, 1, one_rack, _weights(costs, len(partitions)))
    return [next(iter(leader)) for leader in found]


def _weights(costs: Sequence[Mapping[int, int]], placed: int) -> Weights:
    """So large that no saving buys an uneven spread: the sum of squares over brokers is at most ``placed`` squared."""
    broker = max((cost for options in costs for cost in options.values()), default=0) * placed + 1
    return Weights(rack=broker * (placed * placed + 1), broker=broker)


def _ordered(partition: PlacedPartition, replicas: frozenset[int], leader: int) -> tuple[int, ...]:
    """The leader, those that stay in their order, then the new ones."""
    stay = [broker for broker in partition.replicas if broker in replicas and broker != leader]
    new = sorted(replicas - {*partition.replicas, leader})
    return (leader, *stay, *new)
