"""The cheapest even spread: how many brokers each partition takes, and which, at the least cost.

It is a flow of least cost from partitions over racks to brokers. Each further replica that a partition has in a rack,
and each further one that a broker has, costs more than the one before: a sum of squares, which is least where the
spread is as even as it can be. Successive shortest paths (Dijkstra's, on reduced costs) find it exactly.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple


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
