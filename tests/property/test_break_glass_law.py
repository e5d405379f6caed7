"""Break-glass access under everything at once: pauses, kills, lost and late requests, wrong clocks, forged marks.

The commands and the server are the real ones, on a cluster in memory and on time that somebody sets. A server's round
may take place in the middle of any other request. Whatever happens, no access stays for good, nothing declared is
deleted, and nobody's access is deleted for a forged mark.
"""

import datetime
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from benchmarks.simulation import START, SimulatedTime, simulated
from reconciler.app.apply import ApplyOptions, Unattended
from reconciler.app.cleanup import cleanup
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import WorkflowError
from reconciler.apply.environment import LeaseRequest
from reconciler.model.acl import AclOperation, ResourcePattern, ResourceType
from reconciler.model.desired import Expiry
from reconciler.model.listing import Change, Create
from reconciler.model.markers import break_glass_mark
from reconciler.model.state import ClusterState
from reconciler.model.topic import TopicUse
from reconciler.parts.edit.app.break_glass import break_glass, end_break_glass
from reconciler.parts.edit.app.grant import AskedAccess, GrantTerms
from reconciler.parts.serve.rounds import DirectorySource, ServeOptions, run_round
from reconciler.ports import Answer, AnswerStatus, ClusterError, ReadRequest
from reconciler.show.rounds import Round
from reconciler.snapshot.file import MemoryCluster
from tests.worlds import binding

MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec:
  bootstrapServers: ["nowhere:9092"]
  allowEveryoneIfNoAclFound: false
  barrier: {wait: 1s}
  deleteLimits: {maxDeletePercent: 100}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules:
    - {allow: READ, topics: [a]}
"""
DECLARED = binding("User:svc ALLOW READ on TOPIC a")
FOREIGN = binding("User:eve ALLOW READ on TOPIC a")
GIVEN = binding("User:ops ALLOW READ on TOPIC a")
ASKED = AskedAccess("User:ops", (AclOperation.READ,), ResourcePattern(ResourceType.TOPIC, "a"))
#: Hours between the rounds after which everything is to be over.
_LATER = (1, 2, 18, 3, 2, 26, 30)
_MINUTE, _HOUR, _DAY = 60.0, 3_600.0, 86_400.0


class KilledError(BaseException):
    """The process is gone: no handler of an error may go on after it."""


class Trouble(NamedTuple):
    """What happens at one request of a command, to the cluster or to the process.

    ``stop`` seconds pass before it is sent, with a server's round at their end; ``late`` seconds later it arrives, or
    a second time where ``twice``; ``killed``: the process hears no answer.
    """

    call: int
    stop: float = 0.0
    late: float | None = None
    twice: bool = False
    killed: bool = False


@dataclass(slots=True)
class Stage:
    """A cluster in memory, time, what is on its way to the cluster, and one server."""

    path: str
    telling: bool
    time: SimulatedTime = field(default_factory=SimulatedTime)
    inner: MemoryCluster = field(
        default_factory=lambda: MemoryCluster(ClusterState("id", frozenset({DECLARED, FOREIGN}), {}))
    )
    skew: float = 0.0
    trouble: Trouble | None = None
    calls: int = 0
    dead: bool = False
    underway: list[tuple[float, Sequence[Change]]] = field(default_factory=list)
    server: ServeOptions = field(
        default_factory=lambda: ServeOptions("c=snapshot:x", True, ApplyOptions(lease=LeaseRequest("server")))
    )
    last: Round | None = None

    @property
    def passed(self) -> float:
        """What the clock of whoever is at work shows."""
        return self.time.passed + self.skew

    @property
    def now(self) -> datetime.datetime:
        return START + datetime.timedelta(seconds=self.passed)

    def sleep(self, seconds: float) -> None:
        self.time.sleep(seconds)
        self.arrive()

    def arrive(self) -> None:
        due = [one for one in self.underway if one[0] <= self.time.passed]
        self.underway = [one for one in self.underway if one[0] > self.time.passed]
        for _, changes in due:
            self.inner.send(changes)

    def round(self) -> None:
        """A server's round, by a right clock, in the middle of whatever is going on."""
        kept = (self.skew, self.trouble, self.calls, self.dead)
        self.skew, self.trouble, self.dead = 0.0, None, False
        self.last = run_round(DirectorySource(self.path), self.server, ConnectionOptions(), Unattended())
        assert not self.last.failure, self.last.failure
        self.skew, self.trouble, self.calls, self.dead = kept
        self.check()

    def check(self) -> None:
        assert self.inner.state.bindings >= {DECLARED, FOREIGN}

    def _happens(self) -> Trouble | None:
        self.arrive()
        if self.dead:
            raise KilledError
        self.calls += 1
        return self.trouble if self.trouble is not None and self.calls == self.trouble.call else None

    def read(self, request: ReadRequest) -> ClusterState:
        if (found := self._happens()) is not None:
            self._stop(found)
            if found.killed:
                self.dead = True
                raise KilledError
        return self.inner.read(request)

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        found = self._happens()
        if found is None:
            return self.inner.send(changes)
        self._stop(found)
        answers = None
        if found.late is None:
            answers = self.inner.send(changes)
        else:
            self.underway.append((self.time.passed + found.late, changes))
        if found.twice:
            self.underway.append((self.time.passed + (found.late or 0.0) + _HOUR, changes))
        if found.killed:
            self.dead = True
            raise KilledError
        if answers is None:
            if isinstance(changes[0], Create):
                return [Answer(AnswerStatus.UNKNOWN)] * len(changes)
            raise ClusterError("_TIMED_OUT", "no answer")
        return answers

    def _stop(self, found: Trouble) -> None:
        if found.stop:
            self.time.sleep(found.stop)
            self.round()

    def brokers(self) -> frozenset[int]:
        return frozenset()

    def controller_time(self) -> datetime.datetime | None:
        return START + datetime.timedelta(seconds=self.time.passed) if self.telling else None

    def validate(self, changes: Sequence[Change]) -> list[Answer]:
        return self.inner.validate(changes)

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        return self.inner.topic_uses(names)


class Deed(NamedTuple):
    """Something that somebody does, by a clock that may be wrong; ``seconds`` as the deed takes them."""

    what: str
    seconds: float
    skew: float
    trouble: Trouble | None


def _do(stage: Stage, deed: Deed) -> None:
    stage.skew, stage.trouble, stage.calls, stage.dead = deed.skew, deed.trouble, 0, False
    end = stage.now.replace(microsecond=0) + datetime.timedelta(seconds=deed.seconds)
    with suppress(WorkflowError, KilledError):
        match deed.what:
            case "grant":
                break_glass(stage.path, "c=snapshot:x", ASKED, GrantTerms(Expiry(end), "outage"))
            case "revoke":
                end_break_glass(stage.path, "c=snapshot:x", ASKED)
            case "cleanup":
                with cleanup(stage.path, "c=snapshot:x") as found:
                    found.remove()
            case "forge":
                for victim in (FOREIGN, DECLARED):
                    stage.inner.send([Create(break_glass_mark(victim, end - datetime.timedelta(hours=1)))])
            case "wait":
                stage.sleep(deed.seconds)
    stage.skew, stage.trouble, stage.dead = 0.0, None, False
    stage.check()


def _holds(directory: Path, deeds: Sequence[Deed], *, telling: bool) -> None:
    (directory / "all.yaml").write_text(MANIFESTS, encoding="utf-8")
    stage = Stage(str(directory), telling)
    with simulated(stage, stage):  # type: ignore[arg-type]
        stage.round()
        for deed in deeds:
            _do(stage, deed)
            if deed.what != "wait":
                stage.round()
        for hours in _LATER:
            stage.sleep(hours * _HOUR)
            stage.round()
    assert stage.last is not None
    bindings = stage.inner.state.bindings
    if telling:
        assert not bindings & {GIVEN}, "access without an end"
    else:
        assert not bindings & {GIVEN} or stage.last.held_back, "access without an end, of which nobody is told"


_SECONDS = st.sampled_from([30.0, 10 * _MINUTE, 2 * _HOUR, 23 * _HOUR, _DAY])
_TROUBLE = st.none() | st.builds(
    Trouble,
    call=st.integers(1, 16),
    stop=st.sampled_from([0.0, 0.0, _MINUTE, 3 * _HOUR, 20 * _HOUR]),
    late=st.sampled_from([None, None, 45.0, 3 * _HOUR, 20 * _HOUR]),
    twice=st.booleans(),
    killed=st.booleans(),
)
_DEEDS = st.lists(
    st.builds(
        Deed,
        what=st.sampled_from(["grant", "grant", "grant", "revoke", "cleanup", "forge", "wait"]),
        seconds=_SECONDS,
        skew=st.sampled_from([0.0, 0.0, 0.0, 300.0, -300.0, 2 * _HOUR, -2 * _HOUR]),
        trouble=_TROUBLE,
    ),
    min_size=1,
    max_size=5,
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("manifests")


@given(deeds=_DEEDS, telling=st.booleans())
@settings(max_examples=15)
def test_no_access_stays_and_nothing_else_goes(directory: Path, deeds: list[Deed], telling: bool) -> None:
    _holds(directory, deeds, telling=telling)
    event("given" if any(deed.what == "grant" for deed in deeds) else "not given")


@pytest.mark.parametrize("telling", [False, True])
@pytest.mark.parametrize("skew", [-2 * _HOUR, 0.0, 300.0, 2 * _HOUR, _DAY])
def test_a_forged_mark_ends_nothing_whether_it_counts_at_once_or_later(
    directory: Path, skew: float, telling: bool
) -> None:
    _holds(directory, [Deed("forge", _DAY, skew, None)], telling=telling)


@pytest.mark.long
@given(deeds=_DEEDS, telling=st.booleans())
@settings(max_examples=2_000)
def test_no_access_stays_and_nothing_else_goes_in_many_runs(directory: Path, deeds: list[Deed], telling: bool) -> None:
    _holds(directory, deeds, telling=telling)


#: Each trouble and each request are in every run, each trouble at each request in the long tests.
_TROUBLES = ("stop", "late", "twice", "killed", "late and killed")
_AT = [
    pytest.param(call, trouble, marks=() if (call + place) % len(_TROUBLES) == 0 else pytest.mark.long)
    for place, trouble in enumerate(_TROUBLES)
    for call in range(1, 17)
]


@pytest.mark.parametrize(("call", "trouble"), _AT)
def test_one_trouble_at_each_request(directory: Path, call: int, trouble: str) -> None:
    found = Trouble(
        call,
        stop=3 * _HOUR if trouble == "stop" else 0.0,
        late=10 * _HOUR if trouble.startswith("late") else None,
        twice=trouble == "twice",
        killed=trouble.endswith("killed"),
    )
    _holds(directory, [Deed("grant", 2 * _HOUR, 0.0, found)], telling=True)
