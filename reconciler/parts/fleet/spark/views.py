"""A store as Spark views, for questions in SQL. ``docs/fleet.md`` describes their columns; codes are shown by name."""

import functools
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from reconciler.model.acl import AclOperation, AclPermissionType, PatternType, ResourceType
from reconciler.parts.fleet.differences import RESULT_SCHEMA
from reconciler.parts.fleet.rows import COLUMNS, ScopeMembership
from reconciler.parts.fleet.store import FleetStore
from reconciler.parts.fleet.tables import CONFIG_SCHEMA, LIVE_SCHEMA, TOPIC_SCHEMA
from reconciler.results.fleet_drift import FleetDrift, FleetRun, Reading

_NAMED: Final = {
    "resource_type": ResourceType,
    "pattern_type": PatternType,
    "operation": AclOperation,
    "permission_type": AclPermissionType,
    "whose": ScopeMembership,
}
#: What of a topic may move; a new id is a topic that was made again.
_OF_A_TOPIC: Final = ("partitions", "replication_factor", "topic_id")
_TYPES: Final = {"int8": "tinyint", "int32": "int", "bool": "boolean"}
_CLUSTERS: Final = (
    "cluster string, cluster_id string, taken string, bindings long, topics long, opaque long, unreadable_topics long, "
    "failure string, labels map<string,string>"
)


def register(session: SparkSession, store: FleetStore, run: FleetRun, labels: Mapping[str, Mapping[str, str]]) -> None:
    """The views ``clusters``, ``bindings``, ``topics`` and ``configs`` of one run."""
    files = {
        "bindings": [bucket.file for reading in run.readings for bucket in reading.buckets],
        "topics": [reading.topics for reading in run.readings if reading.topics],
        "configs": [reading.configs for reading in run.readings if reading.configs],
    }
    schemas = {"bindings": LIVE_SCHEMA, "topics": TOPIC_SCHEMA, "configs": CONFIG_SCHEMA}
    for name, schema in schemas.items():
        by_name(_frame(session, store, name, files[name], schema)).createOrReplaceTempView(name)
    session.createDataFrame(_clusters(run, labels), _CLUSTERS).createOrReplaceTempView("clusters")


def register_changes(session: SparkSession, store: FleetStore, drift: FleetDrift) -> None:
    """The view ``changes``: what the last comparison found to differ."""
    files = sorted({name for item in drift.clusters for name in item.files})
    by_name(_frame(session, store, "results", files, RESULT_SCHEMA)).createOrReplaceTempView("changes")


def moved(session: SparkSession, store: FleetStore, before: FleetRun, after: FleetRun) -> DataFrame:
    """What appeared, went or changed between two runs, on the clusters that are in both: bindings, topics, configs.

    What is equal by digest is not read. Topics and configs have ``detail``, and of a binding's fields only its name.
    """
    both = {reading.cluster for reading in before.readings} & {reading.cluster for reading in after.readings}
    sides = [
        replace(run, readings=tuple(item for item in run.readings if item.cluster in both)) for run in (before, after)
    ]
    found = _moved_bindings(session, store, *sides)
    for part in (_moved_topics(session, store, *sides), _moved_configs(session, store, *sides)):
        found = found.unionByName(part, allowMissingColumns=True)
    return by_name(found)


def _moved_bindings(session: SparkSession, store: FleetStore, before: FleetRun, after: FleetRun) -> DataFrame:
    old, new = _digests(before), _digests(after)
    sides = [
        _frame(session, store, "bindings", [file for file, digest in item.items() if digest not in seen], LIVE_SCHEMA)
        for item, seen in ((old, set(new.values())), (new, set(old.values())))
    ]
    was, now = (side.select("cluster", *COLUMNS) for side in sides)
    appeared = now.exceptAll(was).withColumns({"detail": f.lit(""), "what": f.lit("appeared")})
    return appeared.unionAll(was.exceptAll(now).withColumns({"detail": f.lit(""), "what": f.lit("went")}))


def _moved_topics(session: SparkSession, store: FleetStore, before: FleetRun, after: FleetRun) -> DataFrame:
    was, now = _both_sides(session, store, "topics", [run.readings for run in (before, after)], TOPIC_SCHEMA)
    same = [f.col(f"was.{name}").eqNullSafe(f.col(f"now.{name}")) for name in _OF_A_TOPIC]
    # Only where it is on both sides: of a topic that went, all would be said to have changed.
    texts = [
        f.when(
            f.isnotnull("was.there") & f.isnotnull("now.there") & ~equal,
            f.concat_ws(" ", f.lit(name), f"was.{name}", f.lit("→"), f"now.{name}"),
        )
        for name, equal in zip(_OF_A_TOPIC, same, strict=True)
    ]
    return _joined(was, now, ["cluster", "name"], f.array_join(f.array_compact(f.array(*texts)), ", "), _all(same))


def _moved_configs(session: SparkSession, store: FleetStore, before: FleetRun, after: FleetRun) -> DataFrame:
    was, now = _both_sides(session, store, "configs", [run.readings for run in (before, after)], CONFIG_SCHEMA)
    was, now = (side.withColumnRenamed("topic", "name") for side in (was, now))
    detail = f.concat(f.col("key"), f.lit(" "), f.concat_ws(" → ", "was.value", "now.value"))
    same = f.col("was.value").eqNullSafe(f.col("now.value"))
    return _joined(was, now, ["cluster", "name", "key"], detail, same)


def _all(conditions: Sequence[Column]) -> Column:
    return functools.reduce(Column.__and__, conditions)


def _both_sides(
    session: SparkSession, store: FleetStore, kind: str, sides: Sequence[Sequence[Reading]], schema: Any
) -> list[DataFrame]:
    """The files of one kind that are not on both sides."""
    files = [{getattr(item, kind) for item in side} - {""} for side in sides]
    return [_frame(session, store, kind, sorted(one - other), schema) for one, other in (files, files[::-1])]


def _joined(was: DataFrame, now: DataFrame, on: list[str], detail: Column, same: Column) -> DataFrame:
    """Rows that only one side has, or that differ."""
    missing, added = (f.col(f"{side}.there").isNull() for side in ("now", "was"))
    what = f.when(added, "appeared").when(missing, "went").otherwise("changed")
    marked = [side.withColumn("there", f.lit(True)).alias(name) for name, side in (("was", was), ("now", now))]
    rows = marked[0].join(marked[1], on, "full_outer").where(missing | added | ~same)
    kind = f.lit(int(ResourceType.TOPIC)).cast("tinyint").alias("resource_type")
    return rows.select("cluster", kind, "name", detail.alias("detail"), what.alias("what"))


def by_name(frame: DataFrame) -> DataFrame:
    """Codes as Kafka names them."""
    for column, names in _NAMED.items():
        if column in frame.columns:
            pairs = [item for member in names for item in (f.lit(int(member)), f.lit(member.name))]
            frame = frame.withColumn(column, f.create_map(*pairs)[f.col(column).cast("int")])
    return frame


def _digests(run: FleetRun) -> dict[str, str]:
    """StoreFiles by what is in them: the same rows of the same cluster need not be read."""
    return {
        bucket.file: f"{reading.cluster}/{len(reading.buckets)}/{number}/{bucket.digest}"
        for reading in run.readings
        for number, bucket in enumerate(reading.buckets)
    }


def _frame(session: SparkSession, store: FleetStore, kind: str, files: Sequence[str], schema: Any) -> DataFrame:
    """StoreFiles as one frame; ``cluster`` is in their path, or in the rows of results."""
    columns = ", ".join(f"{field.name} {_spark_type(str(field.type))}" for field in schema)
    if not files:
        return session.createDataFrame([], columns if kind == "results" else f"{columns}, cluster string")
    if kind != "results":
        # Spark reads the files by itself, and knows nothing of digests.
        with ThreadPoolExecutor(8) as threads:
            deque(threads.map(store.files.read, files), maxlen=0)
    reader = session.read.schema(columns if kind == "results" else f"{columns}, cluster string")
    frame = reader.option("basePath", store.files.address(kind)).parquet(*map(store.files.address, files))
    return frame.drop("taken", "run")


def _spark_type(arrow: str) -> str:
    return "array<array<int>>" if arrow.startswith("list") else _TYPES.get(arrow, "string")


def _clusters(run: FleetRun, labels: Mapping[str, Mapping[str, str]]) -> list[tuple[Any, ...]]:
    read = [
        (
            item.cluster,
            item.cluster_id,
            item.taken,
            item.rows,
            item.topic_count,
            len(item.opaque),
            len(item.unreadable_topics),
            None,
            dict(labels.get(item.cluster, {})),
        )
        for item in run.readings
    ]
    failed = [
        (item.cluster, None, None, None, None, None, None, item.code, dict(labels.get(item.cluster, {})))
        for item in run.failures
    ]
    return [*read, *failed]
