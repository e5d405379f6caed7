"""Read the cluster again during a run: before a phase, after an unknown outcome, at the end.

Brokers apply ACLs after they were committed, so a reading is repeated until it shows everything that was reported
done, as long as more of it appears and for a bounded time; the last one counts.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from reconciler.apply.environment import GOOD, Outcome, StepOutcome
from reconciler.apply.kinds import KINDS, kind_of
from reconciler.apply.kinds.interface import Moved
from reconciler.apply.run import Run, StoppedError
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.topic import touched_names
from reconciler.plan.observed import StepState
from reconciler.plan.proposal import bindings_after
from reconciler.plan.review.ends import gains_not_in_force
from reconciler.plan.step import Step
from reconciler.ports import ClusterError, ReadRequest
from reconciler.retry import Patience, polls

#: Seconds in which a further reading has to show more of what was reported done.
VISIBLE_SECONDS: Final = 30.0
#: Seconds that all readings together may take, however much each shows: a broker may be behind, not hopeless.
LONGEST_SECONDS: Final = 600.0
#: The same if somebody else changes the cluster too, and may have undone it.
FOREIGN_SECONDS: Final = 3.0
_AGAIN: Final = "apply the same plan again once the brokers answer: what is done is recognised"
_NOT_SHOWN: Final = "reported done, but the cluster does not show it"


@dataclass(frozen=True, slots=True)
class Discrepancies:
    """``missing``: steps reported done that do not show; ``foreign``: what somebody else changed, in words."""

    missing: tuple[Step, ...]
    foreign: tuple[str, ...]


def read(run: Run) -> ClusterState:
    """The cluster as it is but for bridges and locks; raises :class:`StoppedError`."""
    # Bridges come and go during a run, in no step: to a comparison they would be foreign changes.
    return run.compared(_read(run, run.request()))


def _read(run: Run, request: ReadRequest) -> ClusterState:
    try:
        return run.environment.cluster.read(request)
    except ClusterError as error:
        raise StoppedError(f"the cluster could not be read again: {error}; {_AGAIN}") from error


def exact_read(run: Run, placed: Collection[AclBinding], request: ReadRequest | None = None) -> ClusterState:
    """Read until the answer shows bindings that this run has just put there: older answers are no use.

    Bridges are in the answer. Raises :class:`StoppedError` after a bounded time: a broker that is cut off answers by
    what it knew.
    """
    patience = Patience(run.environment.clock, VISIBLE_SECONDS, LONGEST_SECONDS)
    for _ in patience.turns():
        live = _read(run, request or run.request())
        missing = set(placed).difference(live.bindings)
        if not missing:
            return live
        patience.note(missing)
    raise StoppedError("the broker that lists the ACLs does not show what was sent: it may be cut off")


def await_visible(run: Run) -> tuple[ClusterState, Discrepancies]:
    """Read until everything that was reported done shows, as long as more of it does; raises :class:`StoppedError`."""
    patience = Patience(run.environment.clock, VISIBLE_SECONDS, LONGEST_SECONDS)
    for waited in patience.turns():
        live = read(run)
        found = discrepancies(run.start, live, run.outcomes.values(), run.plan.steps)
        if not found.missing or (found.foreign and waited > FOREIGN_SECONDS):
            break
        # Whoever asked to stop, or was stopped, waits no longer than for a broker that shows nothing new.
        if not run.stopped and not run.environment.interrupted() and patience.note(found.missing):
            run.lease_guard.renew()  # it is made for the time that a barrier takes, and this may take longer
            run.environment.progress.note(f"{len(found.missing):,} steps do not show yet; waiting while more appear")
    return live, found


def reread(run: Run) -> ClusterState:
    """Read before a phase; raises :class:`StoppedError` where somebody else changed what the plan touches."""
    live, found = await_visible(run)
    run.record_outcomes([StepOutcome(step, Outcome.UNKNOWN, "not_shown", _NOT_SHOWN) for step in found.missing])
    if found.foreign:
        raise StoppedError(f"somebody else changed what this plan touches: {'; '.join(found.foreign[:5])}; plan again")
    return live


def identified(run: Run, found: Sequence[StepOutcome]) -> list[StepOutcome]:
    """The outcomes with the ids of what was created, read at once: from then on it is known by more than its name.

    An id that cannot be read is left out: an undo says so.
    """
    waiting = {index for index, item in enumerate(found) if item.outcome is Outcome.DONE and _has_identity(item.step)}
    known = list(found)
    for _ in polls(run.environment.clock, FOREIGN_SECONDS if waiting else 0.0):
        if not waiting:
            break
        changes = [found[index].step.change for index in sorted(waiting)]
        try:
            live = run.environment.cluster.read(
                ReadRequest(acls=False, all_topics=False, topic_names=touched_names(changes))
            )
        except ClusterError:
            break
        for index in sorted(waiting):
            if identity := kind_of(found[index].step.change).identity(found[index].step.change, live):
                known[index] = replace(found[index], identity=identity)
                waiting.discard(index)
    return known


def _has_identity(step: Step) -> bool:
    return kind_of(step.change).identity(step.change, ClusterState("")) is not None


def resolve_unknown(run: Run, batch: Sequence[Step], number: int) -> None:
    """Read again after an unknown outcome: what shows is done; what does not is failed if the broker refused it.

    A refusal that may answer to a repetition of our own request counts as unknown until then; it is given time to
    show, for brokers learn of a change after the controller.
    """
    run.environment.progress.note("an outcome is unknown; reading the cluster again")
    unknown = [run.outcomes[step] for step in batch if run.outcomes[step].outcome is Outcome.UNKNOWN]
    repeated = [item for item in unknown if item.code in kind_of(item.step.change).REPEATED]
    # One reading suffices, unless a refusal may answer our own repetition: the first request may yet show.
    for _ in polls(run.environment.clock, FOREIGN_SECONDS if repeated else 0.0):
        try:
            live = run.environment.cluster.read(run.request())
        except ClusterError as error:
            run.environment.progress.note(f"the cluster could not be read: {error}")
            return
        shown = {item.step for item in unknown if item.step.observed(live).state is StepState.DONE}
        if all(item.step in shown for item in repeated):
            break
    # Whatever else does not show stays unknown: a broker may still be about to do it.
    refused = [replace(item, outcome=Outcome.FAILED) for item in repeated if item.step not in shown]
    done = [StepOutcome(item.step, Outcome.DONE) for item in unknown if item.step in shown]
    begun = [replace(item, message=_half_done(item, live)) for item in unknown if item.step.halves(live) is not None]
    run.record_outcomes([*done, *refused, *begun], number)


def _half_done(item: StepOutcome, live: ClusterState) -> str:
    found = item.step.observed(live)
    half = f"only a part of it is done: {found.found}, and not {found.expected}; apply the same plan again to finish it"
    return "; ".join(filter(None, (item.message, half)))


def discrepancies(
    start: ClusterState, now: ClusterState, outcomes: Iterable[StepOutcome], steps: Sequence[Step]
) -> Discrepancies:
    """Hold ``now`` against ``start`` and what has been done since."""
    known = list(outcomes)
    # A recreated topic is reported by itself: waiting would not make it disappear.
    good = [item.step for item in known if item.outcome in GOOD]
    missing = tuple(
        step for step in good if step.observed(now).state is not StepState.DONE and not is_recreated(step, now)
    )
    moved = Moved(start, now, good, [item.step for item in known], steps)
    return Discrepancies(missing, tuple(text for kind in KINDS for text in kind.foreign_changes(moved)))


def unmet_gains(run: Run, live: ClusterState) -> tuple[str, ...]:
    """Access that was reviewed and that a finished plan does not give, because of what somebody else changed."""
    plan = run.plan
    if not plan.moves_access or any(item.outcome not in GOOD for item in run.all_outcomes()):
        return ()  # what was not done is named already
    # Where nothing but the plan moved, access is as it was found before the first step.
    if not run.defeated and _lasting(live.bindings) == _lasting(bindings_after(run.start.bindings, plan.steps)):
        return ()
    terms = plan.terms
    found = gains_not_in_force(plan.access, live, terms.facts, default_allow=terms.default_allow)
    return tuple(f"reviewed, and not in force: {text}; “reconciler explain” says which ACL decides" for text in found)


def _lasting(bindings: Collection[AclBinding]) -> set[AclBinding]:
    return {binding for binding in bindings if not is_reserved(binding.pattern.name)}


def is_recreated(step: Step, live: ClusterState) -> bool:
    """Whether what a step deletes is there again, as another one of the same name."""
    return kind_of(step.change).is_recreated(step.change, live)
