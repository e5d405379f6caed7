"""Values that the client cannot carry: it would raise, send something else, or lose the connection for all items.

Each function returns the reason, or ``None`` without a problem.
"""

from collections.abc import Mapping
from typing import Final

from reconciler.model import Topic, TopicPartitions

#: The longest string of Kafka's protocol, in UTF-8 (``MessageGenerator``: "string field … had invalid length").
LONGEST_TEXT: Final = 32_767
#: librdkafka's ``RD_KAFKAP_PARTITIONS_MAX`` and ``RD_KAFKAP_BROKERS_MAX``.
MOST_PARTITIONS: Final = 100_000
MOST_REPLICAS: Final = 10_000
_LARGEST_ID: Final = 2**31 - 1


def text_problem(*texts: str | None) -> str | None:
    """The client passes C strings on, so a NUL ends a text; a broker closes the connection on one that is too long."""
    for text in texts:
        if text is None:
            continue
        if "\0" in text:
            return "the Kafka client cannot carry a text with a NUL character in it"
        if len(text) > LONGEST_TEXT // 4 and len(text.encode("utf-8", "replace")) > LONGEST_TEXT:
            return f"no Kafka request can carry a text of more than {LONGEST_TEXT:,} bytes"
    return None


def topic_problem(topic: Topic) -> str | None:
    """The problem of a topic to create."""
    assignments = topic.replica_assignments
    return (
        _partitions_problem(len(assignments) if assignments is not None else _or_one(topic.num_partitions))
        or _replicas_problem(_or_one(topic.replication_factor))
        or _assignments_problem(assignments or ())
        or settings_problem(topic.configs)
    )


def increase_problem(added: TopicPartitions) -> str | None:
    """The problem of added partitions."""
    return _partitions_problem(added.count) or _assignments_problem(added.assignments or ())


def settings_problem(configs: Mapping[str, str | None]) -> str | None:
    """The problem of configs to set or reset."""
    if "" in configs:
        return "the Kafka client cannot carry a config without a name"
    return text_problem(*configs, *configs.values())


def _or_one(count: int | None) -> int:
    return 1 if count is None else count


def _partitions_problem(count: int) -> str | None:
    return None if 1 <= count <= MOST_PARTITIONS else f"the Kafka client carries 1 to {MOST_PARTITIONS:,} partitions"


def _replicas_problem(count: int) -> str | None:
    return None if 1 <= count <= MOST_REPLICAS else f"the Kafka client carries 1 to {MOST_REPLICAS:,} replicas"


def _assignments_problem(assignments: tuple[tuple[int, ...], ...]) -> str | None:
    if not all(assignments):
        return "the Kafka client cannot carry a partition without replicas"
    if any(not 0 <= broker <= _LARGEST_ID for replicas in assignments for broker in replicas):
        return f"the Kafka client cannot carry the id of a broker that is not from 0 to {_LARGEST_ID:,}"
    return None
