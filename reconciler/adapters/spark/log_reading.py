"""Logs of many clusters in Spark: scanned in map tasks, counted by cluster in one shuffle, judged a task a cluster.

What goes through the shuffle are different decisions with their counts, not lines. A task that judges takes them one by
one; it holds the cluster's bindings, and what was refused.
"""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from pyspark import Broadcast, cloudpickle
from pyspark.sql import SparkSession

from reconciler.access import Authorizer
from reconciler.adapters.spark.log_files import LogPart, line_batches
from reconciler.adapters.spark.readings import bucket_rows
from reconciler.adapters.spark.tables import from_parquet, table_rows
from reconciler.adapters.spark.tasks import reason, task_count
from reconciler.dataclass import dataclass
from reconciler.fleet import Reading, binding_of, partition
from reconciler.fleet.store import StoreFiles
from reconciler.fleet.usage import (
    NOTHING_CLAIMED,
    ClaimedUsageFacts,
    ClusterUsage,
    Event,
    EventCount,
    Scan,
    Summary,
    UsageAnalysis,
    UsageQuestion,
    Window,
    summary_of,
)
from reconciler.model import AclBinding, OpaqueBinding, Scope, is_reserved
from reconciler.model.kafka_release import KafkaVersion

#: A scan hands on what it holds when it holds so many different decisions.
_MOST_HELD: Final = 100_000
#: The number of a cluster, and a decision; ``None`` for what is to be said of the reading itself.
_Key: TypeAlias = tuple[int, Event | None]


@dataclass(frozen=True, slots=True)
class LoggedCluster:
    """One cluster that is judged: by what was read of it, or by what is desired of it where nothing was.

    ``claimed`` are those of its facts that only manifests state. ``added`` and ``removed`` are a plan's; ``to_desired``
    asks for the change to what the manifests want in scope.
    """

    cluster: str
    cluster_id: str = ""
    live: Reading | None = None
    desired: Reading | None = None
    scope: Scope = Scope()
    super_users: frozenset[str] = frozenset()
    default_allow: bool | None = None
    kafka_version: KafkaVersion | None = None
    claimed: ClaimedUsageFacts = NOTHING_CLAIMED
    to_desired: bool = False
    planned: bool = False
    added: tuple[AclBinding, ...] = ()
    removed: tuple[AclBinding, ...] = ()


class Days(NamedTuple):
    """Days with decisions of one cluster, each with whether something was permitted."""

    cluster_id: str
    days: frozenset[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class LogFindings:
    """What logs show of each cluster, in order; ``unassigned`` is what lines of no known cluster came to."""

    clusters: tuple[ClusterUsage, ...]
    unassigned: Summary


def read_logs(
    session: SparkSession,
    files: StoreFiles,
    parts: Sequence[LogPart],
    subjects: Sequence[LoggedCluster],
    question: UsageQuestion,
) -> LogFindings:
    """Scan all parts and judge every subject; a cluster that cannot be judged says why."""
    context = session.sparkContext
    numbers = {subject.cluster: number for number, subject in enumerate(subjects)}
    ids = {subject.cluster_id: number for number, subject in enumerate(subjects) if subject.cluster_id}
    nobody = len(subjects)
    lists = partition(parts, [part.size for part in parts], task_count(session)) if parts else []
    scanned = context.parallelize(lists, max(1, len(lists))).mapPartitions(
        partial(_scan_all, window=question.window, numbers=numbers, ids=ids, nobody=nobody)
    )
    counted = scanned.reduceByKey(operator.add, numPartitions=nobody + 1, partitionFunc=operator.itemgetter(0))
    shared = context.broadcast([_pickled(subject) for subject in subjects])
    try:
        found = counted.mapPartitionsWithIndex(partial(_judge, files=files, shared=shared, question=question)).collect()
    finally:
        shared.unpersist()
    usages = sorted((item for item in found if isinstance(item, ClusterUsage)), key=lambda item: item.cluster)
    return LogFindings(tuple(usages), next((item for item in found if isinstance(item, Summary)), Summary()))


def _scan_all(
    lists: Iterable[Sequence[LogPart]],
    *,
    window: Window,
    numbers: Mapping[str, int],
    ids: Mapping[str, int],
    nobody: int,
) -> Iterator[tuple[_Key, Any]]:
    for parts in lists:
        for part in parts:
            own = numbers.get(part.cluster)
            yield from _assigned(scan_part(part, window), own, ids, nobody)


def _assigned(
    found: Iterable[tuple[Event, EventCount] | Days | Summary], own: int | None, ids: Mapping[str, int], nobody: int
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


def scan_part(part: LogPart, window: Window) -> Iterator[tuple[Event, EventCount] | Days | Summary]:
    """The counted decisions of one part, the days with any by cluster, and last what reading it was like."""
    scan, broken = Scan(window), ""
    try:
        for lines in line_batches(part):
            scan.take(lines)
            if scan.size > _MOST_HELD:
                yield from scan.drain()
    except OSError as error:
        broken = f"{part.file}: after {scan.lines:,} lines: {error}"
    yield from scan.drain()
    yield from (Days(cluster_id, frozenset(days)) for cluster_id, days in scan.days.items())
    yield summary_of(scan, part.file, broken)


def _judge(
    number: int,
    counted: Iterable[tuple[_Key, Any]],
    *,
    files: StoreFiles,
    shared: Broadcast[list[bytes]],
    question: UsageQuestion,
) -> Iterator[ClusterUsage | Summary]:
    if number == len(shared.value):
        yield sum((found for (_, event), found in counted if event is None), Summary())
        return
    subject: LoggedCluster = cloudpickle.loads(shared.value[number])
    try:
        yield _judged(subject, counted, files, question)
    except Exception as error:  # one cluster's trouble must not hide the others
        yield ClusterUsage(
            subject.cluster, f"{reason(error)}: {error}" if isinstance(error, OSError) else reason(error)
        )


def _judged(
    subject: LoggedCluster, counted: Iterable[tuple[_Key, Any]], files: StoreFiles, question: UsageQuestion
) -> ClusterUsage:
    origins = _desired(files, subject.desired) if subject.desired else {}
    live, opaque = _live(subject, files)
    bindings = origins.keys() if live is None else live
    before = Authorizer(bindings, subject.super_users, subject.default_allow, subject.kafka_version, opaque=opaque)
    after = _after(subject, before, frozenset(bindings), origins)
    judge = UsageAnalysis(subject.cluster, question, before, after, subject.claimed)
    for (_, event), found in counted:
        if event is None:
            judge.note(found)
        else:
            judge.see(event, found)
    return judge.result(origins)


def _desired(files: StoreFiles, reading: Reading) -> dict[AclBinding, str]:
    """The bindings that are desired, each with where it is declared."""
    found: dict[AclBinding, str] = {}
    for bucket in reading.buckets:
        table = from_parquet(files.read(bucket.file))
        origins = table["origin"].to_pylist()
        found.update(zip(map(binding_of, table_rows(table)), origins, strict=True))
    return found


def _live(subject: LoggedCluster, files: StoreFiles) -> tuple[set[AclBinding] | None, tuple[OpaqueBinding, ...]]:
    if subject.live is None:
        return None, ()
    found = {binding_of(row) for bucket in subject.live.buckets for row in bucket_rows(files, bucket)}
    return {binding for binding in found if not is_reserved(binding.pattern.name)}, subject.live.opaque


def _after(
    subject: LoggedCluster, before: Authorizer, now: frozenset[AclBinding], desired: Mapping[AclBinding, str]
) -> Authorizer | None:
    if subject.planned:
        return before.with_changes(subject.added, subject.removed)
    if not subject.to_desired:
        return None
    return before.with_changes(
        [binding for binding in desired if binding not in now],
        [binding for binding in now if subject.scope.owns(binding) and binding not in desired],
    )


def _pickled(subject: LoggedCluster) -> bytes:
    data: bytes = cloudpickle.dumps(subject)  # type: ignore[no-untyped-call]
    return data
