"""What runs of this tool have on a cluster of a fleet, by what a reading holds of it: judged as a single drift does."""

import datetime
from collections.abc import Iterable, Iterator, Mapping

from reconciler.apply.leftovers import going_on, without_live_bridges
from reconciler.diff import Skipped, SkipReason
from reconciler.fleet import Reading
from reconciler.model import (
    AclBinding,
    BreakGlass,
    ClusterState,
    Delete,
    break_glass_marks,
    running_break_glass,
    standing_bridges,
)
from reconciler.plan.kinds import describe
from reconciler.plan.leftovers import left_behind, not_yet


def bridges_of(reading: Reading, default_allow: bool | None) -> frozenset[AclBinding]:
    """The bridges, which are nobody's wish and no undeclared access: none unless default-allow is declared on."""
    return standing_bridges(frozenset(reading.leftovers)) if default_allow is True else frozenset()


def emergency_of(reading: Reading) -> Mapping[AclBinding, BreakGlass]:
    """The break-glass access that was running when the cluster was read: a plan leaves it until its end."""
    return running_break_glass(frozenset(reading.leftovers), _taken(reading)) if reading.leftovers else {}


def kept_emergency(emergency: Iterable[BreakGlass]) -> Iterator[Skipped]:
    """What a drift report says of it."""
    known = {one.binding: one for one in emergency}
    for binding in sorted(known):
        change = Delete(binding)
        yield Skipped(SkipReason.BREAK_GLASS, describe(change), not_yet(change, known) or "", change)


def left_over(reading: Reading, default_allow: bool | None) -> tuple[Skipped, ...]:
    """What was there without a run that could have been going on when the cluster was read."""
    if not reading.leftovers:
        return ()
    live = ClusterState(reading.cluster_id, frozenset(reading.leftovers))
    taken = _taken(reading)
    runs = going_on(live, taken)
    theirs = frozenset(binding for run in runs for binding in run.bindings)
    theirs |= break_glass_marks(live.bindings, taken)
    return tuple(left_behind(without_live_bridges(live, runs, default_allow=default_allow), default_allow, theirs))


def _taken(reading: Reading) -> datetime.datetime:
    return datetime.datetime.fromisoformat(reading.taken)
