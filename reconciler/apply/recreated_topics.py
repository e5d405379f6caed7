"""Topics that go: whether an empty one still is what was reviewed, and whether a deleted one is there again.

Brokers may make a topic when a client asks for it, so we look twice.
"""

from collections.abc import Sequence
from typing import Final

from reconciler.apply.outcome import GOOD, Outcome, StepOutcome
from reconciler.apply.run import Run
from reconciler.apply.verification import is_recreated, read
from reconciler.model import ClusterState, Topic, TopicUse
from reconciler.plan import AUTO_CREATE, Step, StepState, deleted_topics
from reconciler.plan.observed_topic import observed_creation
from reconciler.ports import ClusterError

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
    gone = {step: one for step in batch for one in deleted_topics([step.change])}
    empty = [one.name for one in gone.values() if (use := uses.get(one.name)) is not None and use.written == 0]
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
    found, topic = step.observed(live), live.topics.get(expected.name)
    if found.state is StepState.DONE:
        return ""
    if found.state is not StepState.PENDING or topic is None:
        return f"expected {found.expected}, found {found.found}"
    if observed_creation(expected, topic).state is not StepState.DONE:
        return "somebody has changed it since the plan was made, when it was empty; plan again"
    if use.written is None:
        return "it was empty when the plan was made, and whether it still is could not be read"
    if use.written:
        return f"it was empty when the plan was made, and {use.written:,} records were written since; plan again"
    return ""
