"""Undo a run: the desired state is the cluster as it is, less what the run created, with what it deleted.

It is planned like any other desired state, with the same order, guards and limits.
"""

from collections.abc import Collection
from dataclasses import replace

from reconciler.apply.kinds import KINDS, kind_of
from reconciler.apply.kinds.interface import NOTHING_KNOWN, CreatedByRuns, UndoDraft
from reconciler.apply.past_run import PastRun
from reconciler.dataclass import dataclass
from reconciler.model import ClusterState, DesiredState, Origin, Scope
from reconciler.model.naming import ticked
from reconciler.plan import Observed, Plan, Step, StepState, describe


@dataclass(frozen=True, slots=True)
class UndoRequest:
    """``desired`` is the state to plan for; ``kept`` says what cannot be restored, or only in part, and why.

    ``own`` are the topics that go and are known to be as the runs created them, and empty.
    """

    desired: DesiredState
    kept: tuple[str, ...]
    own: tuple[str, ...] = ()


def performed_steps(plan: Plan, runs: Collection[PastRun], live: ClusterState) -> tuple[Step, ...]:
    """The steps that these runs performed; of those with an unknown outcome, what ``live`` shows of them."""
    performed, doubtful = _known(runs)
    found: list[Step] = []
    for step in plan.steps:
        if step.id in performed or (step.id in doubtful and step.observed(live).state is StepState.DONE):
            found.append(step)
        elif step.id in doubtful and (halves := step.halves(live)) is not None:
            found.append(replace(step, change=halves.done))
    return tuple(found)


def doubts(plan: Plan, runs: Collection[PastRun], live: ClusterState) -> tuple[str, ...]:
    """A sentence for each step of which ``live`` does not show whether these runs performed it, or only a part."""
    _, doubtful = _known(runs)
    found = ((step, step.observed(live)) for step in plan.steps if step.id in doubtful)
    return tuple(filter(None, (_doubt(step, one, live) for step, one in found)))


def _doubt(step: Step, found: Observed, live: ClusterState) -> str:
    words = ticked(describe(step.change))
    if step.halves(live) is not None:
        half = f"{found.found}, and not {found.expected}"
        return f"{words} was cut off: {half}; the part that was done is reverted where Kafka permits it"
    if found.state in (StepState.STALE, StepState.UNREADABLE):
        return f"{words} got no answer and is not reverted: {found.subject} is now {found.found}"
    return ""


def _known(runs: Collection[PastRun]) -> tuple[frozenset[str], frozenset[str]]:
    """The ids of the steps that runs performed, and of those whose outcome none of them learned."""
    performed = frozenset(step for run in runs for step in run.performed)
    return performed, frozenset(step for run in runs for step in run.doubtful) - performed


def identities(runs: Collection[PastRun]) -> dict[str, str]:
    """The ids that Kafka gave to what runs created, by step; the latest counts: what it replaced was gone by then."""
    return {step: identity for run in runs for step, identity in run.identities.items()}


def revert_steps(
    steps: Collection[Step],
    live: ClusterState,
    scope: Scope,
    declared: DesiredState,
    origin: Origin,
    known: CreatedByRuns = NOTHING_KNOWN,
) -> UndoRequest:
    """The desired state that reverts ``steps``; ``declared`` is that of the manifests, ``origin`` what asks for it."""
    draft = UndoDraft(live, scope, declared, origin, known)
    # First everything as it is: only what the steps touched may differ from it.
    for kind in KINDS:
        kind.keep(draft)
    kept: list[str] = []
    for step in steps:
        kind = kind_of(step.change)
        if kind.outside(step.change, scope) is None:
            kept += kind.revert(step, draft)
        else:  # nothing else would be applied
            kept.append(f"“{describe(step.change)}” stays: it is not in the cluster's scope any more")
    desired = DesiredState(draft.bindings, draft.topics, listed=draft.listed)
    return UndoRequest(desired, tuple(kept), tuple(draft.own))
