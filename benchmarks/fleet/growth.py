"""How a comparison grows with the fleet, and what one very large cluster beside many small ones costs.

Run: ``python -m benchmarks.fleet.growth [MILLIONS …] [skew] [giant]``; 1, 10 and skew by default, 100 once in a while.
Each is a fleet of its own in a session of its own, on two cores, warm: seconds, and the peak memory of driver, JVM and
a Python worker. ``giant`` is ``fleet snapshot``, ``drift`` and ``plan`` on Spark, of one cluster with five million
bindings of which manifests declare half a million and ignore the others.
"""

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from benchmarks.bindings import EACH
from benchmarks.fleet.comparison import peak_of_a_worker
from benchmarks.fleet.fleets import even, mostly_equal, no_rules, written
from benchmarks.fleet.plans import ROOT, family, kind_of, peak, watched
from benchmarks.manifests import principals
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.spark.engine import SparkEngine
from reconciler.parts.fleet.spark.session import spark_session
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.fleet.tasks.comparing import compare_fleet
from reconciler.results.fleet_drift import FleetRun, run_text
from reconciler.snapshot.document import snapshot_text


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


_GIANT: Final = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: giant}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
  ignore: [{principals: [{prefix: "User:other-"}]}]
"""
_IN_A_FILE: Final = 20_000
_HOUR: Final = 3_600.0


def giant_files(root: Path, live: int, declared: int) -> None:
    """Manifests and a snapshot, which is written bit by bit."""
    for name in ("manifests", "snapshots"):
        (root / name).mkdir()
    (root / "manifests" / "clusters.yaml").write_text(_GIANT, encoding="utf-8")
    documents = principals(declared // EACH).split("---\n")
    for at in range(0, len(documents), _IN_A_FILE):
        several = "---\n".join(documents[at : at + _IN_A_FILE])
        (root / "manifests" / f"acls-{at}.yaml").write_text(several, encoding="utf-8")
    before, after = snapshot_text(ClusterState("giant")).split('"acls": []')
    with (root / "snapshots" / "giant.json").open("w", encoding="utf-8") as file:
        file.write(f'{before}"acls": [')
        for number in range(live // EACH):
            who = f"User:{'svc' if number < declared // EACH else 'other'}-{number}"
            on = [*(f'TOPIC", "name": "t{number}.{topic}' for topic in "abc"), f'GROUP", "name": "g{number}']
            for at, pattern in enumerate(on):
                operations = '"READ", "WRITE", "DESCRIBE"' if pattern.startswith("TOPIC") else '"READ"'
                group = f'"patternType": "LITERAL", "entries": [["{who}", "*", "ALLOW", {operations}]]'
                file.write(f'{"," if number or at else ""}\n{{"resourceType": "{pattern}", {group}}}')
        file.write(f"]{after}")


def giant(live: int = 5_000_000, declared: int = 500_000) -> None:
    """Prints a line for each command."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        giant_files(root, live, declared)
        patience, store = ["--engine", "spark", "--timeout", str(_HOUR)], ["--store", "store"]
        commands = {
            "snapshot": ["snapshot", "manifests", *store, "--snapshots", "snapshots", *patience],
            "drift": ["drift", "manifests", *store, "--engine", "spark"],
            "plan": ["plan", "manifests", "--out", "plans", "--snapshots", "snapshots", *patience],
        }
        print(f"one cluster with {live:,} bindings, {declared:,} declared", flush=True)
        for name, arguments in commands.items():
            use = watched(ROOT, root, arguments, _HOUR)
            print(
                f"fleet {name}: {use.seconds:.0f} s, {use.processor:.0f} processor s; "
                f"peaks: driver {use.driver:,} MB, its JVM {use.jvm:,} MB, a worker {use.worker:,} MB",
                flush=True,
            )


def main(*what: str) -> None:
    """Prints a line for each."""
    for each in what or ("1", "10", "skew"):
        if each == "skew":
            measured("skew", skewed())
        elif each == "giant":
            giant()
        else:
            measured(f"{each} million", even(int(each) * 100, 10_000))


if __name__ == "__main__":
    main(*sys.argv[1:])
