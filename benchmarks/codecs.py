"""What plan files and snapshots cost: ``python -m benchmarks.codecs``; seconds of processor time and peak memory.

Each figure is of a process of its own. Another checkout is measured in turn with this one: ``… codecs OTHER_CHECKOUT``.
"""

import datetime
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bindings import rows
from reconciler.model.desired import Declaration, DesiredState, Origin
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.tables import binding_of
from reconciler.plan.file import parse_plan, plan_text
from reconciler.plan.proposal import Options, Terms
from reconciler.plan.propose import Request, propose
from reconciler.snapshot.document import parse_snapshot, snapshot_text

_BINDINGS = 1_000_000
_STEPS = 150_000
_RUNS = 5
_PLACE = Origin("acls.yaml", 1, 1)


def _snapshot() -> str:
    return snapshot_text(ClusterState("bench", frozenset(map(binding_of, rows(0, _BINDINGS // 10)))))


def _plan() -> str:
    """Every step creates: with as many deletions beside them, the review refuses to decide who gains and who loses."""
    wanted = {binding_of(row): Declaration(_PLACE) for row in rows(0, _STEPS // 10)}
    request = Request(datetime.date(2026, 1, 1), Options())
    return plan_text(propose(DesiredState(wanted), ClusterState("bench"), Terms("bench"), request))


def _measured(what: str, file: Path) -> None:
    """Prints seconds and MiB of one reading or writing."""
    kind, way = what.split("-")
    text = file.read_text(encoding="utf-8")
    read: Callable[[str], object] = parse_plan if kind == "plan" else parse_snapshot
    write: Callable[..., str] = plan_text if kind == "plan" else snapshot_text
    value = read(text) if way == "write" else None  # what is not measured, though its memory is
    start = time.process_time()
    if way == "read":
        read(text)
    else:
        write(value)
    seconds = time.process_time() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _run(checkout: Path, *arguments: str) -> list[float]:
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-m", "benchmarks.codecs", *arguments]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def main(other: Path | None = None) -> None:
    """Prints a row for reading and writing of each file; with ``other``, its figures and the ratios pair by pair."""
    here = Path(__file__).parent.parent
    checkouts = [here, *([other] if other else [])]
    with tempfile.TemporaryDirectory() as directory:
        for kind in ("plan", "snapshot"):
            files = [Path(directory, f"{kind}-{number}") for number in range(len(checkouts))]
            for checkout, file in zip(checkouts, files, strict=True):
                _run(checkout, "make", kind, str(file))
            for way in ("write", "read"):
                pairs = list(zip(checkouts, map(str, files), strict=True))
                found = [[_run(checkout, f"{kind}-{way}", file) for checkout, file in pairs] for _ in range(_RUNS)]
                _print(f"{way} a {kind}", found)


def _print(what: str, found: list[list[list[float]]]) -> None:
    for index, unit in enumerate(("s", "MiB")):
        medians = [statistics.median(run[number][index] for run in found) for number in range(len(found[0]))]
        text = "  ".join(f"{median:9.2f} {unit}" for median in medians)
        ratio = statistics.median(run[0][index] / run[-1][index] for run in found)
        print(f"{what:20} {text}" + (f"  ratio {ratio:.2f}" if len(medians) > 1 else ""))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", kind, file]:
            Path(file).write_text(_plan() if kind == "plan" else _snapshot(), encoding="utf-8")
        case [what, file]:
            _measured(what, Path(file))
        case [checkout]:
            main(Path(checkout).resolve())
        case _:
            main()
