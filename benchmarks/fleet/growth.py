"""How a comparison grows with the fleet, and what one very large cluster beside many small ones costs.

Run: ``python -m benchmarks.fleet.growth [MILLIONS …] [skew]``; 1, 10 and skew by default, 100 once in a while. Each is
a fleet of its own in a session of its own, on two cores, warm: seconds, and the peak memory of driver, JVM and a Python
worker.
"""

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from multiprocessing import get_context

from benchmarks.fleet.comparison import peak_of_a_worker
from benchmarks.fleet.fleets import even, mostly_equal, no_rules, written
from benchmarks.fleet.plans import family, kind_of, peak
from reconciler.parts.fleet.spark.engine import SparkEngine
from reconciler.parts.fleet.spark.session import spark_session
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.fleet.tasks.comparing import compare_fleet
from reconciler.results.fleet_drift import FleetRun, run_text


def skewed() -> dict[str, int]:
    """One cluster with ten million bindings beside ten thousand with a hundred each."""
    return {"giant": 10_000_000, **even(10_000, 100)}


def made(directory: str, sizes: Mapping[str, int]) -> tuple[FleetRun, FleetRun]:
    """Both sides, in a store in a directory."""
    store = store_at(directory)
    desired, live = (written(store, side, sizes) for side in ("desired", "live"))
    return desired, live


def measured(title: str, sizes: Mapping[str, int]) -> None:
    """Prints a line."""
    with tempfile.TemporaryDirectory() as directory:
        store = store_at(directory)
        start = time.perf_counter()
        # In a process of its own: what DuckDB takes would count as the driver's.
        with get_context("spawn").Pool(1) as apart:
            desired, live = apart.apply(made, (directory, sizes))
        making = time.perf_counter() - start
        rules, nearly = no_rules(live), mostly_equal(desired, live)
        with spark_session("local[2]") as session:

            def seconds(run: FleetRun) -> float:
                start = time.perf_counter()
                compare_fleet(SparkEngine(session), store, desired, run, rules, "growth")
                return time.perf_counter() - start

            times, few = sorted(seconds(live) for _ in range(3)), sorted(seconds(nearly) for _ in range(3))
            worker = peak_of_a_worker(session)
            driver = peak(os.getpid())
            jvm = max(peak(pid) for pid in family(os.getpid()) if kind_of(pid) == "jvm")
        rows = sum(reading.rows for reading in live.readings)
        size = sum(bucket.bytes for reading in live.readings for bucket in reading.buckets)
        buckets = sum(len(reading.buckets) for reading in live.readings)
        print(
            f"{title}: {len(sizes):,} clusters, {rows:,} bindings a side in {buckets:,} buckets, "
            f"{size / rows:.1f} bytes a binding, {len(run_text(live)) / buckets:.0f} bytes of header a bucket; "
            f"made in {making:.0f} s; compared in {times[1]:.2f} s ({times[0]:.2f}-{times[2]:.2f}), "
            f"99 % equal {few[1]:.2f} s; "
            f"peaks: driver {driver} MB, its JVM {jvm} MB, a worker {worker} MB",
            flush=True,
        )


def main(*what: str) -> None:
    """Prints a line for each."""
    for each in what or ("1", "10", "skew"):
        if each == "skew":
            measured("skew", skewed())
        else:
            measured(f"{each} million", even(int(each) * 100, 10_000))


if __name__ == "__main__":
    main(*sys.argv[1:])
