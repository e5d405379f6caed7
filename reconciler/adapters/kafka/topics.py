"""Reads topics and what is set on them; what was refused is named with its reason, never left out.

A listing of all names is only the start: ``visibility`` says whether it can be whole.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

from confluent_kafka import TopicCollection
from confluent_kafka.admin import (
    ConfigResource,
    ConfigSource,
    ResourceType,
    TopicDescription,
)

from reconciler.adapters.kafka import codes
from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.codes import ClientFailure
from reconciler.model import Topic

#: The client matches results to resources in quadratic time, and holds every default of every topic.
_CONFIGS_AT_ONCE: Final = 500
_GROUPS_AT_ONCE: Final = 2
_TOPICS_AT_ONCE: Final = 2_000
_SET_ON_TOPIC: Final = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
_NOT_AUTHORISED: Final = {
    "describe": "not authorized to describe this topic",
    "configs": "not authorized to read this topic's settings (DESCRIBE_CONFIGS)",
}


@dataclass(slots=True)
class TopicReadResult:
    """Topics by name, the names whose state was refused, with the reason, and what settings are where nobody says."""

    topics: dict[str, Topic] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)


def visible_names(connection: AdminConnection) -> list[str]:
    """The names that a listing of all topics shows us; raises :class:`ClusterError`."""
    timeout = connection.settings.request_timeout
    with ThreadPoolExecutor(1) as pool:  # the client's one call that blocks, while its callbacks want serving
        return sorted(connection.read(lambda: pool.submit(connection.admin.list_topics, timeout=timeout)).topics)


def read_topics(connection: AdminConnection, names: Collection[str]) -> TopicReadResult:
    """The named topics as they are; one that does not exist is in neither part.

    Raises :class:`ClusterError` if a whole request failed.
    """
    read = TopicReadResult()
    for group in _groups(sorted(set(names)), _TOPICS_AT_ONCE):
        for name, described in _ask_each(connection, group, _describe(connection)).items():
            if not isinstance(described, ClientFailure):
                read.topics[name] = _topic(described)
            elif described.code != codes.UNKNOWN_TOPIC:
                read.unreadable[name] = _reason(described, "describe")
    _add_configs(connection, read)
    return read


def is_unknown(connection: AdminConnection, name: str) -> bool:
    """Whether the broker says of ``name`` that there is no such topic, and not that we may not know."""
    answer = _ask_each(connection, [name], _describe(connection))[name]
    return isinstance(answer, ClientFailure) and answer.code == codes.UNKNOWN_TOPIC


def _describe(connection: AdminConnection) -> Callable[[Sequence[str]], Mapping[str, "Future[Any]"]]:
    timeout = connection.settings.request_timeout
    return lambda names: connection.admin.describe_topics(TopicCollection(list(names)), request_timeout=timeout)


def _add_configs(connection: AdminConnection, read: TopicReadResult) -> None:
    """Puts what is set on each topic beside it; a topic whose settings are refused is unreadable."""
    groups = list(_groups(sorted(read.topics), _CONFIGS_AT_ONCE))
    pool = ThreadPoolExecutor(_GROUPS_AT_ONCE)  # the broker answers one group while the client unpacks another
    try:
        for answered, defaults in pool.map(lambda group: _own_configs(connection, group), groups):
            read.defaults.update(defaults)
            for name, configs in answered.items():
                topic = read.topics.pop(name)
                if not isinstance(configs, ClientFailure):
                    _put(read, topic, configs)
                elif configs.code != codes.UNKNOWN_TOPIC:
                    read.unreadable[name] = _reason(configs, "configs")
    finally:
        pool.shutdown(cancel_futures=True)


def _own_configs(
    connection: AdminConnection, names: Sequence[str]
) -> tuple[dict[str, dict[str, str | None] | ClientFailure], dict[str, str]]:
    """What is set on each topic itself, and what the first one has by default.

    Of the client's objects, which hold every default of every topic, nothing is kept.
    """
    timeout = connection.settings.request_timeout

    def ask(asked: Sequence[str]) -> Mapping[str, "Future[Any]"]:
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in asked]
        futures = connection.admin.describe_configs(resources, request_timeout=timeout)
        return {resource.name: future for resource, future in futures.items()}

    answers = _ask_each(connection, names, ask)
    told: list[Mapping[str, Any]] = [answer for answer in answers.values() if not isinstance(answer, ClientFailure)]
    own: dict[str, dict[str, str | None] | ClientFailure] = {
        name: answer
        if isinstance(answer, ClientFailure)
        else {entry.name: entry.value for entry in answer.values() if entry.source == _SET_ON_TOPIC}
        for name, answer in answers.items()
    }
    return own, dict(_defaults(told[0].values() if told else ()))


def _defaults(entries: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """The value that each setting of a topic has, or would have, if it were not set on the topic."""
    for entry in entries:
        known = [entry, *entry.synonyms.values()]
        value = next((item.value for item in known if item.source != _SET_ON_TOPIC), None)
        if value is not None:
            yield entry.name, value


def _topic_id(described: TopicDescription) -> str | None:
    """As Kafka prints it (``Uuid.toString``: URL-safe base64); librdkafka uses the other alphabet."""
    text = str(described.topic_id).replace("+", "-").replace("/", "_")
    return None if text.strip("A") == "" else text


def _put(read: TopicReadResult, topic: Topic, configs: Mapping[str, str | None]) -> None:
    known = {key: value for key, value in configs.items() if value is not None}
    if len(known) < len(configs):
        read.unreadable[topic.name] = "the broker hides the value of a setting (it is sensitive)"
    else:
        read.topics[topic.name] = replace(topic, configs=known)


def _ask_each(
    connection: AdminConnection, names: Sequence[str], ask: Callable[[Sequence[str]], Mapping[str, "Future[Any]"]]
) -> dict[str, Any]:
    """One request for all of ``names``: what was answered for each, a :class:`ClientFailure` where it was refused.

    Asked again where that may help; raises :class:`ClusterError` for what no broker answered.
    """
    answers: dict[str, Any] = {}
    for name, outcome in connection.read_each(names, ask).items():
        if isinstance(outcome, ClientFailure) and outcome.code < codes.UNKNOWN_SERVER_ERROR:
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


def _reason(failed: ClientFailure, what: str) -> str:
    if failed.code == codes.TOPIC_AUTHORIZATION_FAILED:
        return _NOT_AUTHORISED[what]
    return f"{failed.name}: {failed.message}"


def _groups(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (names[start : start + size] for start in range(0, len(names), size))
