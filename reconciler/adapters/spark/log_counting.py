"""Logs of many clusters in Spark: scanned in map tasks, counted by cluster in one shuffle, asked a task a cluster.

What goes through the shuffle are different decisions with their counts, not lines. A task that is asked about a cluster
takes them one by one.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from pyspark import RDD, Broadcast, StorageLevel, cloudpickle
from pyspark.sql import SparkSession

from reconciler.adapters.spark.log_files import LogPart, line_batches
from reconciler.adapters.spark.tasks import reason, task_count
from reconciler.dataclass import dataclass
from reconciler.fleet import partition
from reconciler.fleet.usage import Event, EventCount, Scan, Summary, Window, summary_of
from reconciler.fleet.usage.counts import DatedCount

S = TypeVar("S")
R = TypeVar("R")
#: A scan hands on what it holds when it holds so many different decisions.
_MOST_HELD: Final = 100_000
#: The number of a cluster, and a decision; ``None`` for what is to be said of the reading itself.
_Key: TypeAlias = tuple[int, Event | None]
#: A decision and its :class:`EventCount`, or :class:`DatedCount` where days are kept; or ``None`` and a Summary.
Counted: TypeAlias = tuple[Event | None, Any]


class Days(NamedTuple):
    """Days with decisions of one cluster, each with whether something was permitted."""

    cluster_id: str
    days: frozenset[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class CountedLogs:
    """The decisions of clusters, by their numbers; they are counted when something is asked of them.

    ``nobody`` is the number for what lines of no known cluster came to.
    """

    session: SparkSession
    counted: "RDD[tuple[_Key, Any]]"
    nobody: int

    def ask(self, subjects: Sequence[S], work: Callable[[S, Iterable[Counted]], R]) -> tuple[list[R], Summary]:
        """What ``work`` makes of each cluster, a task each; and the summary of nobody's lines.

        ``subjects`` are the clusters in the order in which they were counted.
        """
        shared = self.session.sparkContext.broadcast([_pickled(subject) for subject in subjects])
        try:
            found = self.counted.mapPartitionsWithIndex(partial(_asked, shared=shared, work=work)).collect()
        finally:
            shared.unpersist()
        results = sorted((item for item in found if item[0] != self.nobody), key=operator.itemgetter(0))
        return [result for _, result in results], next((one for at, one in found if at == self.nobody), Summary())

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Count once while several things are asked, not for each of them again."""
        self.counted.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield
        finally:
            self.counted.unpersist()


def counted_logs(
    session: SparkSession,
    parts: Sequence[LogPart],
    clusters: Sequence[tuple[str, str]],
    window: Window,
    *,
    by_day: bool = False,
) -> CountedLogs:
    """The decisions in all parts, by cluster; ``clusters`` are names with ids, where these are known.

    ``by_day`` keeps the days of each decision.
    """
    numbers = {name: number for number, (name, _) in enumerate(clusters)}
    ids = {cluster_id: number for number, (_, cluster_id) in enumerate(clusters) if cluster_id}
    nobody = len(clusters)
    lists = partition(parts, [part.size for part in parts], task_count(session)) if parts else []
    scanned = session.sparkContext.parallelize(lists, max(1, len(lists))).mapPartitions(
        partial(_scan_all, window=window, by_day=by_day, numbers=numbers, ids=ids, nobody=nobody)
    )
    counted = scanned.reduceByKey(operator.add, numPartitions=nobody + 1, partitionFunc=operator.itemgetter(0))
    return CountedLogs(session, counted, nobody)


def trouble(error: Exception) -> str:
    """Why a cluster could not be judged, in a few words."""
    return f"{reason(error)}: {error}" if isinstance(error, OSError) else reason(error)


def _asked(
    number: int,
    counted: Iterable[tuple[_Key, Any]],
    *,
    shared: "Broadcast[list[bytes]]",
    work: Callable[[Any, Iterable[Counted]], Any],
) -> Iterator[tuple[int, Any]]:
    own = ((event, found) for (_, event), found in counted)
    if number == len(shared.value):
        yield number, sum((found for event, found in own if event is None), Summary())
        return
    yield number, work(cloudpickle.loads(shared.value[number]), own)


def _scan_all(
    lists: Iterable[Sequence[LogPart]],
    *,
    window: Window,
    by_day: bool,
    numbers: Mapping[str, int],
    ids: Mapping[str, int],
    nobody: int,
) -> Iterator[tuple[_Key, Any]]:
    for parts in lists:
        for part in parts:
            own = numbers.get(part.cluster)
            yield from _assigned(scan_part(part, window, by_day=by_day), own, ids, nobody)


def _assigned(
    found: Iterable[tuple[Event, EventCount | DatedCount] | Days | Summary],
    own: int | None,
    ids: Mapping[str, int],
    nobody: int,
) -> Iterator[tuple[_Key, Any]]:
    """What a part told, by the number of the cluster that it is about: the part's own, or the one that events name."""
    told = own in ids.values()

    def number_of(cluster_id: str) -> int:
        if own is None:
            return ids.get(cluster_id, nobody)
        return nobody if told and cluster_id and ids.get(cluster_id) != own else own

    foreign = 0
    for item in found:
        if isinstance(item, Summary):
            yield (nobody if own is None else own, None), item._replace(foreign=foreign)
        elif isinstance(item, Days):
            if (number := number_of(item.cluster_id)) != nobody:
                yield (number, None), Summary(days=item.days)
        else:
            event, tally = item
            if (number := number_of(event.cluster_id)) != nobody:
                yield (number, event._replace(cluster_id="")), tally
            else:
                foreign += tally.times


def scan_part(
    part: LogPart, window: Window, *, by_day: bool = False
) -> Iterator[tuple[Event, EventCount | DatedCount] | Days | Summary]:
    """The counted decisions of one part, the days with any by cluster, and last what reading it was like."""
    scan, broken = Scan(window, by_day=by_day), ""
    try:
        for lines in line_batches(part):
            scan.take(lines)
            if scan.size > _MOST_HELD:
                yield from _drained(scan, by_day=by_day)
    except OSError as error:
        broken = f"{part.file}: after {scan.lines:,} lines: {error}"
    yield from _drained(scan, by_day=by_day)
    yield from (Days(cluster_id, frozenset(days)) for cluster_id, days in scan.days.items())
    yield summary_of(scan, part.file, broken)


def _drained(scan: Scan, *, by_day: bool) -> Iterator[tuple[Event, EventCount | DatedCount]]:
    if not by_day:
        yield from scan.drain()
        return
    yield from ((event, DatedCount(count, days)) for event, count, days in scan.drain_by_day())


def _pickled(subject: object) -> bytes:
    data: bytes = cloudpickle.dumps(subject)  # type: ignore[no-untyped-call]
    return data
