"""One cluster's state, or what is desired of it, to the files of a reading and back; clusters read in tasks."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pyarrow as pa

from reconciler import __version__
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Listing
from reconciler.model.locks import denials_of_locks
from reconciler.model.markers import every_break_glass, standing_bridges, without_harmless
from reconciler.model.scope import Scope, on_reserved_names
from reconciler.model.state import ClusterState, StatedFacts
from reconciler.model.topic import Topic
from reconciler.parts.fleet import tables
from reconciler.parts.fleet.engine import Engine, in_time, reason
from reconciler.parts.fleet.membership import without_duplicates
from reconciler.parts.fleet.store import FleetStore, StoreFiles
from reconciler.ports import ClusterError
from reconciler.results.fleet_drift import (
    Bucket,
    Failure,
    FleetRun,
    Reading,
    outcome_text,
    parse_outcomes,
    tells_failure,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the files of one reading go: ``live/taken=…`` or ``desired/key=…``, and who writes them.

    ``attempt`` is part of every name: two attempts of one task never write the same file.
    """

    files: StoreFiles
    side: str
    cluster: str
    attempt: str
    bucket_rows: int = tables.BUCKET_ROWS

    def name(self, what: str, number: int | str = 0) -> str:
        """The name of a file below the store."""
        return f"{what}/{self.side}/cluster={self.cluster}/{number}-{self.attempt}.parquet"

    def put(self, what: str, table: pa.Table, number: int = 0) -> tuple[str, int]:
        """Write a table; its name and size."""
        data = tables.parquet(table)
        return self.files.write(self.name(what, number), data), len(data)


def write_live(state: ClusterState, scope: Scope, place: Place, taken: str) -> Reading:
    """Write a live state; the header counts the rows that ``scope`` owns and ignores.

    Sentinels and markers are no rows, for they grant nobody anything. The header has them, so that drift finds them.
    """
    leftovers = _own(state.bindings)
    state = without_harmless(state)
    standing = ((binding, tables.whose(scope, binding)) for binding in state.bindings)
    parts = tables.in_buckets(standing, tables.bucket_count(len(state.bindings), place.bucket_rows))
    buckets = tuple(_live_bucket(part, place, number) for number, part in enumerate(parts))
    reading = Reading(
        cluster=place.cluster,
        cluster_id=state.cluster_id,
        taken=taken,
        tool_version=__version__,
        scope=tables.scope_digest(scope),
        buckets=buckets,
        topic_count=len(state.topics),
        opaque=state.opaque,
        unreadable_topics=state.unreadable_topics,
        acl_gap=state.acl_gap,
        topic_gap=state.topic_gap,
        listings=_as_read(state.listings),
        kafka_version=state.kafka_version,
        kafka_version_gap=state.kafka_version_gap,
        metadata_version=state.metadata_version,
        leftovers=tuple(sorted(leftovers)),
        notes=state.notes,
        stated=state.stated,
    )
    return _with_topics(reading, (topic_row(topic) for topic in state.topics.values()), state.topics.values(), place)


def _own(bindings: frozenset[AclBinding]) -> frozenset[AclBinding]:
    """What is on reserved names, and what markers there call a bridge, break-glass access or a lock."""
    if not (reserved := on_reserved_names(bindings)):
        return reserved
    emergency = bindings.intersection(item.binding for item in every_break_glass(reserved))
    return reserved | standing_bridges(bindings) | emergency | denials_of_locks(bindings)


def _as_read(listings: Mapping[str, Listing[Any]]) -> Mapping[str, Listing[Any]]:
    """What a reading keeps: not what our login may do, for another one may apply the plan."""
    return FrozenMap({kind: Listing(listing.items, listing.gap) for kind, listing in listings.items()})


def _as_compared(desired_item: DesiredItem[Any]) -> DesiredItem[Any]:
    """What a comparison needs of a declaration: whether there is to be none, whatever the reason."""
    return DesiredItem(desired_item.item, Declaration(desired_item.declaration.origin), absent=desired_item.goes)


def write_desired(desired: DesiredState, scope: Scope, place: Place, taken: str) -> Reading:
    """Write what is desired of a cluster; each row with its origin."""
    origins = ((binding, item.origin) for binding, item in desired.bindings.items())
    parts = tables.in_buckets(origins, tables.bucket_count(len(desired.bindings), place.bucket_rows))
    reading = Reading(
        cluster=place.cluster,
        cluster_id="",
        taken=taken,
        tool_version=__version__,
        scope=tables.scope_digest(scope),
        buckets=tuple(_desired_bucket(part, place, number) for number, part in enumerate(parts)),
        topic_count=len(desired.topics),
        wanted={
            kind: {key: _as_compared(item) for key, item in items.items()} for kind, items in desired.listed.items()
        },
    )
    if desired.expired:
        expired = {tables.row_of(binding): str(item.origin) for binding, item in desired.expired.items()}
        rows = sorted(expired)
        name, _ = place.put("expired", tables.rows_table(rows, tables.DESIRED_SCHEMA, [expired[row] for row in rows]))
        reading = replace(reading, expired=name)
    topics = [_topic_row(item) for item in desired.topics.values()]
    return _with_topics(reading, topics, [item.topic for item in desired.topics.values()], place)


def read_live(files: StoreFiles, reading: Reading) -> ClusterState:
    """The state that was written; raises ``OSError``."""
    rows = (row for bucket in reading.buckets for row in bucket_rows(files, bucket))
    return ClusterState(
        cluster_id=reading.cluster_id,
        bindings=frozenset(map(tables.binding_of, rows)),
        topics=live_topics(files, reading),
        opaque=reading.opaque,
        unreadable_topics=reading.unreadable_topics,
        acl_gap=reading.acl_gap,
        topic_gap=reading.topic_gap,
        listings=reading.listings,
        kafka_version=reading.kafka_version,
        kafka_version_gap=reading.kafka_version_gap,
        metadata_version=reading.metadata_version,
        stated=reading.stated,
    )


def bucket_rows(files: StoreFiles, bucket: Bucket) -> list[tables.Row]:
    """The rows of one file."""
    return tables.table_rows(tables.from_parquet(files.read(bucket.file), tables.ROW_SCHEMA.names))


def live_topics(files: StoreFiles, reading: Reading) -> dict[str, Topic]:
    """The live topics of a reading, by name."""
    return {topic.name: topic for topic, _ in _topics(files, reading)}


def desired_topics(files: StoreFiles, reading: Reading) -> dict[str, DesiredTopic]:
    """The declared topics of a desired reading, by name."""
    return {
        topic.name: DesiredTopic(
            topic, origin_of(side["origin"]), FrozenMap(json.loads(side["labels"])), side["absent"]
        )
        for topic, side in _topics(files, reading)
    }


def origin_of(text: str) -> Origin:
    """``file:line:column`` as a place."""
    file, line, column = text.rsplit(":", 2)
    return Origin(file, int(line), int(column))


def expired_bindings(files: StoreFiles, reading: Reading) -> Mapping[tables.Row, Declaration]:
    """The bindings of a desired reading that are wanted no longer."""
    if not reading.expired:
        return {}
    table = tables.from_parquet(files.read(reading.expired))
    origins = table["origin"].to_pylist()
    return {row: Declaration(origin_of(text)) for row, text in zip(tables.table_rows(table), origins, strict=True)}


def _live_bucket(part: tables.BucketBindings[tables.ScopeMembership], place: Place, number: int) -> Bucket:
    rows, marks = part.taken()
    table = tables.rows_table(rows, tables.LIVE_SCHEMA, [int(mark) for mark in marks])
    name, size = place.put("bindings", table, number)
    owned = [row for row, mark in zip(rows, marks, strict=True) if mark is tables.ScopeMembership.OWNED]
    digest = tables.table_digest(table)
    owned_digest = digest if len(owned) == len(rows) else tables.table_digest(tables.rows_table(owned))
    return Bucket(name, len(rows), digest, len(owned), marks.count(tables.ScopeMembership.IGNORED), owned_digest, size)


def _desired_bucket(part: tables.BucketBindings[Origin], place: Place, number: int) -> Bucket:
    rows, origins = part.taken()
    table = tables.rows_table(rows, tables.DESIRED_SCHEMA, list(map(str, origins)))
    name, size = place.put("wishes", table, number)
    digest = tables.table_digest(table)
    return Bucket(name, len(rows), digest, len(rows), 0, digest, size)


def _with_topics(reading: Reading, sides: Iterable[dict[str, Any]], topics: Iterable[Topic], place: Place) -> Reading:
    rows = list(sides)
    if not rows:
        return reading
    configs = [
        {"topic": topic.name, "key": key, "value": value} for topic in topics for key, value in topic.configs.items()
    ]
    wanted = "" if reading.cluster_id else "desired-"
    name, _ = place.put(f"{wanted}topics", pa.Table.from_pylist(rows, tables.TOPIC_SCHEMA))
    reading = replace(reading, topics=name)
    if configs:
        name, _ = place.put(f"{wanted}configs", pa.Table.from_pylist(configs, tables.CONFIG_SCHEMA))
        reading = replace(reading, configs=name)
    return reading


def topic_row(topic: Topic) -> dict[str, Any]:
    """A topic's own columns."""
    return {column: getattr(topic, name) for name, column in tables.TOPIC_COLUMNS.items()}


def _topic_row(item: DesiredTopic) -> dict[str, Any]:
    labels = json.dumps(dict(item.labels), ensure_ascii=False)
    return {**topic_row(item.topic), "absent": item.absent, "labels": labels, "origin": str(item.origin)}


def _topics(files: StoreFiles, reading: Reading) -> list[tuple[Topic, dict[str, Any]]]:
    if not reading.topics:
        return []
    configs: dict[str, dict[str, str]] = {}
    if reading.configs:
        for side in tables.from_parquet(files.read(reading.configs)).to_pylist():
            configs.setdefault(side["topic"], {})[side["key"]] = side["value"]
    return [
        (topic_of(side, configs.get(side["name"], {})), side)
        for side in tables.from_parquet(files.read(reading.topics)).to_pylist()
    ]


def topic_of(side: dict[str, Any], configs: dict[str, str]) -> Topic:
    """The topic of its columns and its configs."""
    columns = {name: _frozen(side[column]) for name, column in tables.TOPIC_COLUMNS.items()}
    return Topic(configs=FrozenMap(configs), **columns)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


# Bounded, timed, repeated, and every failure a row that says why.

#: Asking again does not help against these.
_LASTING: Final = frozenset(
    {
        "CLUSTER_AUTHORIZATION_FAILED",
        "SASL_AUTHENTICATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
        "SECURITY_DISABLED",
        "_AUTHENTICATION",
        "connection_unusable",
        "invalid_snapshot",
        "snapshot_unreadable",
    }
)


@dataclass(frozen=True, slots=True)
class SnapshotSource:
    """A cluster to read: its name, its scope, and a picklable way to its state that raises :class:`ClusterError`.

    ``stated`` is what somebody states of it beside that.
    """

    cluster: str
    scope: Scope
    read: Callable[[], ClusterState]
    stated: StatedFacts | None = None


@dataclass(frozen=True, slots=True)
class CollectionLimits:
    """How many clusters one task reads at once, how long it waits for one, how often it asks."""

    at_once: int = 4
    timeout: float = 120.0
    attempts: int = 3
    pause: float = 1.0


def collect(
    engine: Engine,
    store: FleetStore,
    sources: Sequence[SnapshotSource],
    run: FleetRun,
    patience: CollectionLimits,
    carries: Callable[[str], bool] | None = None,
) -> FleetRun:
    """Read ``sources`` into ``store`` and commit the run; ``run`` names it and holds what was read before.

    It takes over the other clusters that it ``carries`` (:meth:`FleetStore.commit`).
    """
    lists = engine.shared_out(sources, patience.at_once)
    work = partial(_read_all, store=store, side=f"taken={run.id}", taken=run.taken, patience=patience)
    readings, failures = parse_outcomes(engine.run(lists, work, "read clusters", tally=_tally))
    taken = replace(run, readings=(*run.readings, *readings), failures=(*run.failures, *failures))
    return store.commit(taken, carries, without_duplicates)


def _read_all(
    sources: Sequence[SnapshotSource],
    attempt: str,
    *,
    store: FleetStore,
    side: str,
    taken: str,
    patience: CollectionLimits,
) -> Iterator[str]:
    for source, state in in_time(sources, partial(_read, patience=patience), patience.at_once, patience.timeout):
        if state is None:
            message = f"no answer in {patience.timeout:g} s"
            yield outcome_text(Failure(source.cluster, "timed_out", message, "Is it reachable from here?"))
        elif isinstance(state, Failure):
            yield outcome_text(state)
        else:
            place = Place(store.files, side, source.cluster, attempt)
            reading = write_live(replace(state, stated=source.stated), source.scope, place, taken)
            store.note(side.removeprefix("taken="), reading)
            yield outcome_text(reading)


def _read(source: SnapshotSource, patience: CollectionLimits) -> ClusterState | Failure:
    for attempt in range(1, patience.attempts + 1):
        try:
            return source.read()
        except ClusterError as error:
            failure = Failure(source.cluster, error.code, error.message, error.advice, attempt)
            if error.code in _LASTING:
                break
        except Exception as error:  # one cluster's trouble, whatever it is, must not end the others
            return Failure(source.cluster, "unexpected", reason(error), attempts=attempt)
        if attempt < patience.attempts:
            time.sleep(patience.pause * 2 ** (attempt - 1))
    return failure


def _tally(line: str) -> Mapping[str, int]:
    return {"not read": int(tells_failure(line))}
