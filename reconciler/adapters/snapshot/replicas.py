"""Partitions and replicas of a new topic (``ReplicationControlManager.createTopic``)."""

from dataclasses import replace
from itertools import chain

from reconciler.adapters.snapshot.answers import failed
from reconciler.adapters.snapshot.broker import BrokerFacts
from reconciler.model import Topic
from reconciler.ports import Answer


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
