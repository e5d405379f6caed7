"""A server that is killed at any call to the cluster, again and again, leaves no grant after its end, and no mess."""

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from benchmarks.simulation import START, SimulatedTime, serve, simulated
from reconciler.model.listing import Change, Delete
from reconciler.model.state import ClusterState
from reconciler.model.topic import TopicUse
from reconciler.parts.serve import rounds
from reconciler.ports import Answer, ReadRequest
from reconciler.show.rounds import Round, RoundHistory
from reconciler.snapshot.file import MemoryCluster
from tests.worlds import binding

#: Seconds after the start at which grants end.
_ENDS = (600.0, 601.0, 1_200.0)
#: By then everything is over, also the lease of a server that was killed.
_DEADLINE = 86_400.0
_HOUR = 3_600.0


def _at(seconds: float) -> str:
    return f"{START + datetime.timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


MANIFESTS = f"""\
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: c}}
spec:
  bootstrapServers: ["nowhere:9092"]
  allowEveryoneIfNoAclFound: false
  barrier: {{wait: 1s}}
  deleteLimits: {{maxDeletePercent: 100}}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {{name: team}}
spec:
  principal: User:svc
  rules:
    - {{allow: READ, topics: [a, b], expires: "{_at(_ENDS[0])}"}}
    - {{allow: WRITE, topics: [a], expires: "{_at(_ENDS[1])}"}}
    - {{allow: ALTER, topics: [b], expires: "{_at(_ENDS[2])}"}}
    - {{allow: DESCRIBE, topics: [a], expires: "{_at(2 * _DEADLINE)}"}}
    - {{deny: DELETE, topics: [a], expires: "{_at(_ENDS[0])}"}}
"""
OVER = frozenset(
    binding(f"User:svc ALLOW {what}")
    for what in ("READ on TOPIC a", "READ on TOPIC b", "WRITE on TOPIC a", "ALTER on TOPIC b")
)
STAYS = frozenset(
    binding(one)
    for one in (
        "User:svc ALLOW DESCRIBE on TOPIC a",
        "User:svc DENY DELETE on TOPIC a",
        # The last ACL of a pattern would stay: nobody but the manifests says that default-allow is off.
        "User:eve ALLOW READ on TOPIC a",
        "User:eve ALLOW READ on TOPIC b",
    )
)


class KilledError(BaseException):
    """The process is gone: no handler of an error may go on after it."""


class Kill(NamedTuple):
    """Where a server is killed: at which call, with which part of its changes done, and when it is started again."""

    call: int
    done: float
    pause: float


@dataclass(slots=True)
class Mortal:
    """A cluster as one process sees it: at a call it is killed, and asks nothing any more, whatever it has to tidy."""

    inner: MemoryCluster
    kill: Kill | None
    calls: int = 0

    def _dies(self) -> bool:
        self.calls += 1
        return self.kill is not None and self.calls > self.kill.call

    def read(self, request: ReadRequest) -> ClusterState:
        if self._dies():
            raise KilledError
        return self.inner.read(request)

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        if self._dies():
            assert self.kill is not None
            if self.calls == self.kill.call + 1:
                self.inner.send(changes[: round(len(changes) * self.kill.done)])
            raise KilledError
        return self.inner.send(changes)

    def brokers(self) -> frozenset[int]:
        return self.inner.brokers()

    def controller_time(self) -> datetime.datetime | None:
        return self.inner.controller_time()

    def validate(self, changes: Sequence[Change]) -> list[Answer]:
        return self.inner.validate(changes)

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        return self.inner.topic_uses(names)


def run(directory: Path, kills: Sequence[Kill]) -> tuple[ClusterState, float, int]:
    """Servers one after the other, each killed but the last; what the cluster has then, when, and how many died."""
    (directory / "all.yaml").write_text(MANIFESTS, encoding="utf-8")
    time, cluster, died = SimulatedTime(), MemoryCluster(ClusterState("id", OVER | STAYS, {})), 0

    def done() -> bool:
        return time.passed >= _DEADLINE or (time.passed > max(_ENDS) and cluster.state.bindings == STAYS)

    def on_round(found: Round) -> None:
        assert not found.failure, found.failure
        if time.passed < min(_ENDS):
            assert cluster.state.bindings >= OVER | STAYS, "nothing ends before its time"

    for kill in (*kills, None):
        # To give memory back after each round is most of the work of a server that has next to none.
        with simulated(time, Mortal(cluster, kill)), patch.object(rounds, "give_back"):
            try:
                serve(done, time, directory, RoundHistory(("c",)), interval=_HOUR, on_round=on_round)
            except KilledError:
                died += 1
                time.sleep(kill.pause if kill is not None else 0.0)
    return cluster.state, time.passed, died


KILLS = st.lists(
    st.builds(
        Kill,
        # A server that nobody kills calls the cluster 27 times.
        call=st.integers(0, 26),
        done=st.sampled_from([0.0, 0.5, 1.0]),
        pause=st.sampled_from([0.0, 1.0, 30.0, 300.0]),
    ),
    min_size=1,
    max_size=4,
)


def _leaves_nothing(directory: Path, kills: Sequence[Kill]) -> None:
    state, passed, died = run(directory, kills)
    event(f"killed {died} times")
    assert state.bindings == STAYS
    assert passed < _DEADLINE


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("manifests")


@given(kills=KILLS)
@settings(max_examples=20)
def test_wherever_it_is_killed_no_grant_is_left(directory: Path, kills: list[Kill]) -> None:
    _leaves_nothing(directory, kills)


@pytest.mark.long
@given(kills=KILLS)
@settings(max_examples=1_000)
def test_wherever_it_is_killed_no_grant_is_left_in_a_thousand_runs(directory: Path, kills: list[Kill]) -> None:
    _leaves_nothing(directory, kills)


def test_a_cluster_that_is_killed_is_asked_nothing_more(directory: Path) -> None:
    """Else the tidying of a ``finally``, which no killed process does, would prove nothing."""
    cluster = Mortal(MemoryCluster(ClusterState("id", OVER, {})), Kill(0, 0.5, 0.0))
    changes: list[Change] = [Delete(one) for one in sorted(OVER)]
    for _ in range(2):
        with pytest.raises(KilledError):
            cluster.send(changes)
    assert len(cluster.inner.state.bindings) == len(OVER) // 2
