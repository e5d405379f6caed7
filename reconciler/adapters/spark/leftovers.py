"""What runs of this tool have on a cluster of a fleet, by what a reading holds of it: judged as a single drift does."""

import datetime

from reconciler.apply.leftovers import going_on, without_live_bridges
from reconciler.diff import Skipped
from reconciler.fleet import Reading
from reconciler.model import AclBinding, ClusterState, standing_bridges
from reconciler.plan.leftovers import left_behind


def bridges_of(reading: Reading, default_allow: bool | None) -> frozenset[AclBinding]:
    """The bridges, which are nobody's wish and no undeclared access: none unless default-allow is declared on."""
    return standing_bridges(frozenset(reading.leftovers)) if default_allow is True else frozenset()


def left_over(reading: Reading, default_allow: bool | None) -> tuple[Skipped, ...]:
    """What was there without a run that could have been going on when the cluster was read."""
    if not reading.leftovers:
        return ()
    live = ClusterState(reading.cluster_id, frozenset(reading.leftovers))
    runs = going_on(live, datetime.datetime.fromisoformat(reading.taken))
    theirs = frozenset(binding for run in runs for binding in run.bindings)
    return tuple(left_behind(without_live_bridges(live, runs, default_allow=default_allow), default_allow, theirs))
