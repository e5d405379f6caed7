"""Commands over a fleet in files, as whole processes with all that they start, and against another checkout in turn.

Run: ``python -m benchmarks.fleet.commands [CLUSTERS [BINDINGS [ROUNDS [OTHER_CHECKOUT]]]]``; a hundred clusters with
ten thousand bindings each by default, one in two thousand different on each, and three rounds. The first commands,
which make the archive of Spark's classes and compile the manifests, are told apart. Processor time includes the JVM and
the Python workers, also those that end after the command.
"""

import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from benchmarks.bindings import EACH
from benchmarks.manifests import principals
from benchmarks.paired import Cost
from benchmarks.scaling import bindings
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import snapshot_text

ROOT: Final = Path(__file__).parents[2]
_CLUSTER: Final = """apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: c{number}, labels: {{ring: r{ring}}}}}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
"""
_RINGS: Final = 4
#: Of the bindings of a cluster, one in so many is not declared, or declared and not there.
_DIFFERENT: Final = 2_000
#: One topic in so many that bindings name exists.
_TOPICS: Final = 30
#: linux/prctl.h: whoever loses its parent becomes a child of this process.
_PR_SET_CHILD_SUBREAPER: Final = 36
_PATIENCE_SECONDS: Final = 900.0
_START: Final = "import sys; from reconciler.cli.main import main; sys.exit(main())"


def prepared(root: Path, clusters: int, count: int) -> None:
    """Manifests, a file of facts and a snapshot of each cluster."""
    manifests, snapshots = root / "manifests", root / "snapshots"
    manifests.mkdir()
    snapshots.mkdir()
    declared = "---\n".join(_CLUSTER.format(number=number, ring=number % _RINGS) for number in range(clusters))
    (manifests / "clusters.yaml").write_text(declared, encoding="utf-8")
    (root / "facts.yaml").write_text(declared, encoding="utf-8")
    (manifests / "acls.yaml").write_text(principals(count // EACH), encoding="utf-8")
    for number in range(clusters):
        (snapshots / f"c{number}.json").write_text(snapshot_text(state(number, count)), encoding="utf-8")


def state(number: int, count: int) -> ClusterState:
    """What cluster ``number`` has."""
    shared, half = list(bindings(0, count // EACH)), max(1, count // _DIFFERENT // 2)
    missing = {(number * 7919 + each * 104_729) % count for each in range(half)}
    foreign = list(bindings(count + number * half, count + (number + 1) * half))[::EACH]
    names = sorted({binding.pattern.name for binding in shared if binding.pattern.resource_type.name == "TOPIC"})
    return ClusterState(
        f"id-{number}",
        frozenset(binding for at, binding in enumerate(shared) if at not in missing) | frozenset(foreign),
        {name: Topic(name, 3, 3) for name in names[::_TOPICS]},
    )


def questions(root: Path) -> dict[str, list[str]]:
    """What is measured, by name; each leaves the store as it was, but for a snapshot, which adds a run."""
    place, store = str(root / "manifests"), ["--store", str(root / "store")]
    facts = ["--connections", str(root / "facts.yaml")]
    where = ["-f", place, *store, *facts]
    return {
        "fleet snapshot": ["fleet", "snapshot", place, *store, "--snapshots", str(root / "snapshots"), "--keep", "2"],
        "fleet drift": ["fleet", "drift", place, *store, *facts],
        "fleet query outliers": ["fleet", "query", "outliers", *where],
        "fleet query blast-radius": ["fleet", "query", "blast-radius", *where],
        "fleet query who-can": ["fleet", "query", "who-can", "WRITE", "topic/t7.a", *where],
    }


def run(checkout: Path, root: Path, arguments: list[str]) -> Cost:
    """One command to its end and the end of all that it started; raises ``RuntimeError`` if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _START, *arguments],
        cwd=root,
        env={**_environment(root), "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE_SECONDS,
    )
    wall = time.perf_counter() - start
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    # Differences are no failure of the command.
    if done.returncode not in (0, 2):
        raise RuntimeError(f"{' '.join(arguments)}: status {done.returncode}\n{done.stdout[-999:]}{done.stderr[-999:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _environment(root: Path) -> dict[str, str]:
    """With a cache of its own, in which the first command leaves its archive."""
    kept = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("RECONCILER_")}
    return {**kept, "XDG_CACHE_HOME": str(root / "cache")}


def measured(root: Path, rounds: int, checkouts: list[Path]) -> Iterator[str]:
    """A line for each command: seconds and processor time, and the ratio of processor time pair by pair."""
    asked = questions(root)
    for name, arguments in asked.items():
        first = run(checkouts[0], root, arguments)
        yield f"{name + ', first':28}{first.wall:7.1f} s {first.cpu:8.1f} s"
    for name, arguments in asked.items():
        costs = [[run(checkout, root, arguments) for checkout in checkouts] for _ in range(rounds)]
        own = [each[0] for each in costs]
        line = f"{name:28}{_spread([one.wall for one in own])}{_spread([one.cpu for one in own])}"
        if len(checkouts) > 1:
            other = [each[1] for each in costs]
            line += f"{_spread([one.wall for one in other])}{_spread([one.cpu for one in other])}"
            line += f"{statistics.median(a.cpu / b.cpu for a, b in costs):7.2f}"
        yield line


def _spread(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):7.1f} s ({min(seconds):.1f}–{max(seconds):.1f})"


def main(clusters: int = 100, count: int = 10_000, rounds: int = 3, other: str | None = None) -> None:
    """Prints the table."""
    # The JVM and its workers outlive a command by moments: what they take counts too.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    checkouts = [ROOT, *([Path(other).resolve()] if other else [])]
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        prepared(root, clusters, count)
        print(f"{clusters:,} clusters with {count:,} bindings: seconds, processor time" + ", the other's" * bool(other))
        for line in measured(root, rounds, checkouts):
            print(line, flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*map(int, given[:3]), *given[3:4])  # type: ignore[arg-type]
