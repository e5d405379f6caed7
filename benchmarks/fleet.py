"""A fleet's comparison against Spark's own full outer join and one DuckDB process, on the same files in one run.

Run: ``python -m benchmarks.fleet [CLUSTERS] [BINDINGS]``; a thousand clusters with ten thousand bindings each by
default, one in a thousand different, on two cores. Sessions and workers are warm; the start is told apart.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import polars as pl
from pyspark.sql import SparkSession

from reconciler.adapters.spark.comparing import Rules, compare_fleet
from reconciler.adapters.spark.readings import Place
from reconciler.adapters.spark.session import spark_session
from reconciler.adapters.spark.store import FleetStore
from reconciler.adapters.spark.tables import DESIRED_SCHEMA, LIVE_SCHEMA, table_digest
from reconciler.adapters.spark.tasks import run_tasks
from reconciler.diff import TopicRules
from reconciler.fleet import COLUMNS, Bucket, Reading, Run, scope_digest
from reconciler.model import Scope

_ROWS = """
select 2::tinyint resource_type, 'team-' || ((i // 5) % 97) || '.orders-' || (i // 5) as name, 3::tinyint pattern_type,
  'User:svc-{cluster}-' || ((i // 5) % 200) principal, '*' host, (3 + i % 5)::tinyint operation,
  3::tinyint permission_type, {more}
from range({count}) numbers(i) where (i * 7919 + {cluster}) % 2000 <> {left_out} order by all
"""
_SIDES = {
    "live": ("bindings", "taken=now", LIVE_SCHEMA, "1::tinyint whose", 0),
    "desired": ("wishes", "key=now", DESIRED_SCHEMA, "'acls.yaml:' || (i // 5) || ':7' origin", 1),
}


def written(store: FleetStore, side: str, clusters: int, count: int) -> Run:
    """One side of the fleet: every two-thousandth binding is left out of it, another one on each side."""
    what, part, schema, more, left_out = _SIDES[side]
    con = duckdb.connect()
    readings = []
    for number in range(clusters):
        text = _ROWS.format(cluster=number, count=count, more=more, left_out=left_out)
        table = con.sql(text).to_arrow_table().cast(schema)
        name, size = Place(store.files, part, f"c{number}", "0").put(what, table)
        digest = table_digest(table)
        bucket = Bucket(name, table.num_rows, digest, table.num_rows, 0, digest, size)
        readings.append(Reading(f"c{number}", "id", "now", "", scope_digest(Scope()), (bucket,)))
    return Run("now", "now", tuple(readings))


def mostly_equal(desired: Run, live: Run, share: int = 100) -> Run:
    """The live run with all but one in ``share`` buckets the same as desired, by digest."""
    wanted = {reading.cluster: reading.buckets[0].digest for reading in desired.readings}
    readings = [
        reading
        if number % share == 0
        else replace(reading, buckets=(replace(reading.buckets[0], owned_digest=wanted[reading.cluster]),))
        for number, reading in enumerate(live.readings)
    ]
    return replace(live, readings=tuple(readings))


def by_outer_join(session: SparkSession, store: FleetStore, desired: Run, live: Run) -> int:
    """The same answer by Spark's own means."""
    sides = [
        session.read.option("basePath", store.files.address(base)).parquet(
            *(store.files.address(bucket.file) for reading in run.readings for bucket in reading.buckets)
        )
        for run, base in ((desired, "wishes"), (live, "bindings"))
    ]
    on = ["cluster", *COLUMNS]
    joined = sides[0].select(*on, "origin").join(sides[1].select(*on, "whose"), on, "full_outer")
    return int(joined.where("origin is null or whose is null").count())


def by_duckdb(store: FleetStore) -> int:
    """The same answer by one process on two threads."""
    con = duckdb.connect()
    con.execute("set threads=2")
    wishes, bindings = (f"read_parquet('{store.files.root}/{what}/**/*.parquet')" for what in ("wishes", "bindings"))
    using = ", ".join(COLUMNS)
    count = 0
    for one, other in ((wishes, bindings), (bindings, wishes)):
        found = con.execute(f"select count(*) from {one} a anti join {other} b using ({using}, cluster)").fetchone()  # noqa: S608
        count += found[0] if found else 0
    return count


def _peak(_units: Sequence[None], _attempt: str) -> list[str]:
    """The most memory that this worker ever had, in MB."""
    return [str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)]


def timed(what: str, work: Callable[[], Any], times: int = 2) -> tuple[float, Any]:
    """The quickest of some runs, printed."""
    best, result = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    print(f"{what:34}{best:9.2f} s", flush=True)
    return best, result


def main(clusters: int, count: int) -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as directory:
        store = FleetStore.at(directory)
        start = time.perf_counter()
        desired, live = written(store, "desired", clusters, count), written(store, "live", clusters, count)
        rows = sum(reading.rows for reading in live.readings)
        print(f"{clusters:,} clusters, {rows:,} bindings a side; written in {time.perf_counter() - start:.1f} s")
        start = time.perf_counter()
        with spark_session("local[2]", more={"spark.driver.memory": "6g"}) as session:
            print(f"{'session start':34}{time.perf_counter() - start:9.2f} s")
            rules = {reading.cluster: Rules(Scope(), TopicRules()) for reading in live.readings}

            def compared(run: Run) -> Any:
                return compare_fleet(session, store, desired, run, rules, "bench")

            own, drift = timed("fleet comparison", lambda: compared(live), 3)
            peak = max(map(int, run_tasks(session, [[None]] * 8, _peak)))
            nearly = mostly_equal(desired, live)
            few, skipping = timed("with 99 % of buckets equal", lambda: compared(nearly), 3)
            single, by_one = timed("one DuckDB process, two threads", lambda: by_duckdb(store))
            joined, by_spark = timed("Spark's full outer join", lambda: by_outer_join(session, store, desired, live))
        if not by_one == by_spark == drift.totals.changes:
            raise AssertionError(f"answers differ: {by_one}, {by_spark}, {drift.totals.changes}")
        print(f"{drift.totals.changes:,} differences; {rows * 2 / own / 1e6:.1f} million rows a second")
        print(f"against the outer join: {joined / own:.1f}×, against DuckDB: {own / single:.2f}×")
        print(f"bytes read with 99 % equal: {drift.bytes_read / skipping.bytes_read:.0f}× fewer, in {few:.2f} s")
        print(f"peak of one worker: {peak:,} MB")
        print(f"Polars {pl.__version__}, DuckDB {duckdb.__version__}")


if __name__ == "__main__":
    main(*(int(text) for text in (*sys.argv[1:], "1000", "10000")[:2]))
