"""Use and refusals of many clusters in Spark: their logs counted, and each cluster judged by a task.

A task that judges holds the cluster's bindings, and what was refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from pyspark.sql import SparkSession

from reconciler.access import Authorizer
from reconciler.adapters.spark.log_counting import Counted, counted_logs, trouble
from reconciler.adapters.spark.log_files import LogPart
from reconciler.adapters.spark.readings import bucket_rows
from reconciler.adapters.spark.tables import from_parquet, table_rows
from reconciler.dataclass import dataclass
from reconciler.fleet import Reading, binding_of
from reconciler.fleet.store import StoreFiles
from reconciler.fleet.usage import (
    NOTHING_CLAIMED,
    ClaimedUsageFacts,
    ClusterUsage,
    Summary,
    UsageAnalysis,
    UsageQuestion,
)
from reconciler.model import AclBinding, OpaqueBinding, Scope, is_reserved
from reconciler.model.kafka_release import KafkaVersion


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
    clusters = [(subject.cluster, subject.cluster_id) for subject in subjects]
    logs = counted_logs(session, parts, clusters, question.window)
    usages, unassigned = logs.ask(subjects, partial(_judge, files=files, question=question))
    return LogFindings(tuple(sorted(usages, key=lambda item: item.cluster)), unassigned)


def _judge(
    subject: LoggedCluster, counted: Iterable[Counted], *, files: StoreFiles, question: UsageQuestion
) -> ClusterUsage:
    try:
        return _judged(subject, counted, files, question)
    except Exception as error:  # one cluster's trouble must not hide the others
        return ClusterUsage(subject.cluster, trouble(error))


def _judged(
    subject: LoggedCluster, counted: Iterable[Counted], files: StoreFiles, question: UsageQuestion
) -> ClusterUsage:
    origins = desired_bindings(files, subject.desired) if subject.desired else {}
    live, opaque = live_bindings(subject, files)
    bindings = origins.keys() if live is None else live
    before = Authorizer(bindings, subject.super_users, subject.default_allow, subject.kafka_version, opaque=opaque)
    after = _after(subject, before, frozenset(bindings), origins)
    judge = UsageAnalysis(subject.cluster, question, before, after, subject.claimed)
    for event, found in counted:
        if event is None:
            judge.note(found)
        else:
            judge.see(event, found)
    return judge.result(origins)


def desired_bindings(files: StoreFiles, reading: Reading) -> dict[AclBinding, str]:
    """The bindings that are desired, each with where it is declared."""
    found: dict[AclBinding, str] = {}
    for bucket in reading.buckets:
        table = from_parquet(files.read(bucket.file))
        origins = table["origin"].to_pylist()
        found.update(zip(map(binding_of, table_rows(table)), origins, strict=True))
    return found


def live_bindings(
    subject: LoggedCluster, files: StoreFiles
) -> tuple[set[AclBinding] | None, tuple[OpaqueBinding, ...]]:
    """The bindings that were read, and what could not be named; ``None`` where nothing was read."""
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
