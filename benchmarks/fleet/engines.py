"""One comparison by every engine, each in a process of its own from start to answer, in one run.

Run: ``python -m benchmarks.fleet.engines [MILLIONS …]``; beyond 10 ours and DuckDB's, once. Wall seconds, processor
seconds of the process, its JVM and workers, which hardly change with what else the machine does, and the largest of
these in MB. DuckDB may take 6 GB, then it writes to disk.
Spark at its best is an ordinary session (both of Java's compilers, adaptive execution) on files that were compacted
before, four a side. ``LOCAL_TASKS`` in ``reconciler/parts/fleet/engine.py`` comes from here.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

import duckdb

from benchmarks.fleet.fleets import even, written
from benchmarks.fleet.plans import family, peak, processor_seconds
from reconciler.parts.fleet.tables import COLUMNS, store_at
from reconciler.results.fleet_drift import run_text

_OURS: Final = """
import sys, pathlib
from reconciler.model.frozen import collect_rarely
collect_rarely()  # as the command begins
from reconciler.model.scope import Scope
from reconciler.parts.fleet.app.engines import EngineName, EngineOptions, chosen_engine
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.fleet.tasks.comparing import Rules, compare_fleet
from reconciler.plan.difference import DiffRules
from reconciler.results.fleet_drift import parse_run

place, name = sys.argv[1:]
with chosen_engine(EngineOptions(EngineName(name))) as choice:
    if name == "spark":
        choice.begin()
    desired, live = (parse_run(pathlib.Path(place, side).read_text()) for side in ("desired", "live"))
    rules = {reading.cluster: Rules(Scope(), DiffRules()) for reading in live.readings}
    drift = compare_fleet(choice(), store_at(place), desired, live, rules, "engines")
    assert not drift.failed
    print(drift.totals.changes, flush=True)
    sys.stdin.read()
"""
_POLARS: Final = """
import sys
import polars as pl

place, columns = sys.argv[1], sys.argv[2].split()
sides = [pl.read_parquet(f"{place}/{side}/**/*.parquet", columns=columns, hive_partitioning=False)
         for side in ("wishes", "bindings")]
print(sum(one.join(other, on=columns, how="anti").height for one, other in (sides, sides[::-1])), flush=True)
sys.stdin.read()
"""
_DUCKDB: Final = """
import sys
import duckdb

place, columns = sys.argv[1], sys.argv[2].replace(" ", ", ")
duckdb.execute("set threads=2; set enable_progress_bar=false; set memory_limit='6GB'")
duckdb.execute(f"set temp_directory='{place}/duckdb'; set max_temp_directory_size='25GB'")
sides = [f"read_parquet('{place}/{side}/**/*.parquet')" for side in ("wishes", "bindings")]
count = "select count(*) from {} a anti join {} b using (%s)" % columns
print(sum(duckdb.sql(count.format(one, other)).fetchall()[0][0] for one, other in (sides, sides[::-1])), flush=True)
sys.stdin.read()
"""
_SPARK: Final = """
import sys
from pyspark.sql import SparkSession

place, columns = sys.argv[1], sys.argv[2].split()
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.ui.showConsoleProgress", "false")
session = builder.config("spark.sql.shuffle.partitions", "8").config("spark.driver.memory", "4g").getOrCreate()
session.sparkContext.setLogLevel("ERROR")
one, other = (session.read.parquet(f"{place}/compacted/{side}").select(columns) for side in ("wishes", "bindings"))
print(one.join(other, columns, "anti").count() + other.join(one, columns, "anti").count(), flush=True)
sys.stdin.read()
"""
#: What runs, and the argument after the place. A principal's name has its cluster, so that the columns tell clusters
#: apart.
ENGINES: Final = {
    "this tool, in its process": (_OURS, "local"),
    "one Polars process": (_POLARS, " ".join(COLUMNS)),
    "one DuckDB process": (_DUCKDB, " ".join(COLUMNS)),
    "this tool, on Spark": (_OURS, "spark"),
    "Spark at its best": (_SPARK, " ".join(COLUMNS)),
}
_ROUNDS: Final = 2
#: Beyond so many millions, once, and without those that hold both sides in memory.
_MOST_OF_ALL: Final = 10


def compacted(place: str) -> None:
    """Each side in four files."""
    con = duckdb.connect()
    con.execute("set threads=1")
    names = ", ".join(COLUMNS)
    for side in ("wishes", "bindings"):
        Path(place, "compacted", side).mkdir(parents=True)
        for part in range(4):
            rows = f"select {names} from read_parquet('{place}/{side}/**/*.parquet') where hash(principal) % 4 = {part}"  # noqa: S608
            con.execute(f"copy ({rows}) to '{place}/compacted/{side}/{part}.parquet' (compression zstd)")


class Answer(NamedTuple):
    """Wall and processor seconds until it is there, the number of differences, and the largest process in MB."""

    seconds: float
    processor: float
    differences: int
    peak: int


def compared(place: str, name: str) -> Answer:
    """One engine from its start to its answer."""
    script, argument = ENGINES[name]
    start = time.perf_counter()
    words = [sys.executable, "-c", script, place, argument]
    # Compiled code is kept, as of any package that is installed: else ours alone is compiled at each start.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        differences = int(process.stdout.readline())
        seconds = time.perf_counter() - start
        pids = family(process.pid)
        processor = sum(processor_seconds(pid, with_children=True) for pid in pids)
        answer = Answer(seconds, processor, differences, max(map(peak, pids)))
        print(name, answer, file=sys.stderr, flush=True)
        return answer


def main() -> None:
    """Print a table, the engines in turn in each round; the least of each counts."""
    for millions in map(float, sys.argv[1:] or ("0.1", "1")):
        large = millions > _MOST_OF_ALL
        engines = [name for name, (script, _) in ENGINES.items() if not large or script in (_OURS, _DUCKDB)]
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as place:
            for side in ("desired", "live"):
                run = written(store_at(place), side, even(int(millions * 100), 10_000))
                Path(place, side).write_text(run_text(run), encoding="utf-8")
            if not large:
                compacted(place)
            print(f"{millions:g} million bindings a side, made in {time.perf_counter() - start:.0f} s", flush=True)
            rounds = [{name: compared(place, name) for name in engines} for _ in range(1 if large else _ROUNDS)]
        answers = {found.differences for each in rounds for found in each.values()}
        if len(answers) != 1:
            raise AssertionError(f"answers differ: {rounds}")
        print(f"{answers.pop():,} differences, {len(rounds)} rounds", flush=True)
        for name in engines:
            seconds, processor, _, most = (min(each) for each in zip(*(found[name] for found in rounds), strict=True))
            print(f"{name:28}{processor:7.1f} processor s, {seconds:7.1f} s, {most:7,} MB", flush=True)


if __name__ == "__main__":
    main()
