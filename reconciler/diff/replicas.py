"""Replicas of a live topic against the declared ones: where they should be, and why they stay where they are."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from reconciler.diff.difference import Skipped, SkipReason
from reconciler.model import (
    Assignments,
    Change,
    ClusterState,
    DesiredState,
    DesiredTopic,
    Impossible,
    Layout,
    PartitionLayout,
    Topic,
    TopicReplicas,
    Update,
)
from reconciler.placement import PlacedPartition, PlacementBroker, copied_bytes, target_replicas

_UNREAD: Final = "plan on the cluster itself: where replicas belong depends on its brokers, racks and sizes"
_UNFINISHED: Final = (
    "it goes on in the brokers, and none is started on top of it: plan again when it is finished, or cancel it with "
    "reconciler reassignments cancel"
)
_GROWS: Final = "new partitions get as many replicas as the topic has: plan again once they are added"


def topics_to_place(desired: DesiredState, live: ClusterState) -> Collection[str]:
    """The names of topics whose layout has to be read before they can be compared.

    Of a new topic that says where its replicas are, or how many, only the brokers count. A reassignment that only adds
    replicas looks finished in a topic's metadata, but for those that are not in sync.
    """
    return [
        name
        for name, wanted in sorted(desired.topics.items())
        if not wanted.absent
        and (
            _says_where(wanted.topic)
            if (found := live.topics.get(name)) is None
            else name in live.under_replicated or _differs(wanted.topic, found)
        )
    ]


def _says_where(wanted: Topic) -> bool:
    return wanted.replication_factor is not None or wanted.replica_assignments is not None


def unfinished(wanted: DesiredTopic, live: ClusterState) -> Skipped | None:
    """The reassignment that goes on in a topic, whoever started it."""
    name, layout = wanted.topic.name, live.layout
    moving = [] if layout is None else list(layout.moving(name))
    if not moving:
        return None
    partitions = f"{len(moving)} partition{'' if len(moving) == 1 else 's'}"
    subject = f"topic {name}: the reassignment of {partitions} is unfinished"
    return Skipped(SkipReason.UNFINISHED, subject, _UNFINISHED, origin=wanted.origin)


def replica_changes(wanted: Topic, live: Topic, state: ClusterState) -> Iterator[Change]:
    """What moves the replicas of ``live`` to where ``wanted`` has them; nothing while a reassignment is unfinished."""
    if not _differs(wanted, live):
        return
    layout = state.layout
    partitions = () if layout is None else layout.topics.get(live.name, ())
    if layout is None or not partitions:
        yield from _impossible(wanted, live, state.layout_gap or _UNREAD)
    elif not any(one.is_moving for one in partitions):
        before = tuple(one.replicas for one in partitions)
        found = _obstacle(wanted, live, partitions, layout) or _target(wanted, live, partitions, state)
        if isinstance(found, str):
            yield from _impossible(wanted, live, found)
        elif found != before:  # what was read first may have been half way
            copied = copied_bytes(_placed(partitions), found)
            yield Update(
                TopicReplicas(live.name, before, live.topic_id),
                TopicReplicas(live.name, found, live.topic_id, _rounded(copied)),
            )


def _differs(wanted: Topic, live: Topic) -> bool:
    """Where a number is not known it is no difference; partitions that only one side has are one of their own."""
    factor, assigned = wanted.replication_factor, live.replica_assignments
    if assigned is None:
        return factor is not None and live.replication_factor not in (None, factor)
    if wanted.replica_assignments is not None:
        return any(new != old for new, old in zip(wanted.replica_assignments, assigned, strict=False))
    # A partition may have more or fewer than the others.
    return factor is not None and any(len(replicas) != factor for replicas in assigned)


def _impossible(wanted: Topic, live: Topic, reason: str) -> Iterator[Impossible]:
    before, after = live.replication_factor, wanted.replication_factor
    if after is not None and before is not None and before != after:
        yield Impossible("replication factor", live.name, str(before), str(after), reason)
    elif wanted.replica_assignments is not None:
        for number, (new, old) in enumerate(
            zip(wanted.replica_assignments, live.replica_assignments or (), strict=False)
        ):
            if new != old:
                yield Impossible(f"replicas of partition {number}", live.name, _brokers(old), _brokers(new), reason)
    else:
        factors = sorted({len(replicas) for replicas in live.replica_assignments or ()})
        yield Impossible("replication factor", live.name, " and ".join(map(str, factors)), str(after), reason)


def _obstacle(wanted: Topic, live: Topic, partitions: Sequence[PartitionLayout], layout: Layout) -> str | None:
    """Why no replica is moved, whatever the target."""
    behind = [(number, broker) for number, one in enumerate(partitions) for broker in one.behind]
    if behind:
        number, broker = behind[0]
        more = f", and {len(behind) - 1:,} more" if len(behind) > 1 else ""
        return (
            f"the replica of partition {number} on broker {broker} is offline or out of sync{more}: bring it back first"
        )
    if wanted.num_partitions is not None and wanted.num_partitions > len(partitions):
        width = wanted.replica_assignments and len(wanted.replica_assignments[0])
        if width in (None, live.replication_factor):
            return _GROWS
    return unplaceable(wanted, layout)


def unplaceable(wanted: Topic, layout: Layout) -> str | None:
    """Why no controller of this cluster has the declared replicas, of a new topic or of one that is there."""
    factor, brokers = wanted.replication_factor, len(layout.racks)
    unknown = {broker for one in wanted.replica_assignments or () for broker in one} - layout.racks.keys()
    if unknown:
        return f"no broker {min(unknown)} is in the cluster"
    if factor is not None and factor > brokers:
        return f"{factor} replicas need as many brokers, and the cluster has {brokers}"
    return None


def _target(
    wanted: Topic, live: Topic, partitions: Sequence[PartitionLayout], state: ClusterState
) -> Assignments | str:
    """The replicas of every partition that is there."""
    there = tuple(one.replicas for one in partitions)
    if wanted.replica_assignments is not None:
        return (*wanted.replica_assignments[: len(there)], *there[len(wanted.replica_assignments) :])
    if wanted.replication_factor is None or state.layout is None:
        return there
    brokers = [PlacementBroker(broker, rack) for broker, rack in state.layout.racks.items()]
    load = Counter(
        broker
        for name, other in state.topics.items()
        if name != live.name
        for replicas in other.replica_assignments or ()
        for broker in replicas
    )
    return target_replicas(_placed(partitions), wanted.replication_factor, brokers, load)


def _placed(partitions: Sequence[PartitionLayout]) -> list[PlacedPartition]:
    return [PlacedPartition(one.replicas, one.size) for one in partitions]


def _rounded(size: int) -> int:
    """The next power of two: a plan that is made again while records come in stays the same plan."""
    return 1 << (size - 1).bit_length() if size else 0


def _brokers(replicas: tuple[int, ...]) -> str:
    return ", ".join(map(str, replicas))
