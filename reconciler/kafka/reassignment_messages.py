"""Replicas and their reassignment by kafka-python's messages: confluent-kafka has none for them (KIP-455, KIP-113)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    DescribeLogDirsRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.metadata import MetadataRequest

from reconciler.dataclass import dataclass
from reconciler.kafka.raw_messages import Question, outcome, read, refused, run
from reconciler.kafka.reader_process import Reply, Task

_UNKNOWN_TOPIC: Final = 3
#: How long the controller may take to accept a reassignment; it does not wait for the move.
_ACCEPT_MS: Final = 30_000


def _layout(client: KafkaAdminClient, task: Task) -> Reply:
    """The brokers with racks, and the partitions of ``topics``: replicas, those in sync, sizes, what is moving.

    Also the brokers all of whose log directories are cordoned (KIP-1066; brokers before 4.3 tell of none).

    ``topics`` may be ``None``: those of which anything is moving.

    In this order: a reassignment that ends in between is still told as unfinished, never its last replicas as lasting.
    """
    # All of them: a topic that was deleted meanwhile would refuse a request that names it.
    listed = read(client, ListPartitionReassignmentsRequest(timeout_ms=_ACCEPT_MS, topics=None))
    if listed.error_code:
        return refused(listed)
    moving = {
        (topic.name, partition.partition_index): (list(partition.adding_replicas), list(partition.removing_replicas))
        for topic in listed.topics or ()
        for partition in topic.partitions
    }
    topic = MetadataRequest.MetadataRequestTopic
    names = sorted({name for name, _ in moving}) if task["topics"] is None else task["topics"]
    described = read(
        client, MetadataRequest(topics=[topic(name=name) for name in names], allow_auto_topic_creation=False)
    )
    racks = {broker.node_id: broker.rack for broker in described.brokers}
    topics: dict[str, list[Any]] = {}
    for item in described.topics:
        if item.error_code == _UNKNOWN_TOPIC:
            continue
        if item.error_code:
            return refused(item)
        topics[item.name] = sorted(item.partitions, key=lambda part: part.partition_index)
        if [part.partition_index for part in topics[item.name]] != list(range(len(topics[item.name]))):
            return ("failed", f"the broker did not tell every partition of topic {item.name}")
    directories = _log_dirs(client, sorted(racks), {name: len(parts) for name, parts in topics.items()})
    if isinstance(directories, tuple):
        return directories
    partitions = {
        name: [
            (list(part.replica_nodes), _in_sync(part, directories.silent), *moving.get((name, number), ([], [])))
            for number, part in enumerate(parts)
        ]
        for name, parts in topics.items()
    }
    return ("layout", racks, partitions, directories.sizes, directories.cordoned)


def _in_sync(part: Any, silent: Collection[int]) -> list[int]:
    """Without those that nothing can be copied from: controllers leave the last one in the ISR when it goes offline."""
    offline = getattr(part, "offline_replicas", None) or ()  # brokers tell of them since Kafka 1.0
    return [broker for broker in part.isr_nodes if broker not in offline and broker not in silent]


@dataclass(slots=True)
class _LogDirs:
    """Topic, partition, broker and bytes of each replica; the brokers all of whose directories are cordoned.

    ``silent`` are those that did not answer.
    """

    sizes: list[tuple[str, int, int, int]] = field(default_factory=list)
    cordoned: list[int] = field(default_factory=list)
    silent: list[int] = field(default_factory=list)


def _log_dirs(client: KafkaAdminClient, brokers: Sequence[int], topics: Mapping[str, int]) -> _LogDirs | Reply:
    """What the brokers tell of their directories; one that is gone tells nothing, and without topics none need tell."""
    wanted = DescribeLogDirsRequest.DescribableLogDirTopic
    log_dirs = _LogDirs()
    for broker in brokers:
        request = DescribeLogDirsRequest(
            topics=[wanted(topic=name, partitions=list(range(count))) for name, count in topics.items()]
        )
        try:
            answer = read(client, request, broker)
        except errors.KafkaError:
            log_dirs.silent.append(broker)
            continue
        directories = [result for result in answer.results if not result.error_code]
        if not directories and topics:
            return (
                "failed",
                f"broker {broker} does not tell the sizes of replicas: is DESCRIBE on the cluster missing?",
            )
        if directories and all(getattr(directory, "is_cordoned", False) for directory in directories):
            log_dirs.cordoned.append(broker)
        log_dirs.sizes += [
            (topic.name, partition.partition_index, broker, partition.partition_size)
            for directory in directories
            for topic in directory.topics
            for partition in topic.partitions
            if not partition.is_future_key
        ]
    return log_dirs


def _altered(client: KafkaAdminClient, task: Task) -> Reply:
    """``alterations`` are topics with the replicas of some partitions, by number.

    ``None`` for replicas cancels what is moving there.
    """
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=_ACCEPT_MS,
        topics=[
            topic(
                name=name,
                partitions=[
                    topic.ReassignablePartition(partition_index=number, replicas=replicas) for number, replicas in parts
                ],
            )
            for name, parts in task["alterations"]
        ],
    )
    answer = run(client, request)
    if answer.error_code:
        return refused(answer)
    outcomes = [
        (response.name, part.partition_index, *outcome(part))
        for response in answer.responses
        for part in response.partitions
    ]
    return ("altered", outcomes)


#: Where replicas are and which are moving, and the outcome of each partition's reassignment.
QUESTIONS: Final[Mapping[str, Question]] = {
    "layout": Question(_layout),
    "altered": Question(_altered, writes=True),
}
