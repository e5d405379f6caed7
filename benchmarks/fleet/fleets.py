"""Fleets to measure on: made by DuckDB, in the files of a store, with one binding in a thousand different."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import duckdb

from reconciler.model.scope import Scope
from reconciler.parts.fleet.readings import Place
from reconciler.parts.fleet.store import FleetStore
from reconciler.parts.fleet.tables import DESIRED_SCHEMA, LIVE_SCHEMA, bucket_count, scope_digest, table_digest
from reconciler.parts.fleet.tasks.comparing import Rules
from reconciler.plan.difference import DiffRules
from reconciler.results.fleet_drift import Bucket, FleetRun, Reading

#: A principal has five operations on each of its topics; every fifth row begins another topic.
_ROWS: Final = """
select 2::tinyint resource_type, 'team-' || ((i // 5) % 97) || '.orders-' || (i // 5) as name, 3::tinyint pattern_type,
  'User:svc-{cluster}-' || ((i // 5) % 200) principal, '*' host, (3 + i % 5)::tinyint operation,
  3::tinyint permission_type, {more}
from range({count}) numbers(i)
where (i * 7919 + {seed}) % 2000 <> {left_out} and (i // 5) % {buckets} = {bucket} order by all
"""
_SIDES: Final = {
    "live": ("bindings", "taken=now", LIVE_SCHEMA, "1::tinyint whose", 0),
    "desired": ("wishes", "key=now", DESIRED_SCHEMA, "'acls.yaml:' || (i // 5) || ':7' origin", 1),
}


def even(clusters: int, bindings: int) -> dict[str, int]:
    """So many clusters of one size."""
    return {f"c{number}": bindings for number in range(clusters)}


def written(store: FleetStore, side: str, sizes: Mapping[str, int]) -> FleetRun:
    """One side of the fleet: every two-thousandth binding is left out of it, another one on each side."""
    con = duckdb.connect()
    con.execute("set threads=2")
    readings = []
    for number, (cluster, count) in enumerate(sizes.items()):
        total = bucket_count(count)
        buckets = tuple(_bucket(con, store, side, (cluster, number), (count, at, total)) for at in range(total))
        readings.append(Reading(cluster, "id", "now", "", scope_digest(Scope()), buckets))
    return FleetRun("now", "now", tuple(readings))


def _bucket(
    con: duckdb.DuckDBPyConnection, store: FleetStore, side: str, cluster: tuple[str, int], part: tuple[int, int, int]
) -> Bucket:
    what, directory, schema, more, left_out = _SIDES[side]
    (name, seed), (count, bucket, buckets) = cluster, part
    text = _ROWS.format(
        cluster=name, seed=seed, count=count, more=more, left_out=left_out, bucket=bucket, buckets=buckets
    )
    table = con.sql(text).to_arrow_table().cast(schema)
    file, size = Place(store.files, directory, name, "0").put(what, table, bucket)
    digest = table_digest(table)
    return Bucket(file, table.num_rows, digest, table.num_rows, 0, digest, size)


def mostly_equal(desired: FleetRun, live: FleetRun, share: int = 100) -> FleetRun:
    """The live run with all but one in ``share`` buckets the same as desired, by digest."""
    readings, number = [], 0
    for wanted, found in zip(desired.readings, live.readings, strict=True):
        buckets = []
        for ours, theirs in zip(wanted.buckets, found.buckets, strict=True):
            buckets.append(replace(theirs, owned_digest=ours.digest) if number % share else theirs)
            number += 1
        readings.append(replace(found, buckets=tuple(buckets)))
    return replace(live, readings=tuple(readings))


def no_rules(run: FleetRun) -> dict[str, Rules]:
    """Everything is in scope."""
    return {reading.cluster: Rules(Scope(), DiffRules()) for reading in run.readings}
