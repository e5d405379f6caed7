"""Deleted topics that are there again: brokers may make a topic when a client asks for it, so we look twice."""

from typing import Final

from reconciler.apply.outcome import GOOD
from reconciler.apply.run import Run
from reconciler.apply.verification import is_recreated, read
from reconciler.plan import AUTO_CREATE, deleted_topics

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
