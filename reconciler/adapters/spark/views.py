"""A store as Spark views, for questions in SQL. ``docs/fleet.md`` describes their columns; codes are shown by name."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from reconciler.adapters.spark.results import RESULT_SCHEMA
from reconciler.adapters.spark.store import FleetStore
from reconciler.adapters.spark.tables import CONFIG_SCHEMA, LIVE_SCHEMA, TOPIC_SCHEMA
from reconciler.fleet import COLUMNS, FleetDrift, Run, Whose
from reconciler.model import AclOperation, AclPermissionType, PatternType, ResourceType

_NAMED: Final = {
    "resource_type": ResourceType,
    "pattern_type": PatternType,
    "operation": AclOperation,
    "permission_type": AclPermissionType,
    "whose": Whose,
}
_TYPES: Final = {"int8": "tinyint", "int32": "int", "bool": "boolean"}
_CLUSTERS: Final = (
    "cluster string, cluster_id string, taken string, bindings long, topics long, opaque long, unreadable_topics long, "
    "failure string, labels map<string,string>"
)


def register(session: SparkSession, store: FleetStore, run: Run, labels: Mapping[str, Mapping[str, str]]) -> None:
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


def moved(session: SparkSession, store: FleetStore, before: Run, after: Run) -> DataFrame:
    """Bindings that appeared or went between two runs. What is equal by digest is not read."""
    old, new = _digests(before), _digests(after)
    sides = [
        _frame(session, store, "bindings", [file for file, digest in one.items() if digest not in seen], LIVE_SCHEMA)
        for one, seen in ((old, set(new.values())), (new, set(old.values())))
    ]
    on = ["cluster", *COLUMNS]
    was, now = (side.select(*on) for side in sides)
    both = {reading.cluster for reading in before.readings} & {reading.cluster for reading in after.readings}
    found = (
        now.exceptAll(was)
        .withColumn("what", f.lit("appeared"))
        .unionAll(was.exceptAll(now).withColumn("what", f.lit("went")))
    )
    return by_name(found.where(f.col("cluster").isin(sorted(both))))


def by_name(frame: DataFrame) -> DataFrame:
    """Codes as Kafka names them."""
    for column, names in _NAMED.items():
        if column in frame.columns:
            pairs = [item for member in names for item in (f.lit(int(member)), f.lit(member.name))]
            frame = frame.withColumn(column, f.create_map(*pairs)[f.col(column).cast("int")])
    return frame


def _digests(run: Run) -> dict[str, str]:
    """Files by what is in them: the same rows of the same cluster need not be read."""
    return {
        bucket.file: f"{reading.cluster}/{len(reading.buckets)}/{number}/{bucket.digest}"
        for reading in run.readings
        for number, bucket in enumerate(reading.buckets)
    }


def _frame(session: SparkSession, store: FleetStore, kind: str, files: Sequence[str], schema: Any) -> DataFrame:
    """Files as one frame; ``cluster`` is in their path, or in the rows of results."""
    columns = ", ".join(f"{field.name} {_spark_type(str(field.type))}" for field in schema)
    if not files:
        return session.createDataFrame([], columns if kind == "results" else f"{columns}, cluster string")
    reader = session.read.schema(columns if kind == "results" else f"{columns}, cluster string")
    frame = reader.option("basePath", store.files.address(kind)).parquet(*map(store.files.address, files))
    return frame.drop("taken", "run")


def _spark_type(arrow: str) -> str:
    return "array<array<int>>" if arrow.startswith("list") else _TYPES.get(arrow, "string")


def _clusters(run: Run, labels: Mapping[str, Mapping[str, str]]) -> list[tuple[Any, ...]]:
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
