"""A fleet's comparison on a master with workers of one core each: one worker against two, and the local session.

Run: ``python -m benchmarks.fleet.workers [CLUSTERS] [BINDINGS] [ROUNDS]``; a thousand clusters with ten thousand
bindings each by default. In every round each has a session of its own, in which the first comparison is not counted.
The master and the JVMs of driver and executors share the machine's cores with the workers.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.fleet.fleets import even, no_rules, written
from benchmarks.fleet.spark_cluster import spark_cluster
from reconciler.parts.fleet.spark.engine import SparkEngine
from reconciler.parts.fleet.spark.session import spark_session
from reconciler.parts.fleet.store import FleetStore
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.fleet.tasks.comparing import compare_fleet
from reconciler.results.fleet_drift import FleetRun

ROOT: Final = str(Path(__file__).parents[2])
_EACH: Final = 3


def seconds_of(master: str, workers: int, store: FleetStore, desired: FleetRun, live: FleetRun) -> tuple[float, int]:
    """The median of a few comparisons, and how many differences they find."""
    more = {"spark.driver.memory": "2g"}
    if not master.startswith("local"):
        more |= {"spark.cores.max": str(workers), "spark.executor.cores": "1", "spark.executor.memory": "1g"}
    words = (f"--conf {name}={value}" for name, value in more.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join((*words, "pyspark-shell"))
    with spark_session(master) as session:
        found = []
        for _ in range(_EACH + 1):
            start = time.perf_counter()
            drift = compare_fleet(SparkEngine(session), store, desired, live, no_rules(live), "workers")
            found.append(time.perf_counter() - start)
    return statistics.median(found[1:]), drift.totals.changes


def main(clusters: int = 1_000, count: int = 10_000, rounds: int = 3) -> None:
    """Prints a line for each, and the ratio of one worker to two."""
    os.environ["PYTHONPATH"] = ROOT  # the executors' Python inherits it
    with tempfile.TemporaryDirectory() as directory:
        store = store_at(f"{directory}/store")
        desired, live = (written(store, side, even(clusters, count)) for side in ("desired", "live"))
        print(f"{clusters:,} clusters, {sum(one.rows for one in live.readings):,} bindings a side, {rounds} rounds")
        with spark_cluster(Path(directory)) as (master, _):
            shapes = {
                "one worker": (master, 1),
                "two workers": (master, 2),
                "local session, two threads": ("local[2]", 2),
            }
            found: dict[str, list[float]] = {name: [] for name in shapes}
            answers = set()
            for _ in range(rounds):
                for name, shape in shapes.items():
                    seconds, changes = seconds_of(*shape, store, desired, live)
                    found[name].append(seconds)
                    answers.add(changes)
    if len(answers) != 1:
        raise AssertionError(f"answers differ: {answers}")
    for name, own in found.items():
        print(f"{name:28}{statistics.median(own):7.2f} s ({min(own):.2f}-{max(own):.2f})")
    ratios = sorted(one / two for one, two in zip(found["one worker"], found["two workers"], strict=True))
    print(f"{answers.pop():,} differences")
    print(f"one worker to two: {statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
