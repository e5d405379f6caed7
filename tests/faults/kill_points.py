"""Five places in the life of each batch at which a run can be cut off: wrappers around its journal and its cluster."""

import datetime
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.ports import Answer, Cluster, Ledger, ReadRequest

#: Called with the name of each place that a run comes by.
At: TypeAlias = Callable[[str], None]
PLACES = ("before the intent", "after the intent", "after sending", "after the answer", "after the outcome")


def killing_at(number: int) -> At:
    """Ends this process, as kill -9 does, at the ``number``-th place, counted from 0."""
    passed = 0

    def at(_: str) -> None:
        nonlocal passed
        if passed == number:
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1

    return at


class WatchedLedger:
    """A journal that tells when an intent or an outcome is about to be, and has been, written."""

    def __init__(self, inner: Ledger, at: At) -> None:
        self._inner, self._at = inner, at

    def write(self, *records: Mapping[str, Any]) -> None:
        kind = records[0]["record"]
        sent = kind == "intent" or (kind == "outcomes" and records[0]["batch"] is not None)
        if sent:
            self._at("before the intent" if kind == "intent" else "after the answer")
        self._inner.write(*records)
        if sent:
            self._at("after the intent" if kind == "intent" else "after the outcome")


class WatchedCluster:
    """A cluster that tells when a request was applied, before anybody hears its answer; ``sent`` keeps every change."""

    def __init__(self, inner: Cluster, at: At) -> None:
        self._inner, self._at = inner, at
        self.sent: list[object] = []

    def read(self, request: ReadRequest) -> ClusterState:
        return self._inner.read(request)

    def controller_time(self) -> datetime.datetime | None:
        return self._inner.controller_time()

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        self.sent.extend(changes)
        answers = self._inner.send(changes)
        self._at("after sending")
        return answers
