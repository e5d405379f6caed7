"""Reading again while a run goes on: before a phase, after an unknown outcome, at the end.

Brokers apply ACLs after they were committed, so a reading is repeated for a bounded time until it shows everything
that was reported done; the last one counts.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reconciler.apply.outcome import GOOD, Outcome, StepOutcome
from reconciler.apply.run import Run, StoppedError
from reconciler.model import AclBinding, ClusterState, is_reserved, without_bridges
from reconciler.plan import Standing, Step, bindings_after, deleted_topics, standing, touched_bindings
from reconciler.plan.overlap import pattern_indexes
from reconciler.ports import ClusterError, ReadRequest
from reconciler.retry import polls

#: Seconds that a reading may take to show what was reported done.
VISIBLE_SECONDS: Final = 30.0
#: The same where somebody else is at work, who may have taken it away again.
FOREIGN_SECONDS: Final = 3.0
_NOT_SHOWN: Final = "reported done, but the cluster does not show it"


@dataclass(frozen=True, slots=True)
class Discrepancies:
    """``missing``: steps reported done that do not show; ``foreign``: bindings that somebody else moved."""

    missing: tuple[Step, ...]
    foreign: tuple[str, ...]


def read(run: Run) -> ClusterState:
    """The cluster as it is but for bridges; raises :class:`StoppedError`."""
    return without_bridges(_read(run, run.request()))


def _read(run: Run, request: ReadRequest) -> ClusterState:
    try:
        return run.environment.cluster.read(request)
    except ClusterError as error:
        raise StoppedError(f"the cluster could not be read again: {error}") from error


def exact_read(run: Run, placed: Collection[AclBinding], request: ReadRequest | None = None) -> ClusterState:
    """Read until the answer shows bindings that this run has just put there: older answers are no use.

    Bridges are in the answer. Raises :class:`StoppedError` after a bounded time: a broker that is cut off answers by
    what it knew.
    """
    for _ in polls(run.environment.clock, VISIBLE_SECONDS):
        live = _read(run, request or run.request())
        if live.bindings.issuperset(placed):
            return live
    raise StoppedError("the broker that lists the ACLs does not show what was sent: it may be cut off")


def await_visible(run: Run) -> tuple[ClusterState, Discrepancies]:
    """Read until everything that was reported done shows, for a bounded time; raises :class:`StoppedError`."""
    for waited in polls(run.environment.clock, VISIBLE_SECONDS):
        live = read(run)
        found = discrepancies(run.start, live, run.outcomes.values(), run.plan.steps)
        if not found.missing or (found.foreign and waited > FOREIGN_SECONDS):
            break
    return live, found


def reread(run: Run) -> ClusterState:
    """Read before a phase; raises :class:`StoppedError` where somebody else changed what the plan touches."""
    live, found = await_visible(run)
    run.record_outcomes([StepOutcome(step, Outcome.UNKNOWN, "not_shown", _NOT_SHOWN) for step in found.missing])
    if found.foreign:
        raise StoppedError("somebody else changed what this plan touches: " + "; ".join(found.foreign[:5]))
    return live


def resolve_unknown(run: Run, batch: Sequence[Step], number: int) -> None:
    """Read again after an unknown outcome: what shows is done, the rest stays unknown."""
    run.environment.progress.note("an outcome is unknown; reading the cluster again")
    try:
        live = run.environment.cluster.read(run.request())
    except ClusterError as error:
        run.environment.progress.note(f"the cluster could not be read: {error}")
        return
    unknown = (step for step in batch if run.outcomes[step].outcome is Outcome.UNKNOWN)
    shown = [step for step in unknown if standing(step, live).standing is Standing.DONE]
    run.record_outcomes([StepOutcome(step, Outcome.DONE) for step in shown], number)


def discrepancies(
    start: ClusterState, now: ClusterState, outcomes: Iterable[StepOutcome], steps: Iterable[Step]
) -> Discrepancies:
    """Hold ``now`` against ``start`` and what has been done since.

    A foreign change counts only where its pattern shares a name with one that the plan touches; sentinels, ours or
    another run's, are none.
    """
    told = list(outcomes)
    good = [item.step for item in told if item.outcome in GOOD]
    missing = tuple(
        step for step in good if standing(step, now).standing is not Standing.DONE and not was_recreated(step, now)
    )
    own = set(touched_bindings(item.step.change for item in told))
    moved = (bindings_after(start.bindings, good) ^ now.bindings) - own
    return Discrepancies(
        missing, _near((binding for binding in moved if not is_reserved(binding.pattern.name)), start, steps)
    )


def was_recreated(step: Step, live: ClusterState) -> bool:
    """Whether the topic that a step deletes is there under the same name with another id."""
    before = next(iter(deleted_topics([step.change])), None)
    if before is None:
        return False
    now = live.topics.get(before.name)
    return now is not None and before.topic_id is not None and now.topic_id not in (None, before.topic_id)


def _near(moved: Iterable[AclBinding], start: ClusterState, steps: Iterable[Step]) -> tuple[str, ...]:
    found = sorted(moved)
    if not found:
        return ()
    touched = pattern_indexes(binding.pattern for binding in touched_bindings(step.change for step in steps))
    return tuple(
        f"{binding} {'went' if binding in start.bindings else 'appeared'}"
        for binding in found
        if (index := touched.get(binding.pattern.resource_type)) is not None
        and any(True for _ in index.overlapping(binding.pattern))
    )
