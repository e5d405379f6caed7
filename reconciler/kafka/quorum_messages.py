"""What the controllers say of themselves, in the message client's process: confluent-kafka has no request for it."""

from collections.abc import Mapping
from typing import Final

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import DescribeQuorumRequest

from reconciler.kafka.raw_messages import CONTROLLER_MS, Question, read, refused
from reconciler.kafka.reader_process import Reply, Task

_TIMES: Final = ("last_fetch_timestamp", "last_caught_up_timestamp")


def _time(client: KafkaAdminClient, _: Task) -> Reply:
    """The newest time that the active controller tells, in milliseconds, or -1.

    Of itself it tells its own time of now (KIP-836; ``LeaderState.describeReplicaState``), with any number of replicas.
    """
    topic = DescribeQuorumRequest.TopicData
    wanted = topic(topic_name="__cluster_metadata", partitions=[topic.PartitionData(partition_index=0)])
    try:
        found = read(client, DescribeQuorumRequest(topics=[wanted]), patience=CONTROLLER_MS)
    except errors.KafkaError as error:
        return ("failed", f"{type(error).__name__}: {error}")
    if found.error_code:
        return refused(found)
    told = [
        getattr(replica, name, -1)
        for topic in found.topics
        for partition in topic.partitions
        for replica in (*partition.current_voters, *partition.observers)
        for name in _TIMES
    ]
    return ("time", max(told, default=-1))


QUESTIONS: Final[Mapping[str, Question]] = {"time": Question(_time)}
