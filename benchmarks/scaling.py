"""How commands grow with a cluster: 10,000 bindings of a snapshot and more, in whole processes.

Run: ``python -m benchmarks.scaling [COUNT …]``. Prints a table of seconds and peak memory, and draws
``docs/scaling.svg``. One binding in a hundred differs from the manifests: half of those are not there yet, half are
nobody's. ``plan`` and ``lint`` read manifests; ``who-can``, ``explain``, ``export`` and ``snapshot`` (an export that is
a snapshot again) read the snapshot alone. The operator's file states the facts that no API tells, as for a real
cluster: without it a plan is compared for both values of default-allow (``plan, no facts``).
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.bindings import EACH, rows
from benchmarks.log_plot import Curve, drawn
from benchmarks.manifests import principals
from benchmarks.startup import RECONCILER
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text

#: What a run of all benchmarks has time for; larger ones are given as arguments.
SIZES: Final = (10_000, 100_000)
PICTURE: Final = Path(__file__).parents[1] / "docs" / "scaling.svg"
CLUSTER: Final = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: bench}
spec:
  bootstrapServers: [localhost:9092]
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
"""
#: Principals whose manifests are in one file.
_IN_A_FILE: Final = 10_000


class Run(NamedTuple):
    """What one process took: seconds by the clock and of processor time, and the most memory that it had, in bytes."""

    wall: float
    cpu: float
    peak: int


def bindings(first: int, last: int) -> Iterator[AclBinding]:
    """Those of principals from ``first`` up to ``last``, equal parts being one object."""
    pattern: ResourcePattern | None = None
    for kind, name, pattern_type, who, host, operation, permission in rows(first, last):
        if pattern is None or pattern.name != name:
            pattern = ResourcePattern(ResourceType(kind), name, PatternType(pattern_type))
        yield AclBinding(pattern, AccessControlEntry(who, host, AclOperation(operation), AclPermissionType(permission)))


def prepared(root: Path, count: int) -> tuple[Path, Path]:
    """Manifests of ``count`` bindings, and a snapshot in which one in a hundred differs."""
    directory, snapshot = root / f"manifests-{count}", root / f"snapshot-{count}.json"
    directory.mkdir()
    (directory / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    documents = iter(principals(count // EACH).split("---\n"))
    number = 0
    while several := list(islice(documents, _IN_A_FILE)):
        (directory / f"acls-{number}.yaml").write_text("---\n".join(several), encoding="utf-8")
        number += 1
    (root / "operator.yaml").write_text(CLUSTER, encoding="utf-8")
    shift = max(1, count // EACH // 200)
    state = ClusterState("scaling", frozenset(bindings(shift, count // EACH + shift)))
    snapshot.write_text(snapshot_text(state), encoding="utf-8")
    return directory, snapshot


def commands(directory: Path, snapshot: Path) -> dict[str, list[str]]:
    """What is measured, by name."""
    alone, facts = ["--cluster", f"snapshot:{snapshot}"], ["--connections", str(snapshot.with_name("operator.yaml"))]
    plan = ["plan", str(directory), "--cluster", f"bench=snapshot:{snapshot}", "--allow-deletes"]
    return {
        "plan": [*plan, *facts],
        "plan, no facts": plan,
        "lint": ["lint", str(directory), "--cluster", "bench", "--offline", *facts],
        "who-can": ["who-can", "READ", "topic/t777.a", *alone],
        "explain": ["explain", "User:svc-777", "READ", "topic/t777.a", *alone],
        "export": ["export", *alone, "-o", "csv"],
        "snapshot": ["export", *alone, "--snapshot", str(snapshot.with_suffix(".again"))],
    }


def run(arguments: list[str], *fine: int) -> Run:
    """One process; raises ``RuntimeError`` if it fails, unless with one of the statuses ``fine``."""
    start = time.perf_counter()
    with open(os.devnull, "wb") as nowhere, tempfile.TemporaryFile() as errors:
        streams = [
            (os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, errors.fileno(), 2),
        ]
        pid = os.posix_spawn(RECONCILER, [RECONCILER, *arguments], os.environ, file_actions=streams)
        _, status, used = os.wait4(pid, 0)
        wall = time.perf_counter() - start
        errors.seek(0)
        if os.waitstatus_to_exitcode(status) not in (0, *fine):
            raise RuntimeError(f"{' '.join(arguments)}: {errors.read().decode()[-2_000:]}")
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def table(found: dict[str, dict[int, Run]]) -> Iterator[str]:
    """Processor seconds and peak memory in Markdown, and how many bytes each further binding takes."""
    sizes = sorted({count for runs in found.values() for count in runs})
    yield f"| command | {' | '.join(f'{count:,}' for count in sizes)} | bytes a binding |"
    yield "|---" * (len(sizes) + 2) + "|"
    for name, runs in found.items():
        cells = [f"{runs[n].cpu:.1f} s, {runs[n].peak / 2**20:,.0f} MiB" if n in runs else "" for n in sizes]
        least, most = min(runs), max(runs)
        growth = (runs[most].peak - runs[least].peak) / (most - least) if most > least else 0
        yield f"| `{name}` | {' | '.join(cells)} | {growth:,.0f} |"


def main(*counts: int) -> None:
    """Measures each size, prints the table and draws the picture."""
    found: dict[str, dict[int, Run]] = {}
    for count in counts or SIZES:
        with tempfile.TemporaryDirectory() as directory:
            # In a process of its own: what this one has in memory would count as the least that its children have.
            with get_context("spawn").Pool(1) as apart:
                made = apart.apply(prepared, (Path(directory), count))
            for name, arguments in commands(*made).items():
                found.setdefault(name, {})[count] = measured = run(arguments)
                print(f"{name} {count:,}: {measured.wall:.1f} s", file=sys.stderr)
    print("\n".join(table(found)))
    seconds = [Curve(name, {n: one.cpu for n, one in runs.items()}) for name, runs in found.items()]
    memory = [Curve(name, {n: one.peak / 2**20 for n, one in runs.items()}) for name, runs in found.items()]
    PICTURE.write_text(drawn("bindings", {"processor seconds": seconds, "peak memory, MiB": memory}), encoding="utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
