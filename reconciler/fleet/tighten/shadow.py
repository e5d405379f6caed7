"""A proposal before its day: what it would have refused since it was made, day by day. Nothing is refused for it."""

import datetime
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reconciler.access import Authorizer
from reconciler.dataclass import dataclass
from reconciler.fleet.tighten.evidence import UsageEvidence
from reconciler.fleet.tighten.narrowing import Narrowing
from reconciler.fleet.tighten.proof import applied
from reconciler.fleet.usage.counts import EventCount
from reconciler.fleet.usage.days import DaySet
from reconciler.fleet.usage.event import Event
from reconciler.fleet.usage.replay import permitted


class ShadowRefusal(NamedTuple):
    """One access that was permitted and would have been refused, how often and on which days."""

    event: Event
    tally: EventCount
    days: DaySet


@dataclass(frozen=True, slots=True)
class Shadow:
    """What would have been refused, the most frequent first; ``decisions`` are how many were looked at.

    ``wanted`` are the narrowings that would have refused nothing, ``refusing`` the others, ``gone`` those of which the
    rights are no longer declared as they were.
    """

    refusals: tuple[ShadowRefusal, ...] = ()
    decisions: int = 0
    wanted: tuple[Narrowing, ...] = ()
    refusing: tuple[Narrowing, ...] = ()
    gone: tuple[Narrowing, ...] = ()

    @property
    def refused(self) -> int:
        """How many decisions would have been refused."""
        return sum(one.tally.times for one in self.refusals)

    def by_day(self) -> Sequence[tuple[datetime.date, int]]:
        """The days on which something would have been refused, each with how many distinct accesses."""
        found: dict[datetime.date, int] = {}
        for refusal in self.refusals:
            for day in refusal.days.each():
                found[day] = found.get(day, 0) + 1
        return sorted(found.items())


def shadow(before: Authorizer, narrowings: Iterable[Narrowing], evidence: UsageEvidence) -> Shadow:
    """What the narrowings together would have refused of the accesses that were permitted."""
    narrowings = tuple(narrowings)
    declared = before.bindings
    there = [one for one in narrowings if declared.issuperset(one.bindings)]
    after = applied(before, there)
    refusals = [
        ShadowRefusal(*access)
        for principal in sorted({one.first.entry.principal for one in there})
        for access in evidence.accesses.get(principal, ())
        if permitted(before, access.event)[0] is not permitted(after, access.event)[0]
    ]
    refusals.sort(key=lambda one: (-one.tally.times, one.event.request))
    # Each right that granted one of them, whether or not it did so alone.
    needed = {one for refusal in refusals for one in permitted(before, refusal.event)[1].bindings}
    refusing = [one for one in there if needed.intersection(one.bindings)]
    return Shadow(
        tuple(refusals),
        sum(access.tally.times for found in evidence.accesses.values() for access in found),
        tuple(one for one in there if one not in refusing),
        tuple(refusing),
        tuple(one for one in narrowings if one not in there),
    )
