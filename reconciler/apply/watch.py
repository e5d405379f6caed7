"""What a fresh reading shows of our own steps, and of what others did beside them."""

from collections.abc import Iterable
from dataclasses import dataclass

from reconciler.apply.outcome import GOOD, StepOutcome
from reconciler.model import AclBinding, ClusterState, CreateAcl, DeleteAcl, DeleteTopic, is_reserved
from reconciler.plan import Standing, Step, bindings_after, standing
from reconciler.plan.overlap import pattern_indexes


@dataclass(frozen=True, slots=True)
class Sight:
    """``missing``: steps reported done that do not show; ``foreign``: bindings that somebody else moved."""

    missing: tuple[Step, ...]
    foreign: tuple[str, ...]


def look(start: ClusterState, now: ClusterState, outcomes: Iterable[StepOutcome], steps: Iterable[Step]) -> Sight:
    """Hold ``now`` against ``start`` and what has been done since.

    A foreign change counts only where its pattern shares a name with one that the plan touches; sentinels, ours or
    another run's, are none.
    """
    told = list(outcomes)
    good = [item.step for item in told if item.outcome in GOOD]
    missing = tuple(
        step for step in good if standing(step, now).standing is not Standing.DONE and not has_returned(step, now)
    )
    own = {
        step.change.binding for step in (item.step for item in told) if isinstance(step.change, CreateAcl | DeleteAcl)
    }
    moved = (bindings_after(start.bindings, good) ^ now.bindings) - own
    return Sight(missing, _near((binding for binding in moved if not is_reserved(binding.pattern.name)), start, steps))


def has_returned(step: Step, live: ClusterState) -> bool:
    """Whether the topic that a step deletes is there under the same name with another id."""
    if not isinstance(step.change, DeleteTopic):
        return False
    before, now = step.change.topic, live.topics.get(step.change.topic.name)
    return now is not None and before.topic_id is not None and now.topic_id not in (None, before.topic_id)


def _near(moved: Iterable[AclBinding], start: ClusterState, steps: Iterable[Step]) -> tuple[str, ...]:
    found = sorted(moved)
    if not found:
        return ()
    touched = pattern_indexes(
        step.change.binding.pattern for step in steps if isinstance(step.change, CreateAcl | DeleteAcl)
    )
    return tuple(
        f"{binding} {'went' if binding in start.bindings else 'appeared'}"
        for binding in found
        if (index := touched.get(binding.pattern.resource_type)) is not None
        and any(True for _ in index.overlapping(binding.pattern))
    )
