"""Reads topics and what is set on them; what was refused is named with its reason, never left out.

A listing of all names is only the start: ``visibility`` says whether it can be whole.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

from confluent_kafka import TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # exported, but not by its type stubs
    ConfigResource,
    ConfigSource,
    ResourceType,
    TopicDescription,
)

from reconciler.adapters.kafka import codes
from reconciler.adapters.kafka.client import Connection
from reconciler.adapters.kafka.codes import Failure
from reconciler.model import Topic

#: The client matches results to resources in quadratic time, and holds every default of every topic.
_CONFIGS_AT_ONCE: Final = 500
_TOPICS_AT_ONCE: Final = 2_000
_SET_ON_TOPIC: Final = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
_NOT_AUTHORISED: Final = {
    "describe": "not authorised to describe this topic",
    "configs": "not authorised to read this topic's settings (DESCRIBE_CONFIGS)",
}


@dataclass(slots=True)
class TopicsRead:
    """Topics by name, and the names whose state was refused, with the reason."""

    topics: dict[str, Topic] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)


def visible_names(connection: Connection) -> list[str]:
    """The names that a listing of all topics shows us; raises :class:`ClusterError`."""
    timeout = connection.settings.request_timeout
    with ThreadPoolExecutor(1) as pool:  # the client's one call that blocks, while its callbacks want serving
        return sorted(connection.read(lambda: pool.submit(connection.admin.list_topics, timeout=timeout)).topics)


def read_topics(connection: Connection, names: Collection[str]) -> TopicsRead:
    """The named topics as they are; one that does not exist is in neither part.

    Raises :class:`ClusterError` if a whole request failed.
    """
    read = TopicsRead()
    for group in _groups(sorted(set(names)), _TOPICS_AT_ONCE):
        for name, described in _ask_each(connection, group, _describe(connection)).items():
            if not isinstance(described, Failure):
                read.topics[name] = _topic(described)
            elif described.code != codes.UNKNOWN_TOPIC:
                read.unreadable[name] = _reason(described, "describe")
    _add_configs(connection, read)
    return read


def is_unknown(connection: Connection, name: str) -> bool:
    """Whether the broker says of ``name`` that there is no such topic, and not that we may not know."""
    answer = _ask_each(connection, [name], _describe(connection))[name]
    return isinstance(answer, Failure) and answer.code == codes.UNKNOWN_TOPIC


def _describe(connection: Connection) -> Callable[[Sequence[str]], Mapping[str, "Future[Any]"]]:
    timeout = connection.settings.request_timeout
    return lambda names: connection.admin.describe_topics(TopicCollection(list(names)), request_timeout=timeout)


def _add_configs(connection: Connection, read: TopicsRead) -> None:
    """Puts what is set on each topic beside it; a topic whose settings are refused is unreadable."""
    timeout = connection.settings.request_timeout

    def ask(names: Sequence[str]) -> Mapping[str, "Future[Any]"]:
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        futures = connection.admin.describe_configs(resources, request_timeout=timeout)
        return {resource.name: future for resource, future in futures.items()}

    for group in _groups(sorted(read.topics), _CONFIGS_AT_ONCE):
        for name, entries in _ask_each(connection, group, ask).items():
            topic = read.topics.pop(name)
            if not isinstance(entries, Failure):
                _put(read, name, _with_configs(topic, entries))
            elif entries.code != codes.UNKNOWN_TOPIC:
                read.unreadable[name] = _reason(entries, "configs")


def _topic_id(described: TopicDescription) -> str | None:
    """As Kafka prints it (``Uuid.toString``: URL-safe base64); librdkafka uses the other alphabet."""
    text = str(described.topic_id).replace("+", "-").replace("/", "_")
    return None if text.strip("A") == "" else text


def _put(read: TopicsRead, name: str, topic: Topic | None) -> None:
    if topic is None:
        read.unreadable[name] = "the broker hides the value of a setting (it is sensitive)"
    else:
        read.topics[name] = topic


def _ask_each(
    connection: Connection, names: Sequence[str], ask: Callable[[Sequence[str]], Mapping[str, "Future[Any]"]]
) -> dict[str, Any]:
    """One request for all of ``names``: what was answered for each, a :class:`Failure` where it was refused.

    Asked again where that may help; raises :class:`ClusterError` for what a whole request met.
    """
    answers: dict[str, Any] = {}
    for name, outcome in connection.read_each(names, ask).items():
        if isinstance(outcome, Failure) and outcome.code < 0:
            raise connection.cluster_error(outcome)
        answers[name] = outcome
    return answers


def _topic(described: TopicDescription) -> Topic:
    partitions = sorted(described.partitions, key=lambda partition: partition.id)
    assignments = tuple(tuple(node.id for node in partition.replicas) for partition in partitions)
    return Topic(
        described.name,
        len(partitions),
        max(map(len, assignments), default=None),
        topic_id=_topic_id(described),
        replica_assignments=assignments,
    )


def _with_configs(topic: Topic, entries: Mapping[str, Any]) -> Topic | None:
    """The topic with what is set on it, or ``None`` if a broker hides a value that is set."""
    own = {entry.name: entry.value for entry in entries.values() if entry.source == _SET_ON_TOPIC}
    return None if None in own.values() else replace(topic, configs=own)


def _reason(failed: Failure, what: str) -> str:
    if failed.code == codes.TOPIC_AUTHORIZATION_FAILED:
        return _NOT_AUTHORISED[what]
    return f"{failed.name}: {failed.message}"


def _groups(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (names[start : start + size] for start in range(0, len(names), size))
