"""Bindings that few clusters have, or few lack: counted by Polars in each task, put together in one shuffle.

What passes through Spark are tables of distinct bindings with the clusters that have them, as Arrow's bytes. Codes
become names where rows are chosen, so that they sort as they are shown.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import polars as pl
from pyspark import Broadcast, cloudpickle
from pyspark.sql import SparkSession

from reconciler.adapters.spark.tasks import task_count
from reconciler.dataclass import dataclass
from reconciler.fleet import COLUMNS, FleetRun, Reading, bucket_count, partition
from reconciler.fleet.rows import bucket_of
from reconciler.fleet.store import StoreFiles
from reconciler.model import AclOperation, AclPermissionType, PatternType, ResourceType

#: Of which group of clusters, and which binding.
_KEY: Final = ("label_group", *COLUMNS)
#: What :func:`outliers` tells of each.
OUTLIER_COLUMNS: Final = (*_KEY, "holders", "size", "what", "clusters")
_NAMES: Final = {
    "resource_type": ResourceType,
    "pattern_type": PatternType,
    "operation": AclOperation,
    "permission_type": AclPermissionType,
}
#: So many bindings are put together in one task.
_ROWS: Final = 2_000_000
_Part: TypeAlias = "tuple[int, bytes]"


@dataclass(frozen=True, slots=True)
class OutlierQuestion:
    """``groups`` has the group of each cluster; a binding stands out if at most ``percent`` have it, or lack it."""

    groups: Mapping[str, str]
    percent: int
    most: int


def outliers(session: SparkSession, files: StoreFiles, run: FleetRun, asked: OutlierQuestion) -> list[list[Any]]:
    """At most ``asked.most`` rows: group, binding, holders, size of the group, what, clusters; rarest first.

    A single cluster always counts as few; a group of less than three clusters has no outliers. Clusters that could not
    be read are left out. Additional bindings come before missing ones.
    """
    units = [reading for reading in run.readings if reading.rows]
    if not units:
        return []
    context = session.sparkContext
    weights = [reading.rows for reading in units]
    lists = partition(units, weights, task_count(session, sum(weights)))
    shared = context.broadcast([cloudpickle.dumps(part) for part in lists])  # type: ignore[no-untyped-call]
    parts = bucket_count(sum(weights), _ROWS)
    counted = context.parallelize(range(len(lists)), len(lists)).mapPartitionsWithIndex(
        partial(_count, shared=shared, files=files, groups=asked.groups, parts=parts)
    )
    try:
        lines = counted.groupByKey(parts, int).mapPartitions(partial(_chosen, asked=asked)).collect()
    finally:
        shared.unpersist()
    return sorted((json.loads(line) for line in lines), key=_order)[: asked.most]


def _order(row: Sequence[Any]) -> tuple[Any, ...]:
    holders, size = row[len(_KEY)], row[len(_KEY) + 1]
    return min(holders, size - holders), 2 * holders >= size, *row[: len(_KEY)]


def _count(
    number: int,
    _: Iterable[int],
    *,
    shared: "Broadcast[list[bytes]]",
    files: StoreFiles,
    groups: Mapping[str, str],
    parts: int,
) -> Iterator[_Part]:
    """The bindings of some clusters, each with those that have it; by the part in which they are put together."""
    readings: list[Reading] = cloudpickle.loads(shared.value[number])
    frames = [
        pl.read_parquet(files.read(bucket.file), columns=list(COLUMNS)).with_columns(
            label_group=pl.lit(groups.get(reading.cluster, "")), clusters=pl.lit(reading.cluster)
        )
        for reading in readings
        for bucket in reading.buckets
        if bucket.rows
    ]
    found = pl.concat(frames).group_by(_KEY).agg(pl.col("clusters"))
    if parts == 1:
        yield 0, _bytes(found)
        return
    where = pl.Series([bucket_of(row, parts) for row in found.select(COLUMNS).iter_rows()])
    for part in range(parts):
        yield part, _bytes(found.filter(where == part))


def _bytes(frame: pl.DataFrame) -> bytes:
    sink = io.BytesIO()
    frame.write_ipc(sink, compression="lz4")
    return sink.getvalue()


def _chosen(parts: Iterable[tuple[int, Iterable[bytes]]], *, asked: OutlierQuestion) -> Iterator[str]:
    for _, tables in parts:
        yield from chosen([pl.read_ipc(io.BytesIO(table)) for table in tables], asked)


def chosen(tables: Sequence[pl.DataFrame], asked: OutlierQuestion) -> Iterator[str]:
    """The outliers among bindings whose holders are spread over ``tables``, as lines of JSON; the first of them."""
    members: dict[str, set[str]] = {}
    for cluster, group in asked.groups.items():
        members.setdefault(group, set()).add(cluster)
    sizes = pl.DataFrame(
        {"label_group": list(members), "size": [len(of_group) for of_group in members.values()]},
        {"label_group": pl.String, "size": pl.Int64},
    )
    together = pl.concat(tables)
    few = pl.max_horizontal(pl.lit(1.0), pl.col("size") * asked.percent / 100)
    holders, size = pl.col("holders"), pl.col("size")
    found = (
        together.with_columns(holders=pl.col("clusters").list.len().cast(pl.Int64))
        .group_by(_KEY)
        .agg(holders.sum())
        .join(sizes, on="label_group")
        .filter((size >= 3) & (holders < size) & ((holders <= few) | (size - holders <= few)))
        .with_columns(pl.col(name).replace_strict(_spelled(codes)) for name, codes in _NAMES.items())
        .sort(pl.min_horizontal(holders, size - holders), 2 * holders >= size, *_KEY)
        .head(asked.most)
    )
    if not found.height:
        return
    codes = {name: {text: code for code, text in _spelled(kind).items()} for name, kind in _NAMES.items()}
    wanted = found.with_columns(pl.col(name).replace_strict(code, return_dtype=pl.Int8) for name, code in codes.items())
    having: dict[tuple[Any, ...], set[str]] = {}
    for *having_key, clusters in together.join(wanted, on=_KEY, how="semi").select(*_KEY, "clusters").iter_rows():
        having.setdefault(tuple(having_key), set()).update(clusters)
    for shown, key in zip(
        found.select(*_KEY, "holders", "size").iter_rows(), wanted.select(_KEY).iter_rows(), strict=True
    ):
        *_, count, total = shown
        here, everybody = having[key], members[key[0]]
        rare = 2 * count < total
        what, clusters = ("only here", here) if rare else ("only missing here", everybody - here)
        yield json.dumps([*shown, what, sorted(clusters)], ensure_ascii=False)


def _spelled(kind: Any) -> dict[int, str]:
    return {int(member): member.name for member in kind}
