"""A server's days in minutes: time that somebody sets, a cluster in memory, and rounds that follow one another at once.

The loop, the rounds, plans and applies are the real ones. Only what they ask of the machine is not: the clock, waiting,
and the cluster's file.
"""

import datetime
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Final
from unittest.mock import patch

from reconciler.app.apply import ApplyOptions
from reconciler.app.options import ConnectionOptions
from reconciler.apply.environment import LeaseRequest
from reconciler.parts.serve.rounds import DirectorySource, OnlyStoppable, ServeLoop, ServeOptions
from reconciler.ports import Cluster
from reconciler.show.rounds import Round, RoundHistory
from reconciler.system.process import SystemClock

START: Final = datetime.datetime(2026, 11, 23, 12, tzinfo=datetime.UTC)


@dataclass(slots=True)
class SimulatedTime:
    """Seconds that have passed since ``START``; whoever waits makes them pass."""

    passed: float = 0.0

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.passed += seconds

    @property
    def now(self) -> datetime.datetime:
        """What the clock shows."""
        return START + datetime.timedelta(seconds=self.passed)


class SimulatedWaiting(threading.Event):
    """A pause between two rounds that is over at once."""

    def __init__(self, time: SimulatedTime) -> None:
        """``time`` passes meanwhile."""
        super().__init__()
        self._time = time

    def wait(self, timeout: float | None = None) -> bool:
        """See :class:`threading.Event`."""
        self._time.sleep(timeout or 0.0)
        return True


@contextmanager
def simulated(time: SimulatedTime, cluster: Cluster) -> Iterator[None]:
    """Let everything ask ``time`` what time it is, and find ``cluster`` in whatever snapshot file is named."""

    class Today(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
            return time.now

    shown = SimpleNamespace(**{**vars(datetime), "datetime": Today})
    with ExitStack() as stack:
        stack.enter_context(patch("reconciler.app.options.datetime", shown))
        stack.enter_context(patch("reconciler.app.session.SnapshotCluster", lambda _: cluster))
        stack.enter_context(patch.object(SystemClock, "sleep", lambda _, seconds: time.sleep(seconds)))
        stack.enter_context(patch.object(SystemClock, "monotonic", lambda _: time.passed))
        stack.enter_context(patch.object(SystemClock, "now", lambda _: f"{time.now:%Y-%m-%dT%H:%M:%SZ}"))
        yield


def serve(
    stopped: Callable[[], bool],
    time: SimulatedTime,
    manifests: Path,
    history: RoundHistory,
    *,
    interval: float,
    on_round: Callable[[Round], None] = lambda _: None,
) -> None:
    """Run a server that acts on the cluster ``c`` until it is ``stopped``; inside :func:`simulated`."""
    options = ServeOptions("c=snapshot:memory", act=True, apply=ApplyOptions(lease=LeaseRequest("server")))
    supervisor, source = OnlyStoppable(stopped), DirectorySource(str(manifests))
    loop = ServeLoop(source, [options], ConnectionOptions(), supervisor, SystemClock(), history, interval, on_round)
    loop.run(stopped, SimulatedWaiting(time))
