"""How topics are used: size on disk, records, newest timestamp and groups, as far as we may read them.

Reviewers see this next to a deletion. Nothing depends on it, so what cannot be read is a gap and not an error.
"""

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple

from confluent_kafka import ConsumerGroupTopicPartitions, TopicCollection, TopicPartition
from confluent_kafka.admin import OffsetSpec, TopicDescription

from reconciler.kafka.client import AdminConnection
from reconciler.kafka.errors import ClientFailure
from reconciler.kafka.listing import log_dir_sizes
from reconciler.model.topic import TopicUse
from reconciler.ports import ClusterError

#: Beyond these limits nothing is read: a review can do without it, and it would load the brokers.
MAX_TOPICS: Final = 200
MAX_GROUPS: Final = 500
#: A review can do without what a broker that has died would tell.
_PATIENCE_SECONDS: Final = 12.0
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
    groups = _groups(connection)
    return {name: _use(name, offsets[name], groups, sizes) for name in wanted}


def _use(
    name: str, offsets: Sequence[_Offsets] | str, groups: Mapping[str, set[str]] | str, sizes: Mapping[str, int] | str
) -> TopicUse:
    gaps = tuple(
        f"{what}: {found}"
        for what, found in (("size", sizes), ("records", offsets), ("groups", groups))
        if isinstance(found, str)
    )
    told = () if isinstance(offsets, str) else offsets
    newest = max((item.newest for item in told), default=_NO_TIMESTAMP)
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
        found: Mapping[str, Future[TopicDescription]] = connection.admin.describe_topics(
            TopicCollection(list(asked)), request_timeout=_timeout(connection)
        )
        return found

    told = connection.read_each(names, ask)
    return (
        {
            name: [partition.id for partition in it.partitions]
            for name, it in told.items()
            if not isinstance(it, ClientFailure)
        },
        {name: it.message for name, it in told.items() if isinstance(it, ClientFailure)},
    )


def _offsets(connection: AdminConnection, partitions: Mapping[str, Sequence[int]]) -> dict[str, list[_Offsets] | str]:
    """The offsets of each topic's partitions, or why they could not be read."""
    asked = [_list_offsets(connection, partitions, spec) for spec in _SPECS]
    found: dict[str, list[_Offsets] | str] = {}
    for name, ids in partitions.items():
        answers = [[by_partition[name, number] for by_partition in asked] for number in ids]
        failed = next((item for item in chain.from_iterable(answers) if isinstance(item, ClientFailure)), None)
        found[name] = failed.message if failed else [_partition(*answer) for answer in answers]
    return found


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
    return min(connection.settings.request_timeout, _PATIENCE_SECONDS)


def _partition(first: Any, end: Any, newest: Any) -> _Offsets:
    return _Offsets(first.offset, end.offset, newest.timestamp)


def _groups(connection: AdminConnection) -> dict[str, set[str]] | str:
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
    found: dict[str, set[str]] = {}
    for group in ids:
        # The client accepts only one group in each call.
        asked = [ConsumerGroupTopicPartitions(group)]
        try:
            told = connection.read(partial(_committed, connection, asked))
        except ClusterError as error:
            return f"group {group}: {error.message}"
        for partition in told.topic_partitions:
            found.setdefault(partition.topic, set()).add(group)
    return found
