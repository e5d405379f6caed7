"""``fleet plan`` of many clusters from snapshots as a whole process: seconds, and the memory of its processes.

Run: ``python -m benchmarks.fleet.plans [CLUSTERS [BINDINGS [ROUNDS [OTHER_CHECKOUT]]]]``; a thousand clusters with a
thousand bindings each by default, one in a hundred different, in ten waves, and two rounds after one that is not
counted. The other checkout runs in turn. Processor time and memory (``VmHWM``, the most that a process ever had) are
looked at every tenth of a second: of the driver, the Python workers, and the JVM, whose heap grows as it may.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.bindings import EACH
from benchmarks.manifests import principals
from benchmarks.scaling import bindings
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text

ROOT: Final = Path(__file__).parents[2]
_CLUSTER: Final = """apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: c{number}, labels: {{wave: w{wave}}}}}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
"""
_WAVES: Final = 10
#: One principal in so many is not there, and another one is.
_DIFFERENT: Final = 200
_LOOK_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 500.0
_START: Final = "import sys; from reconciler.cli.main import main; sys.exit(main())"


class Use(NamedTuple):
    """Seconds of the command, processor seconds of all its processes, the largest memory of each kind in MB."""

    seconds: float
    processor: float
    driver: int
    worker: int
    jvm: int


def prepared(root: Path, clusters: int, count: int) -> None:
    """Manifests of a fleet in waves, and a snapshot of each cluster."""
    (root / "manifests").mkdir()
    (root / "snapshots").mkdir()
    declared = [_CLUSTER.format(number=number, wave=number % _WAVES) for number in range(clusters)]
    waves = "".join(f"    - {{name: w{n}, clusters: {{matchLabels: {{wave: w{n}}}}}}}\n" for n in range(_WAVES))
    fleet = f"apiVersion: reconciler/v1\nkind: Fleet\nmetadata: {{name: all}}\nspec:\n  waves:\n{waves}"
    (root / "manifests" / "clusters.yaml").write_text("---\n".join([*declared, fleet]), encoding="utf-8")
    (root / "manifests" / "acls.yaml").write_text(principals(count // EACH), encoding="utf-8")
    shift = max(1, count // EACH // _DIFFERENT)
    for number in range(clusters):
        state = ClusterState(f"id-{number}", frozenset(bindings(shift, count // EACH + shift)))
        (root / "snapshots" / f"c{number}.json").write_text(snapshot_text(state), encoding="utf-8")


def planned(checkout: Path, root: Path) -> Use:
    """One ``fleet plan`` to its end."""
    out = root / "plans"
    shutil.rmtree(out, ignore_errors=True)
    arguments = ["plan", "manifests", "--out", str(out), "--snapshots", "snapshots", "--allow-deletes"]
    return watched(checkout, root, arguments)


def watched(checkout: Path, root: Path, arguments: list[str], patience: float = _PATIENCE_SECONDS) -> Use:
    """One command of ``fleet`` to its end; raises ``RuntimeError`` if it fails. Differences are no failure."""
    # Compiled code is kept, as of any package that is installed.
    left = ("CI", "PYTHONDONTWRITEBYTECODE")
    kept = {
        name: value for name, value in os.environ.items() if name not in left and not name.startswith("RECONCILER_")
    }
    environment = {**kept, "XDG_CACHE_HOME": str(root / "cache"), "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-c", _START, "fleet", *arguments]
    start = time.perf_counter()
    most: dict[str, int] = {}
    spent: dict[int, float] = {}
    with (root / "said").open("w+", encoding="utf-8") as said:
        process = subprocess.Popen(command, cwd=root, env=environment, stdout=said, stderr=said)
        while process.poll() is None and time.perf_counter() - start < patience:
            for pid in family(process.pid):
                kind = "driver" if pid == process.pid else kind_of(pid)
                most[kind] = max(most.get(kind, 0), peak(pid))
                spent[pid] = max(spent.get(pid, 0), processor_seconds(pid))
            time.sleep(_LOOK_SECONDS)
        seconds = time.perf_counter() - start
        if process.poll() not in (0, 2):
            process.kill()
            said.seek(0)
            raise RuntimeError(f"status {process.wait()}\n{said.read()[-2_000:]}")
    return Use(seconds, sum(spent.values()), most["driver"], most.get("worker", 0), most.get("jvm", 0))


def processor_seconds(pid: int, *, with_children: bool = False) -> float:
    """Of a process, or with the children that it waited for."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return sum(map(int, fields[11 : 15 if with_children else 13])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    found = [pid]
    for each in found:
        with suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def kind_of(pid: int) -> str:
    """``jvm`` or ``worker``: Spark's processes are of Java, or of Python."""
    with suppress(OSError):
        return "jvm" if "java" in Path(f"/proc/{pid}/comm").read_text() else "worker"
    return "gone"


def peak(pid: int) -> int:
    """The most memory that a process ever had, in MB."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) // 1024
    return 0


def main(clusters: int = 1_000, count: int = 1_000, rounds: int = 2, other: str | None = None) -> None:
    """Prints a line for each checkout."""
    checkouts = [ROOT, *([Path(other).resolve()] if other else [])]
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        prepared(root, clusters, count)
        uses = [[planned(checkout, root) for checkout in checkouts] for _ in range(rounds + 1)][min(rounds, 1) :]
        size = sum(file.stat().st_size for file in (root / "plans").rglob("*.json")) / 1e6
        print(f"{clusters:,} clusters with {count:,} bindings, {size:,.1f} MB of plans; median (range)")
        for at, checkout in enumerate(checkouts):
            own = [each[at] for each in uses]
            told = (f"{name} {_spread([one[n] for one in own])}" for n, name in enumerate(Use._fields))
            print(f"{'other' if at else checkout.name}: {', '.join(told)}", flush=True)


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):,.1f} ({min(values):,.1f}–{max(values):,.1f})"


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*map(int, given[:3]), *given[3:4])  # type: ignore[arg-type]
