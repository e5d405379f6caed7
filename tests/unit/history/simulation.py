"""A cluster over years: changes by runs and by hands, a server that looks, evidence that is lost, clocks that are off.

Everything real is in seconds of true time; everything written down is by a clock that is off by up to a minute. What a
hand does to an ACL is seen by some reading before it is changed again: else nothing could ever show it.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Final, NamedTuple

from reconciler.apply.environment import Outcome
from reconciler.model.acl import AclBinding
from tests.unit.history.world import run_records
from tests.worlds import binding

ROUND: Final = 300
TOOK: Final = 2
#: Seconds by which a clock is off at most; the rest of the minute is for seconds that are cut off.
OFF: Final = 55
SLACK: Final = 60


class Changed(NamedTuple):
    """A true change of an ACL, and the run whose line says so; empty where no line does."""

    time: float
    fact: int
    there: bool
    run: str
    opened: float
    line: float


class Looked(NamedTuple):
    """A round that kept a reading, or confirmed one: when it truly was, and by its clock; what it saw."""

    time: float
    began: float
    seen: frozenset[int]


class Simulation:
    """Changes, the rounds whose evidence is left, and the logs that are left, of a fixed seed."""

    def __init__(self, seed: int, changes: int, seconds: float, facts: int) -> None:
        """``changes`` over so many seconds, of so many ACLs."""
        self.random = random = Random(seed)
        self.bindings = [
            binding(f"User:p{n % 97} {'DENY' if n % 7 == 0 else 'ALLOW'} READ on TOPIC t{n}") for n in range(facts)
        ]
        self.first = frozenset(n for n in range(facts) if random.random() < 0.5)
        self.end = seconds
        #: A server that is down, and readings that are lost, look alike: no evidence of that time is left.
        self.dark = sorted((start, start + random.uniform(3_600, 7 * 86_400)) for start in self._times(12))
        self.changes: list[Changed] = []
        self.rounds: list[Looked] = []
        self._by_fact: dict[int, list[Changed]] = {}
        self._gaps: dict[int, list[tuple[float, float]]] = {}
        self._happen(sorted(random.uniform(ROUND * 2, seconds - ROUND * 4) for _ in range(changes)))

    def _times(self, number: int) -> Iterator[float]:
        return (self.random.uniform(86_400, self.end - 8 * 86_400) for _ in range(number))

    def _happen(self, times: Sequence[float]) -> None:
        state, unseen = set(self.first), set[int]()
        self._look(0, state)
        last = 0.0
        for number, time in enumerate(times):
            for looked in self._rounds(last, time):
                self._look(looked, state)
                unseen.clear()
            fact = self.random.randrange(len(self.bindings))
            recorded = self.random.random() < 0.5
            dropped = recorded and number % 5 == 0  # the log of one of five machines is lost
            if fact in unseen and (dropped or not recorded):
                continue
            there = fact not in state
            opened, off = time - self.random.uniform(1, 20), self.random.uniform(-OFF, OFF)
            run = f"run-{number}" if recorded and not dropped else ""
            change = Changed(time, fact, there, run, opened + off, time + off)
            self.changes.append(change)
            self._by_fact.setdefault(fact, []).append(change)
            (state.add if there else state.discard)(fact)
            if run:
                unseen.discard(fact)
            else:
                unseen.add(fact)
            last = time
        for looked in self._rounds(last, self.end):
            self._look(looked, state)

    def _rounds(self, begin: float, end: float) -> Iterator[float]:
        """The first round with evidence after a time, and the last one before another: those between see the same."""
        first = next((one for one in self._all_rounds(begin, end)), None)
        if first is not None:
            yield first
            last = next((one for one in self._all_rounds(begin, end, back=True)), first)
            if last > first:
                yield last

    def _all_rounds(self, begin: float, end: float, *, back: bool = False) -> Iterator[float]:
        number = int(end // ROUND) if back else int(begin // ROUND) + 1
        while begin < number * ROUND and number * ROUND + TOOK < end:
            at = number * ROUND
            place = bisect_right(self.dark, (at, float("inf"))) - 1
            covering = [dark for dark in self.dark[: place + 1] if dark[1] > at]
            if not covering:
                yield float(at)
                number += -1 if back else 1
            elif back:
                number = int(min(dark[0] for dark in covering) // ROUND)
            else:
                number = int(max(dark[1] for dark in covering) // ROUND) + 1

    def _look(self, time: float, state: set[int]) -> None:
        self.rounds.append(Looked(time, time + self.random.uniform(-OFF, OFF), frozenset(state)))

    def there(self, fact: int, time: float) -> bool:
        """The truth."""
        mine = self._of(fact)
        place = bisect_right([one.time for one in mine], time)
        return mine[place - 1].there if place else fact in self.first

    def _of(self, fact: int) -> list[Changed]:
        return self._by_fact.get(fact, [])

    def lines(self) -> Iterator[dict[str, object]]:
        """What is left of the audit logs, as one log."""
        for one in self.changes:
            if one.run:
                step = (one.line, self.bindings[one.fact], one.there, Outcome.DONE)
                yield from run_records(one.run, one.opened, [step])

    def gap(self, change: Changed) -> tuple[float, float]:
        """Between which times a change has to be unknown: the width of clocks around its line, or two readings."""
        if change.run:
            return self._gap_of_run(change)
        place = bisect_right(self.rounds, change.time, key=lambda one: one.time)
        before, after = self.rounds[place - 1], self.rounds[min(place, len(self.rounds) - 1)]
        lo, hi = int(before.began) - SLACK, int(after.began) + TOOK + 1 + SLACK
        # A run that changed the same ACL found it as it was before, and left it as it was after.
        for one in self._of(change.fact):
            if one.run and before.time < one.time < change.time:
                lo = max(lo, int(one.opened) - SLACK)
            if one.run and change.time < one.time < after.time:
                hi = min(hi, int(one.line) + 1 + SLACK)
        return lo, hi

    def _gap_of_run(self, change: Changed) -> tuple[float, float]:
        """The width of clocks; where a reading may have been before the step or after it, up to the reading beyond."""
        lo, hi = int(change.opened) - SLACK, int(change.line) + 1 + SLACK
        place = bisect_right(self.rounds, change.time, key=lambda one: one.time)
        before, after = self.rounds[place - 1], self.rounds[min(place, len(self.rounds) - 1)]
        begin, end = int(before.began) - SLACK, int(after.began) + TOOK + 1 + SLACK
        late, early = int(before.began) + TOOK + 1 + SLACK > lo, int(after.began) - SLACK < hi
        return min(lo, begin) if early else lo, max(hi, end) if late else hi

    def gaps(self, fact: int) -> list[tuple[float, float]]:
        """The gaps of an ACL's changes."""
        if fact not in self._gaps:
            self._gaps[fact] = [self.gap(one) for one in self._of(fact)]
        return self._gaps[fact]

    def is_beside_two(self, fact: int, time: int) -> bool:
        """Whether two changes came within the width of clocks near it: a reading of then leaves it open to the next."""
        near = ROUND + 2 * SLACK + OFF
        return any(
            one[1] > other[0] and one[0] - near <= time <= other[1] + near for one, other in pairwise(self.gaps(fact))
        )

    def questions(self, number: int) -> Iterator[tuple[int, int]]:
        """Which ACL, at which second: half of them near a change of it, where answers are hard."""
        for _ in range(number):
            if self.random.random() < 0.5:
                near = self.random.choice(self.changes)
                yield near.fact, int(near.time + self.random.uniform(-1_200, 1_200))
            else:
                yield self.random.randrange(len(self.bindings)), int(self.random.uniform(ROUND, self.end - ROUND * 2))

    def fact_bindings(self, seen: frozenset[int]) -> frozenset[AclBinding]:
        """The ACLs of these numbers."""
        return frozenset(self.bindings[number] for number in seen)
