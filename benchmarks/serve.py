"""A day of a server that acts, in simulated time: what a round costs, and whether memory grows.

Run: ``python -m benchmarks.serve [BINDINGS [HOURS [MINUTES]]]``, with MINUTES from one round to the next. One binding
in a thousand differs. Somebody changes ten more between any two rounds, a hundred grants end at midnight, and pages and
metrics are asked for after each round. Memory is what the process has resident; of each quarter of the rounds the
median counts, for the system gives and takes in steps.
"""

import datetime
import gc
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from benchmarks.manifests import names
from benchmarks.simulation import SimulatedTime, serve, simulated
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.model.acl import AclBinding, AclOperation
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.state import ClusterState
from reconciler.parts.serve.http import ServePages
from reconciler.show.rounds import Round, RoundHistory
from reconciler.snapshot.file import MemoryCluster

_PAGES: Final = ("/", "/metrics", "/readyz", "/clusters/c")
_CLUSTER: Final = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {barrier: {wait: 0s}, allowEveryoneIfNoAclFound: false, deleteLimits: {maxDeletes: 100000, maxDeletePercent: 100}}
"""
_ENDING: Final = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: ending}
spec:
  principal: User:svc-ending
  rules:
    - {allow: READ, topics: [@TOPICS@], expires: 2026-11-23}
    # The last ACL of a pattern would stay: nobody but the manifests says that default-allow is off.
    - {allow: DESCRIBE, topics: [@TOPICS@]}
"""


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class _Day:
    """The manifests and the cluster of a day, what changes in it, and what was measured."""

    def __init__(self, directory: Path, bindings: int, interval: float) -> None:
        """Write the manifests; let the cluster have all of them but one in a thousand."""
        ending = _ENDING.replace("@TOPICS@", ", ".join(f"ending.{number}" for number in range(100)))
        texts = {"acls.yaml": names(bindings // 100), "cluster.yaml": _CLUSTER, "ending.yaml": ending}
        for name, text in texts.items():
            (directory / name).write_text(text, encoding="utf-8")
        wanted = load([Source(name, text) for name, text in texts.items()])
        declared = frozenset(desired_state(wanted, "c", datetime.date(2026, 11, 23)).bindings)
        own = frozenset(one for one in declared if one.entry.principal == "User:svc-ending")
        self.ending = frozenset(one for one in own if one.entry.operation is AclOperation.READ)
        self.random = random.Random(1)  # noqa: S311 - the same day each time
        self.stays = sorted(declared - own)
        missing = self.random.sample(self.stays, max(10, bindings // 1_000))
        self.cluster = MemoryCluster(ClusterState("id", declared - frozenset(missing), {}))
        self.history = RoundHistory(("c",))
        self.pages = ServePages(self.history, threading.Event(), datetime.timedelta(seconds=3 * interval))
        self.memory: list[int] = []
        self.objects: list[int] = []
        self.seconds: list[float] = []
        self._began = time.perf_counter()

    def on_round(self, found: Round) -> None:
        """Ask for everything that it shows, measure, and let somebody change ten bindings."""
        assert not found.failure, found.failure
        assert not found.held_back, found.held_back
        self.seconds.append(time.perf_counter() - self._began)
        for path in _PAGES:
            answer = self.pages.answer("GET", path)
            assert answer.status == 200, (path, answer)
        gc.collect()
        self.memory.append(resident())
        self.objects.append(len(gc.get_objects()))
        live = self.cluster.state.bindings
        there = [one for one in self.stays if one in live]
        changes: tuple[list[Change], list[Change]] = (
            [Create(one) for one in self.random.sample(sorted(set(self.stays) - live), 5)],
            [Delete(one) for one in self.random.sample(there, 5)],
        )
        for batch in changes:
            self.cluster.send(batch)
        self._began = time.perf_counter()

    @property
    def left(self) -> frozenset[AclBinding]:
        """Grants that are over and still there."""
        return self.ending & self.cluster.state.bindings


def _quarters(values: list[int]) -> list[float]:
    """The median of each quarter."""
    size = max(1, len(values) // 4)
    return [statistics.median(values[at : at + size]) for at in range(0, 4 * size, size)]


def main(bindings: int = 100_000, hours: int = 24, minutes: int = 5) -> None:
    """Prints what a round costs, and what memory and the number of objects are in each quarter of the time."""
    interval, end = 60.0 * minutes, 3_600.0 * hours
    with tempfile.TemporaryDirectory(prefix="serve-benchmark-") as directory:
        path, now = Path(directory), SimulatedTime()
        day = _Day(path, bindings, interval)
        with simulated(now, day.cluster):
            serve(lambda: now.passed >= end, now, path, day.history, interval=interval, on_round=day.on_round)
    print(f"\nServer: {bindings:,} bindings, {hours} h of simulated time, {len(day.seconds)} rounds")
    print(f"seconds of a round: {statistics.median(day.seconds):.2f} (longest {max(day.seconds):.2f})")
    print("memory, MiB, by quarter:  " + "  ".join(f"{one / 2**20:,.0f}" for one in _quarters(day.memory)))
    print("objects, by quarter:      " + "  ".join(f"{one:,.0f}" for one in _quarters(day.objects)))
    print(f"revoked: {100 - len(day.left)} of 100")


if __name__ == "__main__":
    counts = [int(word) for word in sys.argv[1:4]]
    main(*counts)
