"""Throttles of moves that are over: no manifest declares them, and they slow down the next broker that falls behind."""

from typing import Final

from reconciler.model import THROTTLE_CONFIGS, ClusterState, DesiredState
from reconciler.model.naming import as_name

_SHOWN: Final = 5


def left_throttles(wanted: DesiredState, live: ClusterState) -> tuple[str, ...]:
    """A sentence about topics with throttled replicas, all in sync, of which no manifest says a word.

    A topic with replicas out of sync is left out: it may be moving, whoever began that.
    """
    found = [
        name
        for name, topic in sorted(live.topics.items())
        if any(topic.configs.get(key) for key in THROTTLE_CONFIGS - _declared(wanted, name))
        and name not in live.under_replicated
    ]
    if not found:
        return ()
    more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    names = ", ".join(map(as_name, found[:_SHOWN]))
    return (
        f"replicas of topic {names}{more} are throttled, and nothing is copied: a move may have left that, and rates "
        "on brokers, behind; apply the plan that set it again, or remove it with reconciler reassignments cancel",
    )


def _declared(wanted: DesiredState, name: str) -> frozenset[str]:
    topic = wanted.topics.get(name)
    return frozenset() if topic is None else frozenset(topic.topic.configs)
