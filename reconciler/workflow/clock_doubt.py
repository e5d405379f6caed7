"""The clock of this machine against one that is not ours: that of the active controller of a cluster."""

import datetime
from typing import Final

from reconciler.workflow.clusters import Target
from reconciler.workflow.options import now
from reconciler.workflow.reasons import WorkflowError

#: How far they may be apart: by more, one of them is wrong.
_APART: Final = datetime.timedelta(minutes=1)


def clock_doubt_of(target: Target) -> str | None:
    """Why this machine's clock or the controller's is wrong: which one, nobody here can tell, so neither is believed.

    Only who runs the controllers sets theirs; a commit, an ACL and a lease have the times that their writers chose.
    ``None`` also where the cluster does not tell.
    """
    before = now()
    told = target.cluster.controller_time()
    if told is None or before - _APART <= told <= now() + _APART:
        return None
    way = "ahead of" if told < before else "behind"
    seconds = abs((told - before).total_seconds())
    return f"this machine's clock is {seconds:.0f} s {way} the controller's, {told:%Y-%m-%dT%H:%M:%SZ}"


def check_clock(target: Target) -> None:
    """Raise :class:`WorkflowError` where this machine's clock may be wrong: before anything is done by its time."""
    if (doubt := clock_doubt_of(target)) is not None:
        raise WorkflowError(f"{doubt}: nothing was sent", "set the clock that is wrong, mostly by NTP, and try again")
