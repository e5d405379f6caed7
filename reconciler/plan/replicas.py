"""Replicas of a live topic against the declared ones: where they should be, and why they stay where they are."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.model.desired import DesiredState, DesiredTopic
from reconciler.model.listing import Change, Impossible, Update
from reconciler.model.state import ClusterState
from reconciler.model.topic import Assignments, Layout, PartitionLayout, Topic, TopicReplicas
from reconciler.plan.difference import Skipped, SkipReason

# The cheapest even spread: how many brokers each partition takes, and which, at the least cost.
#
# It is a flow of least cost from partitions over racks to brokers. Each further replica that a partition has in a
# rack, and each further one that a broker has, costs more than the one before: a sum of squares, which is least where
# the spread is as even as it can be. Successive shortest paths (Dijkstra's, on reduced costs) find it exactly.


class Weights(NamedTuple):
    """What an uneven spread costs: for each partition over racks, and for all of them together over brokers.

    Whoever calls makes them so large that evenness is never sold for a lower cost.
    """

    rack: int
    broker: int


def spread(
    costs: Sequence[Mapping[int, int]], each: int, racks: Mapping[int, Hashable], weights: Weights
) -> list[frozenset[int]]:
    """``each`` brokers for every partition; ``costs[n]`` says what a broker costs partition ``n``, and who may be one.

    Costs are at least 0, and every partition has at least ``each`` brokers to choose from. The result depends on
    nothing but the arguments, in their order.
    """
    brokers = [*racks]
    place = {broker: index for index, broker in enumerate(brokers)}
    names = [*dict.fromkeys(racks.values())]
    rack_of = [names.index(racks[broker]) for broker in brokers]
    flow = _Flow([{place[b]: cost for b, cost in options.items()} for options in costs], rack_of, len(names), weights)
    for number in range(len(costs)):
        for _ in range(each):
            flow.add(number)
    return [frozenset(brokers[index] for index in taken) for taken in flow.taken]


class _Flow:
    """The units that are placed so far, always at the least cost for as many.

    Nodes are numbers, which sort equal distances: the sink is 0, then come the brokers, then each partition followed
    by its part of each rack.
    """

    def __init__(
        self, costs: Sequence[Mapping[int, int]], rack_of: Sequence[int], racks: int, weights: Weights
    ) -> None:
        self._costs, self._rack_of, self._weights = costs, rack_of, weights
        self._first, self._stride = 1 + len(rack_of), 1 + racks
        nodes = self._first + self._stride * len(costs)
        self._potential = [0] * nodes
        self.taken: list[set[int]] = [set() for _ in costs]
        self._held: list[dict[int, None]] = [{} for _ in rack_of]  # in order, unlike a set
        self._used = [0] * nodes  # of a partition's part of a rack: how many of its brokers are taken
        self._members: list[list[int]] = [[] for _ in range(nodes)]
        for number, options in enumerate(costs):
            for broker in options:
                self._members[self._part(number, rack_of[broker])].append(broker)

    def _part(self, number: int, rack: int) -> int:
        return self._first + self._stride * number + 1 + rack

    def add(self, number: int) -> None:
        """Give partition ``number`` one more broker; others move where that makes all of it cheaper."""
        start = self._first + self._stride * number
        distance, came, settled = {start: 0}, dict[int, int](), dict[int, int]()
        heap = [(0, start)]
        potential = self._potential
        while True:
            reached, node = heappop(heap)
            if node in settled:
                continue
            settled[node] = reached
            if node == 0:
                break
            base = reached + potential[node]
            for head, cost in self._arcs(node):
                length = base + cost - potential[head]
                if head not in distance or length < distance[head]:
                    distance[head], came[head] = length, node
                    heappush(heap, (length, head))
        # Only what is settled gets another potential: relative to the sink all else is as far as it was.
        for node, length in settled.items():
            potential[node] += length - reached
        self._augment(came)

    def _arcs(self, node: int) -> Iterator[tuple[int, int]]:
        """Where one more unit could go from here, and at which cost; negative where it undoes one."""
        if node < self._first:
            broker = node - 1
            held, rack = self._held[broker], self._rack_of[broker]
            yield 0, self._weights.broker * (2 * len(held) + 1)
            base, stride, costs = self._first + 1 + rack, self._stride, self._costs
            for number in held:
                yield base + stride * number, -costs[number][broker]
            return
        number, rest = divmod(node - self._first, self._stride)
        if rest:
            options, taken = self._costs[number], self.taken[number]
            for broker in self._members[node]:
                if broker not in taken:
                    yield broker + 1, options[broker]
            if self._used[node]:
                yield node - rest, -self._weights.rack * (2 * self._used[node] - 1)
            return
        for part in range(node + 1, node + self._stride):
            if self._used[part] < len(self._members[part]):
                yield part, self._weights.rack * (2 * self._used[part] + 1)

    def _augment(self, came: Mapping[int, int]) -> None:
        """Place the unit along the path that was found, backwards from the sink."""
        head = came[0]
        while head in came:
            tail = came[head]
            if head < self._first:
                number = (tail - self._first) // self._stride
                self.taken[number].add(head - 1)
                self._held[head - 1][number] = None
            elif tail < self._first:
                number = (head - self._first) // self._stride
                self.taken[number].remove(tail - 1)
                del self._held[tail - 1][number]
            elif tail < head:
                self._used[head] += 1
            else:
                self._used[tail] -= 1
            head = tail


# Target replicas of partitions: spread over racks, even over brokers, with as few bytes moved as that takes.
#
# In this order of importance:
#
# 1. each partition's replicas are spread over racks as evenly as they can be (KIP-36; ``StripedReplicaPlacer``); 2.
# brokers have equally many replicas, within 1 wherever racks permit it; 3. the fewest bytes are copied, then the
# fewest replicas; 4. preferred leaders stay; 5. of brokers that are equally good, those with less other load are
# taken, then those with smaller ids.
#
# Leaders, the first replicas, are even within 1 wherever replicas are, and stay where they can. Kafka's own tool
# (``kafka-reassign-partitions.sh --generate``) places every partition anew, wherever its replicas are.


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
    racks = {broker.id: broker.rack for broker in sorted(brokers, key=lambda item: item.id)}
    chosen = _chosen(partitions, factor, racks, load or {})
    leaders = _leaders(partitions, chosen, racks)
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
    # A replica that stays costs less than twice the brokers: all of them cost less than one copy.
    copy = 2 * len(racks) * placed
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
    leaders = spread(costs, 1, one_rack, _weights(costs, len(partitions)))
    return [next(iter(leader)) for leader in leaders]


def _weights(costs: Sequence[Mapping[int, int]], placed: int) -> Weights:
    """So large that no saving buys an uneven spread: the sum of squares over brokers is at most ``placed`` squared."""
    broker = max((cost for options in costs for cost in options.values()), default=0) * placed + 1
    return Weights(rack=broker * (placed * placed + 1), broker=broker)


def _ordered(partition: PlacedPartition, replicas: frozenset[int], leader: int) -> tuple[int, ...]:
    """The leader, those that stay in their order, then the new ones."""
    stay = [broker for broker in partition.replicas if broker in replicas and broker != leader]
    new = sorted(replicas - {*partition.replicas, leader})
    return (leader, *stay, *new)


_UNREAD: Final = "plan on the cluster itself: where replicas belong depends on its brokers, racks and sizes"
_UNFINISHED: Final = (
    "it goes on in the brokers, and none is started on top of it: plan again when it is finished, or cancel it with "
    "reconciler reassignments cancel"
)
_GROWS: Final = "new partitions get as many replicas as the topic has: plan again once they are added"


def topics_to_place(desired: DesiredState, live: ClusterState) -> Collection[str]:
    """The names of topics whose layout has to be read before they can be compared.

    Of a new topic that says where its replicas are, or how many, only the brokers count. A reassignment that only adds
    replicas looks finished in a topic's metadata, but for those that are not in sync.
    """
    return [
        name
        for name, wanted in sorted(desired.topics.items())
        if not wanted.absent
        and (
            _says_where(wanted.topic)
            if (existing := live.topics.get(name)) is None
            else name in live.under_replicated or _differs(wanted.topic, existing)
        )
    ]


def _says_where(wanted: Topic) -> bool:
    return wanted.replication_factor is not None or wanted.replica_assignments is not None


def unfinished(wanted: DesiredTopic, live: ClusterState) -> Skipped | None:
    """The reassignment that goes on in a topic, whoever started it."""
    name, layout = wanted.topic.name, live.layout
    moving = [] if layout is None else list(layout.moving(name))
    if not moving:
        return None
    partitions = f"{len(moving)} partition{'' if len(moving) == 1 else 's'}"
    subject = f"topic {name}: the reassignment of {partitions} is unfinished"
    return Skipped(SkipReason.UNFINISHED, subject, _UNFINISHED, origin=wanted.origin)


def replica_changes(wanted: Topic, live: Topic, state: ClusterState) -> Iterator[Change]:
    """What moves the replicas of ``live`` to where ``wanted`` has them; nothing while a reassignment is unfinished."""
    if not _differs(wanted, live):
        return
    layout = state.layout
    partitions = () if layout is None else layout.topics.get(live.name, ())
    if layout is None or not partitions:
        yield from _impossible(wanted, live, state.layout_gap or _UNREAD)
    elif not any(partition.is_moving for partition in partitions):
        before = tuple(partition.replicas for partition in partitions)
        target = _obstacle(wanted, live, partitions, layout) or _target(wanted, live, partitions, state)
        if isinstance(target, str):
            yield from _impossible(wanted, live, target)
        elif target != before:  # what was read first may have been half way
            copied = copied_bytes(_placed(partitions), target)
            yield Update(
                TopicReplicas(live.name, before, live.topic_id),
                TopicReplicas(live.name, target, live.topic_id, _rounded(copied)),
            )


def _differs(wanted: Topic, live: Topic) -> bool:
    """Where a number is not known it is no difference; partitions that only one side has are one of their own."""
    factor, assigned = wanted.replication_factor, live.replica_assignments
    if assigned is None:
        return factor is not None and live.replication_factor not in (None, factor)
    if wanted.replica_assignments is not None:
        return any(new != old for new, old in zip(wanted.replica_assignments, assigned, strict=False))
    # A partition may have more or fewer than the others.
    return factor is not None and any(len(replicas) != factor for replicas in assigned)


def _impossible(wanted: Topic, live: Topic, reason: str) -> Iterator[Impossible]:
    before, after = live.replication_factor, wanted.replication_factor
    if after is not None and before is not None and before != after:
        yield Impossible("replication factor", live.name, str(before), str(after), reason)
    elif wanted.replica_assignments is not None:
        for number, (new, old) in enumerate(
            zip(wanted.replica_assignments, live.replica_assignments or (), strict=False)
        ):
            if new != old:
                yield Impossible(f"replicas of partition {number}", live.name, _brokers(old), _brokers(new), reason)
    else:
        factors = sorted({len(replicas) for replicas in live.replica_assignments or ()})
        yield Impossible("replication factor", live.name, " and ".join(map(str, factors)), str(after), reason)


def _obstacle(wanted: Topic, live: Topic, partitions: Sequence[PartitionLayout], layout: Layout) -> str | None:
    """Why no replica is moved, whatever the target."""
    behind = [(number, broker) for number, item in enumerate(partitions) for broker in item.behind]
    if behind:
        number, broker = behind[0]
        more = f", and {len(behind) - 1:,} more" if len(behind) > 1 else ""
        return (
            f"the replica of partition {number} on broker {broker} is offline or out of sync{more}: bring it back first"
        )
    if wanted.num_partitions is not None and wanted.num_partitions > len(partitions):
        width = wanted.replica_assignments and len(wanted.replica_assignments[0])
        if width in (None, live.replication_factor):
            return _GROWS
    return unplaceable(wanted, layout)


def unplaceable(wanted: Topic, layout: Layout) -> str | None:
    """Why no controller of this cluster has the declared replicas, of a new topic or of one that is there."""
    factor, brokers = wanted.replication_factor, len(layout.racks)
    there = [partition.replicas for partition in layout.topics.get(wanted.name, ())]
    assigned = wanted.replica_assignments or ()
    unknown = {broker for assignment in assigned for broker in assignment} - layout.racks.keys()
    if unknown:
        return f"no broker {min(unknown)} is in the cluster"
    # The controller asks it of every replica of a partition that it is to place, also of those that are there.
    placed = {broker for number, item in enumerate(assigned) if [item] != there[number : number + 1] for broker in item}
    if closed := placed & layout.cordoned:
        return f"all log directories of broker {min(closed)} are cordoned: it takes no replica"
    if factor is not None and factor > brokers:
        return f"{factor} replicas need as many brokers, and the cluster has {brokers}"
    if factor is not None and factor > (usable := brokers - len(layout.cordoned & layout.racks.keys())):
        return f"{factor} replicas need as many brokers, and {usable} of {brokers} have a log directory not cordoned"
    return None


def _target(
    wanted: Topic, live: Topic, partitions: Sequence[PartitionLayout], state: ClusterState
) -> Assignments | str:
    """The replicas of every partition that is there."""
    there = tuple(partition.replicas for partition in partitions)
    if wanted.replica_assignments is not None:
        return (*wanted.replica_assignments[: len(there)], *there[len(wanted.replica_assignments) :])
    if wanted.replication_factor is None or state.layout is None:
        return there
    free = state.layout.racks.keys() - state.layout.cordoned
    brokers = [PlacementBroker(broker, rack) for broker, rack in state.layout.racks.items() if broker in free]
    load = Counter(
        broker
        for name, other in state.topics.items()
        if name != live.name
        for replicas in other.replica_assignments or ()
        for broker in replicas
    )
    return target_replicas(_placed(partitions), wanted.replication_factor, brokers, load)


def _placed(partitions: Sequence[PartitionLayout]) -> list[PlacedPartition]:
    return [PlacedPartition(partition.replicas, partition.size) for partition in partitions]


def _rounded(size: int) -> int:
    """The next power of two: a plan that is made again while records come in stays the same plan."""
    return 1 << (size - 1).bit_length() if size else 0


def _brokers(replicas: tuple[int, ...]) -> str:
    return ", ".join(map(str, replicas))
