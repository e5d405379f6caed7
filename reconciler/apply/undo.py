"""What a run performed, turned back: the cluster as it is, less what that run made, with what it took away.

This wish becomes a plan as any other does, with its order, its guards and its limits.
"""

from collections.abc import Collection
from dataclasses import dataclass

from reconciler.apply.history import PastRun
from reconciler.apply.kinds import KINDS, kind_of
from reconciler.apply.kinds.interface import Wish
from reconciler.model import ClusterState, DesiredState, Origin, Scope
from reconciler.plan import Plan, Step, StepState, describe


@dataclass(frozen=True, slots=True)
class UndoRequest:
    """``desired`` is the wish; ``kept`` says, a sentence each, what is not or not wholly restored and why."""

    desired: DesiredState
    kept: tuple[str, ...]


def performed_steps(plan: Plan, runs: Collection[PastRun], live: ClusterState) -> tuple[Step, ...]:
    """The steps that these runs performed; where they do not know, the cluster says whether it shows."""
    performed = frozenset(step for run in runs for step in run.performed)
    doubtful = frozenset(step for run in runs for step in run.doubtful) - performed
    return tuple(
        step
        for step in plan.steps
        if step.id in performed or (step.id in doubtful and step.observed(live).state is StepState.DONE)
    )


def revert_steps(
    steps: Collection[Step], live: ClusterState, scope: Scope, declared: DesiredState, origin: Origin
) -> UndoRequest:
    """The wish that reverts ``steps``; ``declared`` is what the manifests say today, ``origin`` what asks for it."""
    wish = Wish(live, scope, declared, origin)
    for kind in KINDS:
        kind.keep(wish)
    kept: list[str] = []
    for step in steps:
        kind = kind_of(step.change)
        if kind.outside(step.change, scope) is None:
            kept += kind.revert(step, wish)
        else:  # nothing else would be applied
            kept.append(f"“{describe(step.change)}” stays: it is not in the cluster's scope any more")
    return UndoRequest(DesiredState(wish.bindings, wish.topics), tuple(kept))
