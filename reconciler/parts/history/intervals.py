"""Intervals: when a fact of a cluster held, derived from sightings of it, with what is not known said.

A *fact* is a value that a cluster has or has not: an ACL binding, a topic with these configs, a quota with these
limits. A *sighting* says that it was there, or was not, at some moment between two times: a reading is one for every
fact, and a step of an audited run is two, the state that it found and the state that it left.

The rule: at a time T a fact is known to hold where every sighting that may be the last before T, every one that may be
at T and every one that may be the next after T shows it. Where they disagree, it is not known. What a hand gave and
took away again between two sightings leaves no trace: an answer names the two readings that it lies between.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple, TypeAlias

#: Seconds by which the clock that wrote a time may be off. ``apply`` refuses to run where its clock and the
#: controller's differ by more (``reconciler.app.records``).
CLOCKS: Final = 60

#: Kind of resource, then what tells the fact from all others of the kind.
Fact: TypeAlias = tuple[Any, ...]


class FactSighting(NamedTuple):
    """A fact was ``there``, or not, at some moment from ``lo`` through ``hi``, in seconds of the epoch.

    ``run`` is the run that saw or made it, empty for a reading; in one run sightings have the order of ``number``.
    ``left``: the run left it so, by a step of its own. ``there`` is ``None`` where a step was sent, and nobody knows
    what became of it: it proves nothing, but it may be the cause of a change.
    """

    lo: int
    hi: int
    there: bool | None
    run: str = ""
    number: int = 0
    left: bool = False

    def precedes(self, other: "FactSighting") -> bool:
        """Whether it was certainly before the other one."""
        return self.hi <= other.lo or (self.run != "" and self.run == other.run and self.number < other.number)


class Cause(NamedTuple):
    """What changed a fact: a run's step, or where ``run`` is empty something of which there is no record.

    ``sure``: the run's record says that the step was done. Otherwise it was sent, and may have had no effect. ``at`` is
    the time of that record, in seconds.
    """

    run: str = ""
    sure: bool = False
    at: int = 0


class Interval(NamedTuple):
    """A fact held for certain from ``from_hi`` through ``to_lo``, perhaps from ``from_lo`` on and until ``to_hi``.

    ``from_lo`` is ``None`` where it was there in the first evidence. ``to_lo`` and ``to_hi`` are ``None`` where it is
    still there in the last one; ``to_hi`` alone, where the last one leaves that open. ``from_hi`` is ``None`` where it
    is not certain that it was there at any time: then it was perhaps there between ``from_lo`` and ``to_hi``.
    """

    from_lo: int | None
    from_hi: int | None
    to_lo: int | None
    to_hi: int | None
    began: Cause = Cause()
    ended: Cause = Cause()

    @property
    def is_open(self) -> bool:
        """Whether the last evidence leaves open whether it is still there."""
        return self.to_hi is None and (self.from_hi is None or self.to_lo is not None)

    @property
    def unknown(self) -> tuple[int | None, int | None]:
        """Between which times it is not known whether it held, the first of them if there are two; ``None``: no end."""
        if self.from_hi is None:
            return self.from_lo, self.to_hi
        return (self.to_lo, self.to_hi) if self.from_lo is None else (self.from_lo, self.from_hi)

    def at(self, time: int) -> bool | None:
        """Whether it held at a time from the first evidence through the last; ``None``: perhaps."""
        if self.from_hi is not None and time >= self.from_hi and (self.to_lo is None or time <= self.to_lo):
            return True
        begun = self.from_lo is None or time > self.from_lo
        return None if begun and (self.to_hi is None or time < self.to_hi) else False


class KnownSpan(NamedTuple):
    """From ``lo`` through ``hi`` it is known whether the fact was ``there``."""

    lo: int
    hi: int
    there: bool


def spans(sightings: Iterable[FactSighting]) -> Iterator[KnownSpan]:
    """The spans of time in which it is known whether the fact held, in order.

    Between two spans it is not known. Nothing is said of times before the first sighting and after the last one.
    """
    search = _Search(sightings)
    span: KnownSpan | None = None
    for lo, hi in search.moments():
        there = search.at(lo, hi)
        if span is not None and there == span.there:
            span = KnownSpan(span.lo, hi, span.there)
            continue
        if span is not None:
            yield span
        span = None if there is None else KnownSpan(lo, hi, there)
    if span is not None:
        yield span


class _Search:
    """Sightings by their bounds; what may be the last before a time, and the next after it, is found near it."""

    def __init__(self, sightings: Iterable[FactSighting]) -> None:
        certain = set(tightened(sighting for sighting in sightings if sighting.there is not None))
        self._by_lo = sorted(certain, key=lambda sighting: sighting.lo)
        self._by_hi = sorted(certain, key=lambda sighting: sighting.hi)
        self._los, self._his = [sighting.lo for sighting in self._by_lo], [sighting.hi for sighting in self._by_hi]
        #: The latest begin of the first n by their ends, and the earliest end of those from n on by their begins.
        self._latest = list(accumulate((sighting.lo for sighting in self._by_hi), max))
        self._earliest = list(accumulate((sighting.hi for sighting in reversed(self._by_lo)), min))[::-1]
        self._longest = max((sighting.hi - sighting.lo for sighting in certain), default=0)

    def moments(self) -> Iterator[tuple[int, int]]:
        """Each bound of a sighting, and each stretch between two bounds."""
        times = sorted({*self._los, *self._his})
        for time, later in pairwise(times):
            yield time, time
            yield time, later
        if times:
            yield times[-1], times[-1]

    def at(self, lo: int, hi: int) -> bool | None:
        """What is known at one time, or all the time between two with no bound between them."""
        seen = {sighting.there for sighting in (*self._last(lo), *self._across(lo, hi), *self._next(hi))}
        return seen.pop() if len(seen) == 1 else None

    def _last(self, time: int) -> list[FactSighting]:
        end = until = bisect_right(self._his, time)
        nearest: list[FactSighting] = []
        while end and self._his[end - 1] > self._latest[until - 1]:
            end -= 1
            nearest.append(self._by_hi[end])
        if not nearest and end:
            nearest = [sighting for sighting in self._by_hi[:end] if sighting.hi == self._his[end - 1]]
        return [
            sighting
            for sighting in nearest
            if not any(sighting.precedes(other) for other in nearest if other is not sighting)
        ]

    def _across(self, lo: int, hi: int) -> list[FactSighting]:
        begin, end = bisect_left(self._los, lo - self._longest), bisect_left(self._los, hi)
        return [sighting for sighting in self._by_lo[begin:end] if sighting.hi > lo]

    def _next(self, time: int) -> list[FactSighting]:
        begin = start = bisect_left(self._los, time)
        nearest: list[FactSighting] = []
        while begin < len(self._los) and self._los[begin] < self._earliest[start]:
            nearest.append(self._by_lo[begin])
            begin += 1
        if not nearest and start < len(self._los):
            nearest = [sighting for sighting in self._by_lo[start:] if sighting.lo == self._los[start]]
        return [
            sighting
            for sighting in nearest
            if not any(other.precedes(sighting) for other in nearest if other is not sighting)
        ]


def tightened(sightings: Iterable[FactSighting]) -> Iterator[FactSighting]:
    """Within a run, what came later was not before what came earlier."""
    runs: dict[str, list[FactSighting]] = {}
    for sighting in sightings:
        if sighting.run:
            runs.setdefault(sighting.run, []).append(sighting)
        else:
            yield sighting
    for steps in runs.values():
        steps.sort(key=lambda sighting: sighting.number)
        los = accumulate((sighting.lo for sighting in steps), max)
        his = list(accumulate((sighting.hi for sighting in reversed(steps)), min))[::-1]
        for sighting, lo, hi in zip(steps, los, his, strict=True):
            yield sighting._replace(lo=lo, hi=hi) if lo < hi else sighting


def intervals(sightings: Iterable[FactSighting]) -> list[Interval]:
    """When the fact held, in order; none where it never did.

    The first sighting has to be that of the first evidence, and what the last one says holds on.
    """
    seen = sorted(tightened(sightings), key=lambda sighting: sighting.lo)
    known_spans = list(spans(seen))
    bounds = [(sighting.lo, sighting.hi) for sighting in seen if sighting.there is not None]
    if not bounds:
        return []
    first, last = bounds[0][0], max(hi for _, hi in bounds)
    held: list[Interval] = []
    #: The last time at which it was known, so that the one after it is not.
    before = first - 1
    if not known_spans:
        return [Interval(before, None, None, None)]
    if known_spans[0].lo > first and not known_spans[0].there:
        causes = (_cause(seen, before, known_spans[0].lo, there=there) for there in (True, False))
        held.append(Interval(before, None, None, known_spans[0].lo, *causes))
    for number, span in enumerate(known_spans):
        later = known_spans[number + 1] if number + 1 < len(known_spans) else None
        until = later.lo if later is not None else None
        if span.there:
            began = span.lo == first
            cause = Cause() if began else _cause(seen, before, span.lo, there=True)
            if later is None and span.hi == last:
                held.append(Interval(None if began else before, span.lo, None, None, cause))
            else:
                ended = _cause(seen, span.hi, until, there=False)
                held.append(Interval(None if began else before, span.lo, span.hi, until, cause, ended))
        elif (later is None and span.hi < last) or (later is not None and not later.there):
            cause = _cause(seen, span.hi, until, there=True)
            held.append(Interval(span.hi, None, None, until, cause, _cause(seen, span.hi, until, there=False)))
        before = span.hi
    return held


def _cause(seen: Sequence[FactSighting], lo: int, hi: int | None, *, there: bool) -> Cause:
    """What changed it between two times: the last step that did so for certain, else one that perhaps did."""
    within = [
        sighting for sighting in seen if sighting.left and sighting.lo >= lo and (hi is None or sighting.hi <= hi)
    ]
    within.sort(key=lambda sighting: (sighting.hi, sighting.number))
    sure = [sighting for sighting in within if sighting.there is there]
    # A step whose time may be within: what a run perhaps did is not said to be of no run.
    near = [sighting for sighting in seen if sighting.left and sighting.there in (there, None)]
    near = [sighting for sighting in near if sighting.hi > lo and (hi is None or sighting.lo < hi)]
    for sighting in sure[-1:] or [sighting for sighting in within if sighting.there is None][-1:] or near[-1:]:
        return Cause(sighting.run, bool(sure), sighting.hi - 1 - CLOCKS)
    return Cause()
