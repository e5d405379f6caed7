"""Reading again while a run goes on: before a phase, after an unknown outcome, at the end.

Brokers apply ACLs after they were committed, so a reading is repeated for a bounded time until it shows everything
that was reported done; the last one counts.
"""

from collections.abc import Collection, Sequence
from typing import Final

from reconciler.apply.outcome import Outcome, StepOutcome
from reconciler.apply.run import Run, StoppedError
from reconciler.apply.sending import pause
from reconciler.apply.watch import Sight, look
from reconciler.model import AclBinding, ClusterState, without_bridges
from reconciler.plan import Standing, Step, standing
from reconciler.ports import ClusterError, ReadRequest

#: Seconds that a reading may take to show what was reported done.
SETTLE_SECONDS: Final = 30.0
#: The same where somebody else is at work, who may have taken it away again.
FOREIGN_SECONDS: Final = 3.0
_NOT_SHOWN: Final = "reported done, but the cluster does not show it"


def read(run: Run) -> ClusterState:
    """The cluster as it is but for bridges; raises :class:`StoppedError`."""
    return without_bridges(_read(run, run.request()))


def _read(run: Run, request: ReadRequest) -> ClusterState:
    try:
        return run.world.cluster.read(request)
    except ClusterError as error:
        raise StoppedError(f"the cluster could not be read again: {error}") from error


def exact_read(run: Run, placed: Collection[AclBinding], request: ReadRequest | None = None) -> ClusterState:
    """Read until the answer shows bindings that this run has just put there: older answers are no use.

    Bridges are in the answer. Raises :class:`StoppedError` after a bounded time: a broker that is cut off answers by
    what it knew.
    """
    clock = run.world.clock
    deadline = clock.monotonic() + SETTLE_SECONDS
    attempt = 0
    while True:
        live = _read(run, request or run.request())
        if live.bindings.issuperset(placed):
            return live
        if clock.monotonic() > deadline:
            raise StoppedError("the broker that lists the ACLs does not show what was sent: it may be cut off")
        clock.sleep(pause(attempt, clock))
        attempt += 1


def settle(run: Run) -> tuple[ClusterState, Sight]:
    """Read until everything that was reported done shows, for a bounded time; raises :class:`StoppedError`."""
    clock = run.world.clock
    began = clock.monotonic()
    attempt = 0
    while True:
        live = read(run)
        sight = look(run.start, live, run.outcomes.values(), run.plan.steps)
        if not sight.missing or clock.monotonic() > began + (FOREIGN_SECONDS if sight.foreign else SETTLE_SECONDS):
            return live, sight
        clock.sleep(pause(attempt, clock))
        attempt += 1


def look_again(run: Run) -> ClusterState:
    """Read before a phase; raises :class:`StoppedError` where somebody else changed what the plan touches."""
    live, sight = settle(run)
    run.settle([StepOutcome(step, Outcome.UNKNOWN, "not_shown", _NOT_SHOWN) for step in sight.missing])
    if sight.foreign:
        raise StoppedError("somebody else changed what this plan touches: " + "; ".join(sight.foreign[:5]))
    return live


def resolve(run: Run, batch: Sequence[Step], number: int) -> None:
    """Read again after an unknown outcome: what shows is done, the rest stays unknown."""
    run.world.progress.note("an outcome is unknown; reading the cluster again")
    try:
        live = run.world.cluster.read(run.request())
    except ClusterError as error:
        run.world.progress.note(f"the cluster could not be read: {error}")
        return
    unknown = (step for step in batch if run.outcomes[step].outcome is Outcome.UNKNOWN)
    shown = [step for step in unknown if standing(step, live).standing is Standing.DONE]
    run.settle([StepOutcome(step, Outcome.DONE) for step in shown], number)
