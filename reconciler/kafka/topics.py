"""Read topics and their configs, how topics are used, and configs of brokers with what they show of the vendor.

A refused topic is reported with the reason, never left out. ``topic_listing_check`` says whether a listing of all names
is complete. Use is size on disk, records, newest timestamp and groups, as far as we may read them: reviewers see it
next to a deletion. Nothing depends on it, so what cannot be read of it is a gap and not an error.
"""

import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from itertools import chain
from threading import Thread
from typing import Any, Final, NamedTuple, TypeAlias

from confluent_kafka import ConsumerGroupTopicPartitions, TopicCollection, TopicPartition
from confluent_kafka.admin import ConfigEntry, ConfigResource, ConfigSource, OffsetSpec, ResourceType, TopicDescription

from reconciler.dataclass import dataclass
from reconciler.kafka.client import AdminConnection
from reconciler.kafka.errors import (
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_SERVER_ERROR,
    UNKNOWN_TOPIC,
    ClientFailure,
    failure,
)
from reconciler.kafka.listing import asking, features, log_dir_sizes, no_messages
from reconciler.model.flavor import CLASS_NAME, may_tell
from reconciler.model.state import BrokerConfig, BrokerSettings, ConfigOrigin
from reconciler.model.topic import Topic, TopicUse
from reconciler.ports import ClusterError

_ORIGINS: Final = {
    ConfigSource.DYNAMIC_BROKER_CONFIG.value: ConfigOrigin.BROKER,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value: ConfigOrigin.CLUSTER,
    ConfigSource.STATIC_BROKER_CONFIG.value: ConfigOrigin.FILE,
    ConfigSource.DEFAULT_CONFIG.value: ConfigOrigin.DEFAULT,
}

#: A broker that hangs is told as silent, and is not waited for as long as a reading on which a plan depends.
_PATIENCE_SECONDS: Final = 10.0


def broker_settings(
    connection: AdminConnection, brokers: Collection[int], configs: Collection[str], *, with_features: bool
) -> BrokerSettings:
    """What each of ``brokers`` says of ``configs``: it needs DESCRIBE_CONFIGS on CLUSTER; features need no right.

    Never raises: what is not told is said. A broker answers for itself alone, so each gets a request of its own.
    """
    by_broker = dict[int, dict[str, BrokerConfig]]()
    silent = dict[int, str]()
    if configs:
        resources = {str(broker): ConfigResource(ResourceType.BROKER, str(broker)) for broker in brokers}
        timeout = min(connection.settings.request_timeout, _PATIENCE_SECONDS)

        def ask(names: Sequence[str]) -> Mapping[str, Future[dict[str, ConfigEntry]]]:
            asked = [connection.admin.describe_configs([resources[item]], request_timeout=timeout) for item in names]
            return {item: futures[resources[item]] for item, futures in zip(names, asked, strict=True)}

        for broker, entries in connection.read_each(list(resources), ask).items():
            if isinstance(entries, ClientFailure):
                silent[int(broker)] = f"{entries.name}: {entries.message}"
            else:
                by_broker[int(broker)] = {name: _config(entries[name]) for name in configs if name in entries}
    read = features(connection.settings) if with_features else None
    gap = ""
    if with_features and read is None:
        why = no_messages(connection.settings) or "could not read them"
        gap = f"the features of the cluster are read by kafka-python, which {why}"
    return BrokerSettings(by_broker, silent, read, gap)


def _config(entry: ConfigEntry) -> BrokerConfig:
    """A config; brokers hide passwords, and all that a plug-in has (``ConfigHelper.createBrokerConfigEntry``)."""
    hidden = entry.value is None and bool(entry.is_sensitive)
    source: Any = getattr(entry.source, "value", entry.source)  # a code that the client does not know is a number
    return BrokerConfig(entry.value, _ORIGINS.get(source, ConfigOrigin.UNKNOWN), hidden)


# What a broker's configs tell of the make of its cluster and of its authorizer.

#: A broker that is silent for so long is left for another one.
_CONFIG_PATIENCE_SECONDS: Final = 5.0
_MOST_ASKED: Final = 3


def broker_configs(connection: AdminConnection, brokers: Collection[int]) -> dict[str, str | None]:
    """The telling configs of one broker; empty where :func:`configs_of_one` is.

    Brokers hide values of configs whose type they do not know, such as a plug-in's; their names show all the same
    (``ConfigHelper.createBrokerConfigEntry``).
    """
    configs = configs_of_one(connection, brokers)
    return {name: entry.value for name, entry in configs.items() if name == CLASS_NAME or may_tell(name)}


def configs_of_one(connection: AdminConnection, brokers: Collection[int]) -> Mapping[str, ConfigEntry]:
    """The configs of the first broker that answers, by id; empty if it refuses or a few in a row are silent.

    It needs DESCRIBE_CONFIGS on CLUSTER.
    """
    timeout = min(connection.settings.request_timeout, _CONFIG_PATIENCE_SECONDS)
    for broker in sorted(brokers)[:_MOST_ASKED]:
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        asked: Future[dict[str, ConfigEntry]]
        asked = connection.admin.describe_configs([resource], request_timeout=timeout)[resource]
        configs = connection.outcome(asked)
        if not isinstance(configs, ClientFailure):
            return configs
        if not configs.unanswered:
            break
    return {}


#: The client matches results to resources in quadratic time, and keeps every default of every topic in memory.
_CONFIGS_AT_ONCE: Final = 500
_GROUPS_AT_ONCE: Final = 2
_TOPICS_AT_ONCE: Final = 2_000
#: From so many topics on a process of its own that reads their configs is worth its start.
MANY: Final = 1_000
#: Every other source is a broker's or Kafka's own value, which moves without anybody touching the topic.
_SET_ON_TOPIC: Final = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
_NOT_AUTHORISED: Final = {
    "describe": "not authorized to describe this topic",
    "configs": "not authorized to read this topic's configs (DESCRIBE_CONFIGS)",
}

#: The configs that are set on each topic, or why they are not told.
_ConfigsByTopic: TypeAlias = Mapping[str, Mapping[str, str | None] | ClientFailure]


@dataclass(slots=True)
class TopicReadResult:
    """Topics by name, unreadable topics with the reason, default configs, and topics with replicas out of sync."""

    topics: dict[str, Topic] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    under_replicated: set[str] = field(default_factory=set)


def visible_names(connection: AdminConnection) -> list[str]:
    """The names that a listing of all topics shows us; raises :class:`ClusterError`."""
    timeout = connection.settings.request_timeout
    return sorted(connection.read(lambda: _begun(partial(connection.admin.list_topics, timeout=timeout))).topics)


def _begun(call: Callable[[], Any]) -> Future[Any]:
    """The only call that blocks, in a thread that nobody waits for: the client's callbacks need polling meanwhile."""
    future: Future[Any] = Future()

    def answer() -> None:
        try:
            future.set_result(call())
        except Exception as error:
            future.set_exception(error)

    Thread(target=answer, daemon=True).start()
    return future


def read_topics(connection: AdminConnection, names: Collection[str]) -> TopicReadResult:
    """The named topics; one that does not exist is in neither part of the result.

    Raises :class:`ClusterError` if a whole request failed.
    """
    read, wanted = TopicReadResult(), sorted(set(names))
    with _configs_by_messages(connection, wanted) as configs:
        for group in _groups(wanted, _TOPICS_AT_ONCE):
            for name, described in _ask_each(connection, group, _describe(connection)).items():
                if not isinstance(described, ClientFailure):
                    read.topics[name] = _topic(described)
                    if any(len(partition.isr) < len(partition.replicas) for partition in described.partitions):
                        read.under_replicated.add(name)
                elif described.code != UNKNOWN_TOPIC:
                    read.unreadable[name] = _reason(described, "describe")
        _add_configs(connection, read, *configs())
    return read


def is_unknown(connection: AdminConnection, name: str) -> bool:
    """Whether the broker reports ``name`` as unknown, and not as refused."""
    answer = _ask_each(connection, [name], _describe(connection))[name]
    return isinstance(answer, ClientFailure) and answer.code == UNKNOWN_TOPIC


def _describe(connection: AdminConnection) -> Callable[[Sequence[str]], Mapping[str, Future[Any]]]:
    timeout = connection.settings.request_timeout
    return lambda names: connection.admin.describe_topics(TopicCollection(list(names)), request_timeout=timeout)


def _add_configs(
    connection: AdminConnection, read: TopicReadResult, own_configs: _ConfigsByTopic, defaults: Mapping[str, str]
) -> None:
    """Add the configs of each topic, asked for if they are not in ``own_configs``; a refused one is unreadable."""
    names = sorted(read.topics.keys() - own_configs.keys())
    _take(read, {name: own_configs[name] for name in sorted(read.topics.keys() & own_configs.keys())}, defaults)
    groups = list(_groups(names, _CONFIGS_AT_ONCE))
    pool = ThreadPoolExecutor(_GROUPS_AT_ONCE)  # the broker answers one group while the client decodes another
    try:
        for answers in pool.map(lambda group: _own_configs(connection, group), groups):
            _take(read, *answers)
    finally:
        pool.shutdown(cancel_futures=True)


def _take(read: TopicReadResult, answered: _ConfigsByTopic, defaults: Mapping[str, str]) -> None:
    read.defaults.update(defaults)
    for name, configs in answered.items():
        topic = read.topics.pop(name)
        # Unknown by now: deleted between the two requests, so it is neither there nor unreadable.
        if not isinstance(configs, ClientFailure):
            _put(read, topic, configs)
        elif configs.code != UNKNOWN_TOPIC:
            read.unreadable[name] = _reason(configs, "configs")


@contextmanager
def _configs_by_messages(
    connection: AdminConnection, names: Sequence[str]
) -> Iterator[Callable[[], tuple[_ConfigsByTopic, Mapping[str, str]]]]:
    """What :func:`_own_configs` tells, in a tenth of the time and while the topics are described.

    What the message client cannot read, and topics that may be asked about again, are left out.
    """
    if len(names) < MANY:
        yield lambda: ({}, {})
        return
    with asking(connection.settings, "config.own", names=list(names)) as reply:
        yield lambda: _usable_reply(connection, names, reply())


def _usable_reply(
    connection: AdminConnection, names: Sequence[str], reply: tuple[Any, ...] | None
) -> tuple[_ConfigsByTopic, Mapping[str, str]]:
    match reply:
        case ("configs", replies, defaults) if replies.keys() == set(names):
            answers: _ConfigsByTopic = {
                name: failure(answer[0], answer[1], connection.settings.redact(answer[2]))
                if isinstance(answer, tuple)
                else answer
                for name, answer in replies.items()
            }
            return {name: answer for name, answer in answers.items() if not _worth_asking_again(answer)}, dict(defaults)
    return {}, {}


def _worth_asking_again(answer: object) -> bool:
    return isinstance(answer, ClientFailure) and answer.worth_reading_again


def _own_configs(
    connection: AdminConnection, names: Sequence[str]
) -> tuple[dict[str, dict[str, str | None] | ClientFailure], dict[str, str]]:
    """The configs set on each topic, and the defaults of the first one.

    The client's objects hold every default of every topic, so none of them is kept.
    """
    timeout = connection.settings.request_timeout

    def ask(asked: Sequence[str]) -> Mapping[str, Future[Any]]:
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in asked]
        futures = connection.admin.describe_configs(resources, request_timeout=timeout)
        return {resource.name: future for resource, future in futures.items()}

    answers = _ask_each(connection, names, ask)
    described: list[Mapping[str, Any]] = [
        answer for answer in answers.values() if not isinstance(answer, ClientFailure)
    ]
    own: dict[str, dict[str, str | None] | ClientFailure] = {
        name: answer
        if isinstance(answer, ClientFailure)
        else {entry.name: entry.value for entry in answer.values() if entry.source == _SET_ON_TOPIC}
        for name, answer in answers.items()
    }
    return own, dict(_defaults(described[0].values() if described else ()))


def _defaults(entries: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """The value that each config would have without a value on the topic."""
    for entry in entries:
        candidates = [entry, *entry.synonyms.values()]
        value = next((item.value for item in candidates if item.source != _SET_ON_TOPIC), None)
        if value is not None:
            yield entry.name, value


def _topic_id(described: TopicDescription) -> str | None:
    """As Kafka prints it (``Uuid.toString``: URL-safe base64); librdkafka uses the other alphabet."""
    text = str(described.topic_id).replace("+", "-").replace("/", "_")
    return None if text.strip("A") == "" else text


def _put(read: TopicReadResult, topic: Topic, configs: Mapping[str, str | None]) -> None:
    visible = {key: value for key, value in configs.items() if value is not None}
    # A hidden value may be the declared one or not: without it, equal and different would be guesses.
    if len(visible) < len(configs):
        read.unreadable[topic.name] = "the broker hides the value of a sensitive config"
    else:
        read.topics[topic.name] = topic.with_configs(visible)


def _ask_each(
    connection: AdminConnection, names: Sequence[str], ask: Callable[[Sequence[str]], Mapping[str, Future[Any]]]
) -> dict[str, Any]:
    """One request for all of ``names``: the answer for each, a :class:`ClientFailure` if it was refused.

    Retried if that may help; raises :class:`ClusterError` for failures that no broker caused.
    """
    answers: dict[str, Any] = {}
    for name, outcome in connection.read_each(names, ask).items():
        # librdkafka's own code: no broker said anything of this topic, so the reading failed and not the topic.
        if isinstance(outcome, ClientFailure) and outcome.code < UNKNOWN_SERVER_ERROR:
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
    if failed.code == TOPIC_AUTHORIZATION_FAILED:
        return _NOT_AUTHORISED[what]
    return f"{failed.name}: {failed.message}"


def _groups(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (names[start : start + size] for start in range(0, len(names), size))


# The brokers' defaults of new topics: partitions, replication factor, automatic creation.

_NAMES: Final = (
    "auto.create.topics.enable",
    "default.replication.factor",
    "errors.deadletterqueue.auto.create.topics.enable",
    "errors.deadletterqueue.topic.name.prefix",
    "num.partitions",
)


def broker_defaults(connection: AdminConnection, brokers: Collection[int]) -> dict[str, str]:
    """The defaults of one broker; empty if it refuses (it needs DESCRIBE_CONFIGS on CLUSTER) or none answers."""
    configs = configs_of_one(connection, brokers)
    values = ((name, configs[name].value) for name in _NAMES if name in configs)
    return {name: value for name, value in values if value is not None}


#: Beyond these limits nothing is read: a review can do without it, and it would load the brokers.
MAX_TOPICS: Final = 200
MAX_GROUPS: Final = 500
#: A review can do without what a broker that has died would tell.
_USES_PATIENCE_SECONDS: Final = 12.0
_NO_TIMESTAMP: Final = -1
_OFFSETS: Final[Any] = OffsetSpec  # the client does not type its factories
_SPECS: Final = (_OFFSETS.earliest(), _OFFSETS.latest(), _OFFSETS.max_timestamp())


class _Offsets(NamedTuple):
    """First offset, end offset and newest timestamp (milliseconds, -1 without records) of one partition."""

    first: int
    end: int
    newest: int


def topic_uses(connection: AdminConnection, names: Collection[str]) -> dict[str, TopicUse]:
    """A use for each name."""
    wanted = sorted(names)
    if len(wanted) > MAX_TOPICS:
        gap = f"more than {MAX_TOPICS} topics are deleted: their use was not read"
        return {name: TopicUse(gaps=(gap,)) for name in wanted}
    partitions, unknown = _partitions(connection, wanted)
    offsets = {**unknown, **_offsets(connection, partitions)}
    sizes = log_dir_sizes(connection.settings, partitions) if partitions else {}
    groups = _groups_of_uses(connection)
    return {name: _use(name, offsets[name], groups, sizes) for name in wanted}


def _use(
    name: str, offsets: Sequence[_Offsets] | str, groups: Mapping[str, set[str]] | str, sizes: Mapping[str, int] | str
) -> TopicUse:
    gaps = tuple(
        f"{what}: {gap}"
        for what, gap in (("size", sizes), ("records", offsets), ("groups", groups))
        if isinstance(gap, str)
    )
    read_offsets = () if isinstance(offsets, str) else offsets
    newest = max((item.newest for item in read_offsets), default=_NO_TIMESTAMP)
    return TopicUse(
        size_bytes=None if isinstance(sizes, str) else sizes.get(name),
        records=None if isinstance(offsets, str) else sum(offset.end - offset.first for offset in offsets),
        last_write=None if isinstance(offsets, str) else _timestamp(newest),
        groups=None if isinstance(groups, str) else tuple(sorted(groups.get(name, ()))),
        gaps=gaps,
        written=None if isinstance(offsets, str) else sum(offset.end for offset in offsets),
    )


def _timestamp(milliseconds: int) -> str:
    if milliseconds == _NO_TIMESTAMP:
        return ""
    try:
        return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError):  # a producer may write any number
        return f"{milliseconds} ms since 1970"


def _partitions(connection: AdminConnection, names: Sequence[str]) -> tuple[dict[str, list[int]], dict[str, str]]:
    """The partitions of each topic, and the reason for topics that could not be described."""

    def ask(asked: Sequence[str]) -> Mapping[str, Future[TopicDescription]]:
        pending: Mapping[str, Future[TopicDescription]] = connection.admin.describe_topics(
            TopicCollection(list(asked)), request_timeout=_timeout(connection)
        )
        return pending

    topics = connection.read_each(names, ask)
    return (
        {
            name: [partition.id for partition in it.partitions]
            for name, it in topics.items()
            if not isinstance(it, ClientFailure)
        },
        {name: it.message for name, it in topics.items() if isinstance(it, ClientFailure)},
    )


def _offsets(connection: AdminConnection, partitions: Mapping[str, Sequence[int]]) -> dict[str, list[_Offsets] | str]:
    """The offsets of each topic's partitions, or why they could not be read."""
    asked = [_list_offsets(connection, partitions, spec) for spec in _SPECS]
    by_topic: dict[str, list[_Offsets] | str] = {}
    for name, ids in partitions.items():
        answers = [[by_partition[name, number] for by_partition in asked] for number in ids]
        failed = next((item for item in chain.from_iterable(answers) if isinstance(item, ClientFailure)), None)
        by_topic[name] = failed.message if failed else [_partition(*answer) for answer in answers]
    return by_topic


def _list_offsets(
    connection: AdminConnection, partitions: Mapping[str, Iterable[int]], spec: OffsetSpec
) -> dict[tuple[str, int], Any]:
    places = [(name, number) for name, ids in partitions.items() for number in ids]

    def ask(asked: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], Future[Any]]:
        wanted = {TopicPartition(*place): spec for place in asked}
        futures = connection.admin.list_offsets(wanted, request_timeout=_timeout(connection))
        return {(item.topic, item.partition): future for item, future in futures.items()}

    return connection.read_each(places, ask) if places else {}


def _committed(connection: AdminConnection, asked: list[ConsumerGroupTopicPartitions]) -> Future[Any]:
    futures = connection.admin.list_consumer_group_offsets(asked, request_timeout=_timeout(connection))
    (future,) = futures.values()
    return future


def _timeout(connection: AdminConnection) -> float:
    return min(connection.settings.request_timeout, _USES_PATIENCE_SECONDS)


def _partition(first: Any, end: Any, newest: Any) -> _Offsets:
    return _Offsets(first.offset, end.offset, newest.timestamp)


def _groups_of_uses(connection: AdminConnection) -> dict[str, set[str]] | str:
    """The groups with committed offsets in each topic, or why they are unknown."""
    timeout = _timeout(connection)
    try:
        listed = connection.read(lambda: connection.admin.list_consumer_groups(request_timeout=timeout))
    except ClusterError as error:
        return error.message
    ids = sorted(group.group_id for group in listed.valid)
    # A broker that failed may coordinate a group that uses the topic, so a partial answer is none.
    if listed.errors:
        return "a broker did not list its groups"
    if len(ids) > MAX_GROUPS:
        return f"there are {len(ids):,} groups, too many to read"
    by_topic: dict[str, set[str]] = {}
    for group in ids:
        # The client accepts only one group in each call.
        asked = [ConsumerGroupTopicPartitions(group)]
        try:
            committed = connection.read(partial(_committed, connection, asked))
        except ClusterError as error:
            return f"group {group}: {error.message}"
        for partition in committed.topic_partitions:
            by_topic.setdefault(partition.topic, set()).add(group)
    return by_topic
