"""Where this process is done before Spark has started: one comparison by each engine, in a process of its own.

Run: ``python -m benchmarks.fleet.engines [MILLIONS …]``. Seconds from start to end, and processor seconds of the
process with its JVM and workers. ``LOCAL_TASKS`` in ``reconciler/parts/fleet/engine.py`` comes from here.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.fleet.fleets import even, written
from benchmarks.fleet.plans import family
from reconciler.parts.fleet.tables import store_at
from reconciler.results.fleet_drift import run_text

_COMPARE = """
import sys, pathlib
from reconciler.parts.fleet.app.runs import EngineName, EngineOptions, chosen_engine
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.fleet.tasks.comparing import compare_fleet
from reconciler.results.fleet_drift import parse_run
from benchmarks.fleet.fleets import no_rules

place, name = sys.argv[1:]
with chosen_engine(EngineOptions(EngineName(name))) as choice:
    if name == "spark":
        choice.begin()
    desired, live = (parse_run(pathlib.Path(place, side).read_text()) for side in ("desired", "live"))
    drift = compare_fleet(choice(), store_at(place), desired, live, no_rules(live), "engines")
    assert not drift.failed and len(drift.differing) == len(live.readings)
    print("done", flush=True)
    sys.stdin.read()
"""
_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid: int) -> float:
    """Of a process, with the children that it waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


def compared(place: str, engine: str) -> tuple[float, float]:
    """Wall and processor seconds until the answer is there."""
    start = time.perf_counter()
    words = [sys.executable, "-c", _COMPARE, place, engine]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        wall = time.perf_counter() - start
        return wall, sum(map(processor_seconds, {process.pid, *family(process.pid)}))


def main() -> None:
    """Print a table, the engines in turn."""
    print("| bindings a side | local: wall s | processor s | Spark: wall s | processor s |\n|---|---|---|---|---|")
    for millions in map(float, sys.argv[1:] or ("0.1", "0.5", "1", "2", "4")):
        with tempfile.TemporaryDirectory() as place:
            for side in ("desired", "live"):
                run = written(store_at(place), side, even(int(millions * 100), 10_000))
                Path(place, side).write_text(run_text(run), encoding="utf-8")
            rounds = [[compared(place, engine) for engine in ("local", "spark")] for _ in range(3)]
        best = [min(each[index] for each in rounds) for index in (0, 1)]
        print(f"| {millions:g} M | " + " | ".join(f"{wall:.1f} | {used:.1f}" for wall, used in best) + " |", flush=True)


if __name__ == "__main__":
    main()
