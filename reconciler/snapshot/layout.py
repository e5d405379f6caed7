"""Replicas and moves of a snapshot's topics.

Partitions and replicas of a new topic (``ReplicationControlManager.createTopic``).
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain

from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.model.topic import Layout, PartitionLayout, Topic
from reconciler.ports import Answer, AnswerStatus, ClusterError
from reconciler.snapshot.document import DONE, BrokerFacts, Snapshot, failed

# Replicas of a cluster in memory: every move is finished at once (``ReplicationControlManager``).


def layout(snapshot: Snapshot, names: Collection[str]) -> Layout:
    """The brokers, and the partitions of those of the topics whose replicas are known.

    Raises :class:`ClusterError` where the racks are not known, as in a file.
    """
    racks = snapshot.racks
    brokers = snapshot.broker.broker_ids
    if racks is None and brokers is not None and snapshot.state.topics.keys().isdisjoint(names):
        # Where replicas of new topics belong is not asked, only which brokers there are.
        racks = dict.fromkeys(brokers)
    if racks is None:
        message = "a snapshot does not say which racks brokers are in"
        raise ClusterError("layout_unread", message, "plan on the cluster itself")
    topics = snapshot.state.topics
    return Layout(
        racks,
        {
            name: tuple(PartitionLayout(item, frozenset(item)) for item in assigned)
            for name in names
            if name in topics and (assigned := topics[name].replica_assignments) is not None
        },
    )


def moved(before: Snapshot, changes: Sequence[Change]) -> tuple[ClusterState, list[Answer]]:
    """The state afterwards, and an answer for each topic; each partition moves or is refused by itself."""
    topics, answers = dict(before.state.topics), []
    for change in changes:
        old, new = change.before.assignments, change.after.assignments  # type: ignore[union-attr]
        topic = topics.get(change.after.name)  # type: ignore[union-attr]
        if topic is None or topic.replica_assignments is None:
            answers.append(failed("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition."))
            continue
        wanted = {number: new[number] for number in range(len(new)) if new[number] != old[number]}
        refused = {number: why for number, item in wanted.items() if (why := _refused(before, item)) is not None}
        there = enumerate(topic.replica_assignments)
        assigned = tuple(item if number in refused else wanted.get(number, item) for number, item in there)
        factor = max(map(len, assigned), default=None)
        topics[topic.name] = replace(topic, replica_assignments=assigned, replication_factor=factor)
        answers.append(_answer(len(wanted), [*refused.values()]))
    return replace(before.state, topics=topics), answers


def _answer(wanted: int, refused: Sequence[Answer]) -> Answer:
    if not refused:
        return DONE
    if len(refused) == wanted:
        return refused[0]
    message = f"{len(refused)} of {wanted} partitions were refused: {refused[0].message}"
    return Answer(AnswerStatus.UNKNOWN, refused[0].code, message)


def _refused(before: Snapshot, replicas: tuple[int, ...]) -> Answer | None:
    known = before.racks if before.racks is not None else before.broker.broker_ids
    if not replicas or len(set(replicas)) < len(replicas):
        return failed("INVALID_REPLICA_ASSIGNMENT", "The manual partition assignment is empty or names a broker twice.")
    if known is not None and not {*replicas} <= {*known}:
        message = "The manual partition assignment includes a broker, but no such broker is registered."
        return failed("INVALID_REPLICA_ASSIGNMENT", message)
    return None


def placed(broker: BrokerFacts, topic: Topic) -> Topic | Answer:
    """The topic with the broker's defaults filled in, or why Kafka refuses its numbers or its assignment."""
    if topic.replica_assignments is not None:
        return _assigned(broker, topic, topic.replica_assignments)
    partitions = broker.default_partitions if topic.num_partitions is None else topic.num_partitions
    replicas = broker.default_replication_factor if topic.replication_factor is None else topic.replication_factor
    if replicas < 1:
        return failed("INVALID_REPLICATION_FACTOR", "Replication factor was set to an invalid non-positive value.")
    if partitions < 1:
        return failed("INVALID_PARTITIONS", "Number of partitions was set to an invalid non-positive value.")
    if broker.broker_ids is not None and replicas > len(broker.broker_ids):
        return failed(
            "INVALID_REPLICATION_FACTOR",
            f"Unable to replicate the partition {replicas} time(s): The target replication factor of {replicas} "
            f"cannot be reached because only {len(broker.broker_ids)} broker(s) are registered.",
        )
    return replace(topic, num_partitions=partitions, replication_factor=replicas)


def _assigned(broker: BrokerFacts, topic: Topic, assignments: tuple[tuple[int, ...], ...]) -> Topic | Answer:
    lengths = {len(set(replicas)) for replicas in assignments}
    if len(lengths) != 1 or 0 in lengths or any(len(set(ids)) != len(ids) for ids in assignments):
        message = "Each partition of a manual assignment has the same number of different replicas, at least one."
        return failed("INVALID_REPLICA_ASSIGNMENT", message)
    if broker.broker_ids is not None and not frozenset(broker.broker_ids).issuperset(chain(*assignments)):
        return failed("INVALID_REPLICA_ASSIGNMENT", "The manual assignment names a broker that is not registered.")
    replicas = lengths.pop()
    if topic.num_partitions not in (None, len(assignments)) or topic.replication_factor not in (None, replicas):
        return failed("INVALID_REQUEST", "The counts do not agree with the manual assignment.")
    return replace(topic, num_partitions=len(assignments), replication_factor=replicas)
