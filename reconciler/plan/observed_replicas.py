"""The replicas of a live topic against what a step on them expects to find."""

from collections.abc import Sequence
from typing import Final

from reconciler.model import ClusterState, PartitionLayout, Topic, TopicReplicas
from reconciler.plan.observed import DONE, PENDING, Observed, StepState
from reconciler.plan.observed_topic import observed_id

#: Bytes that a topic may copy between brokers without a person's word.
MOST_COPIED: Final = 16 * 2**30


#: What a step expects of replicas that it is about to move.
_IN_SYNC: Final = "every replica in sync"


def lacks_replicas(found: Observed) -> bool:
    """Whether a step cannot begin only because a replica is out of sync, which may end by itself."""
    return found.state is StepState.STALE and found.expected == _IN_SYNC


def observed_replicas(before: TopicReplicas, after: TopicReplicas, topic: Topic | None, live: ClusterState) -> Observed:
    """Done once every partition is where it should be and nothing moves; pending while our own reassignment goes on.

    A partition that moves to other brokers, or is on brokers that nobody expected, makes the step stale: a second
    reassignment would silently replace the first.
    """
    subject = f"topic {after.name}"
    if topic is None:
        return Observed(StepState.STALE, subject, "exists", "no such topic")
    if (other := observed_id(after.topic_id, topic)) is not PENDING:
        return other
    if live.layout is None or after.name not in live.layout.topics:
        return Observed(StepState.UNREADABLE, subject, "readable", "its replicas were not read")
    partitions = live.layout.topics[after.name]
    if len(partitions) != len(after.assignments):
        there = f"{len(partitions)} partitions"
        return Observed(StepState.STALE, subject, f"{len(after.assignments)} partitions", there)
    for number, one in enumerate(partitions):
        old, new = before.assignments[number], after.assignments[number]
        # In another order they are the same to copy from: a move that was cancelled leaves the new one's order.
        if one.target != new and (one.is_moving or {*one.replicas} != {*old}):
            where = f"{'moving to' if one.is_moving else 'on'} brokers {_listed(one.target)}"
            found = f"partition {number} {where}"
            return Observed(StepState.STALE, subject, f"partition {number} on brokers {_listed(old)}", found)
    if all(not one.is_moving and one.replicas == after.assignments[number] for number, one in enumerate(partitions)):
        return DONE
    return _startable(after, partitions, subject)


def _startable(after: TopicReplicas, partitions: Sequence[PartitionLayout], subject: str) -> Observed:
    """Pending, unless replicas are missing already, or much more would be copied than was reviewed."""
    if any(one.is_moving for one in partitions):
        return PENDING
    for number, one in enumerate(partitions):
        if one.behind:
            found = f"the replica of partition {number} on broker {one.behind[0]} is not"
            return Observed(StepState.STALE, subject, _IN_SYNC, found)
    copied = sum(
        one.size * len({*new} - {*one.replicas}) for one, new in zip(partitions, after.assignments, strict=True)
    )
    if copied > max(2 * after.copied, MOST_COPIED):
        return Observed(StepState.STALE, subject, f"at most {after.copied:,} bytes to copy", f"{copied:,} bytes")
    return PENDING


def _listed(brokers: tuple[int, ...]) -> str:
    return ", ".join(map(str, brokers))
