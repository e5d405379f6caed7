"""Undo a run: the desired state is the cluster as it is, less what the run created, with what it deleted.

It is planned like any other desired state, with the same order, guards and limits.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from reconciler.apply.environment import GOOD, Outcome, StepOutcome
from reconciler.apply.kinds import KINDS, kind_of
from reconciler.apply.kinds.interface import NOTHING_KNOWN, CreatedByRuns, UndoDraft
from reconciler.apply.records import PastRun
from reconciler.apply.run import Run, is_recreated, read
from reconciler.dataclass import dataclass
from reconciler.model.characters import ticked
from reconciler.model.desired import DesiredState, Origin
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicUse
from reconciler.plan.kinds import describe
from reconciler.plan.kinds.topic import AUTO_CREATE, deleted_topics
from reconciler.plan.observed import Observed, StepState, observed_creation
from reconciler.plan.proposal import Plan
from reconciler.plan.step import Step
from reconciler.ports import ClusterError


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
    performed, doubtful = _step_ids(runs)
    done: list[Step] = []
    for step in plan.steps:
        if step.id in performed or (step.id in doubtful and step.observed(live).state is StepState.DONE):
            done.append(step)
        elif step.id in doubtful and (halves := step.halves(live)) is not None:
            done.append(replace(step, change=halves.done))
    return tuple(done)


def doubts(plan: Plan, runs: Collection[PastRun], live: ClusterState) -> tuple[str, ...]:
    """A sentence for each step of which ``live`` does not show whether these runs performed it, or only a part."""
    _, doubtful = _step_ids(runs)
    pairs = ((step, step.observed(live)) for step in plan.steps if step.id in doubtful)
    return tuple(filter(None, (_doubt(step, item, live) for step, item in pairs)))


def _doubt(step: Step, observed: Observed, live: ClusterState) -> str:
    words = ticked(describe(step.change))
    if step.halves(live) is not None:
        half = f"{observed.found}, and not {observed.expected}"
        return f"{words} was cut off: {half}; the part that was done is reverted where Kafka permits it"
    if observed.state in (StepState.STALE, StepState.UNREADABLE):
        return f"{words} got no answer and is not reverted: {observed.subject} is now {observed.found}"
    return ""


def _step_ids(runs: Collection[PastRun]) -> tuple[frozenset[str], frozenset[str]]:
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
    created_by_runs: CreatedByRuns = NOTHING_KNOWN,
) -> UndoRequest:
    """The desired state that reverts ``steps``; ``declared`` is that of the manifests, ``origin`` what asks for it."""
    draft = UndoDraft(live, scope, declared, origin, created_by_runs)
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


# Topics that go: whether an empty one still is what was reviewed, and whether a deleted one is there again.
#
# Brokers may make a topic when a client asks for it, so we look twice.

#: Seconds within which a client that still uses a topic asks for it again (a producer's retry.backoff.max.ms is one).
SECOND_READ_SECONDS: Final = 2.0


def recreated_topics(run: Run) -> tuple[str, ...]:
    """A sentence for each deleted topic that came back; raises :class:`StoppedError` if it cannot be read.

    Where brokers are known not to make topics on demand there is nothing to look for.
    """
    deleted = [
        item.step for item in run.outcomes.values() if item.outcome in GOOD and deleted_topics([item.step.change])
    ]
    if not deleted or run.plan.topics.defaults.get(AUTO_CREATE) == "false":
        return ()
    # The reading that verified the run may have been too early: clients refresh their metadata now and then.
    run.environment.clock.sleep(SECOND_READ_SECONDS)
    live = read(run)
    return tuple(
        f"topic {topic.name} is there again, as another one and empty: a client still asks for it, and "
        f"brokers make topics on demand ({AUTO_CREATE})"
        for step in deleted
        for topic in deleted_topics([step.change])
        if is_recreated(step, live)
    )


def still_empty(run: Run, batch: Sequence[Step]) -> Sequence[Step]:
    """The steps to send; one that deletes a topic which was empty when the plan was made is not sent if it is no more.

    Kafka deletes a topic whatever it holds, and the plan said that there was nothing to lose. So it is looked at once
    more, right before the request: its id, its partitions and configs, and whether a record was ever written.
    """
    inspector, uses = run.environment.uses, run.plan.topics.uses
    gone = {step: item for step in batch for item in deleted_topics([step.change])}
    empty = [item.name for item in gone.values() if (use := uses.get(item.name)) is not None and use.written == 0]
    if inspector is None or not empty:
        return batch
    live = read(run)
    try:
        held = inspector.topic_uses(empty)
    except ClusterError:
        held = {}
    changed = {
        step: why
        for step, topic in gone.items()
        if topic.name in empty and (why := _no_more(step, topic, live, held.get(topic.name, TopicUse())))
    }
    run.record_outcomes(
        [
            StepOutcome(step, Outcome.FAILED, "changed_meanwhile", f"topic {gone[step].name}: {why}")
            for step, why in changed.items()
        ]
    )
    return [step for step in batch if step not in changed]


def _no_more(step: Step, expected: Topic, live: ClusterState, use: TopicUse) -> str:
    """Why a topic is no more the empty one that was reviewed; empty where it is, or is gone."""
    observed, topic = step.observed(live), live.topics.get(expected.name)
    if observed.state is StepState.DONE:
        return ""
    if observed.state is not StepState.PENDING or topic is None:
        return f"expected {observed.expected}, found {observed.found}"
    if observed_creation(expected, topic).state is not StepState.DONE:
        return "somebody has changed it since the plan was made, when it was empty; plan again"
    if use.written is None:
        return "it was empty when the plan was made, and whether it still is could not be read"
    if use.written:
        return f"it was empty when the plan was made, and {use.written:,} records were written since; plan again"
    return ""
