"""A fleet's comparison against Spark's own full outer join and one DuckDB process, on the same files in one run.

Run: ``python -m benchmarks.fleet.comparison [CLUSTERS] [BINDINGS] [ROUNDS]``; a thousand clusters with ten thousand
bindings each by default. Sessions and workers are warm; the start is told apart. In every round each contender runs
once, so that other work on the machine meets all alike; ratios are medians over the rounds.
"""

import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import polars as pl
from pyspark.sql import SparkSession

from benchmarks.fleet.fleets import even, mostly_equal, no_rules, written
from reconciler.parts.fleet.spark.engine import SparkEngine
from reconciler.parts.fleet.spark.session import spark_session
from reconciler.parts.fleet.store import FleetStore
from reconciler.parts.fleet.tables import COLUMNS, store_at
from reconciler.parts.fleet.tasks.comparing import compare_fleet
from reconciler.results.fleet_drift import FleetRun


def by_outer_join(session: SparkSession, store: FleetStore, desired: FleetRun, live: FleetRun) -> int:
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


def peak_of_a_worker(session: SparkSession) -> int:
    """The most memory that any Python worker ever had, in MB."""
    return max(map(int, SparkEngine(session).run([[None]] * 8, _peak, "peak")))


def _peak(_units: Sequence[None], _attempt: str) -> list[str]:
    return [str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)]


def rounds_of(contenders: dict[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Seconds of each contender by round, and what each answered; one round before them warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    answers: dict[str, Any] = {}
    for number in range(rounds + 1):
        for name, work in contenders.items():
            start = time.perf_counter()
            answers[name] = work()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return seconds, answers


def _ratio(one: list[float], other: list[float]) -> str:
    found = sorted(a / b for a, b in zip(one, other, strict=True))
    return f"{statistics.median(found):.2f} ({found[0]:.2f}-{found[-1]:.2f})"


def main(clusters: int = 1_000, count: int = 10_000, rounds: int = 5) -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as directory:
        store = store_at(directory)
        desired, live = (written(store, side, even(clusters, count)) for side in ("desired", "live"))
        nearly, rules = mostly_equal(desired, live), no_rules(live)
        rows = sum(reading.rows for reading in live.readings)
        print(f"{clusters:,} clusters, {rows:,} bindings a side, {rounds} rounds")
        start = time.perf_counter()
        os.environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.driver.memory=6g pyspark-shell"
        with spark_session("local[2]") as session:
            print(f"session start {time.perf_counter() - start:.1f} s", flush=True)
            seconds, answers = rounds_of(
                {
                    "fleet comparison": lambda: compare_fleet(
                        SparkEngine(session), store, desired, live, rules, "bench"
                    ),
                    "one DuckDB process, two threads": lambda: by_duckdb(store),
                    "Spark's full outer join": lambda: by_outer_join(session, store, desired, live),
                    "with 99 % of buckets equal": lambda: compare_fleet(
                        SparkEngine(session), store, desired, nearly, rules, "few"
                    ),
                },
                rounds,
            )
            peak = peak_of_a_worker(session)
        _print(seconds, answers, peak)


def _print(seconds: dict[str, list[float]], answers: dict[str, Any], peak: int) -> None:
    for name, found in seconds.items():
        print(f"{name:34}{statistics.median(found):7.2f} s ({min(found):.2f}-{max(found):.2f})")
    own, by_one, by_spark, few = seconds.values()
    drift, single, joined, skipping = answers.values()
    if not single == joined == drift.totals.changes:
        raise AssertionError(f"answers differ: {single}, {joined}, {drift.totals.changes}")
    print(f"{drift.totals.changes:,} differences")
    print(f"outer join to own: {_ratio(by_spark, own)}; own to DuckDB: {_ratio(own, by_one)}")
    bytes_fewer = drift.bytes_read / skipping.bytes_read
    print(
        f"with 99 % equal: {bytes_fewer:.0f}x fewer bytes, {statistics.median(few):.2f} s; a worker's peak {peak:,} MB"
    )
    print(f"Polars {pl.__version__}, DuckDB {duckdb.__version__}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
