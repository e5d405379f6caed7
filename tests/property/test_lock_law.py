"""A lock under everything at once: plans, applies, undo, adopt, cleanup, rounds of a server, two operators, kills.

The commands and the server are the real ones, on a cluster in memory. Each request of each may be the last of its
process, or may find that another operator has locked just before it. From a lock to its unlock the locked name is
permitted nothing, after each request that the cluster gets.
"""

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from benchmarks.simulation import START, SimulatedTime, simulated
from reconciler.app.apply import ApplyOptions, Unattended, apply, apply_plan
from reconciler.app.cleanup import cleanup
from reconciler.app.lock import LockTerms, lockable, unlock
from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.app.plan import drift, plan
from reconciler.app.reasons import WorkflowError
from reconciler.app.records import RecordOptions, save_plan
from reconciler.app.session import open_declared
from reconciler.app.undo import undo
from reconciler.apply.environment import LeaseRequest
from reconciler.model.listing import Change, Create
from reconciler.model.locks import LockMark, lock_denials, locks
from reconciler.model.state import ClusterState
from reconciler.model.topic import TopicUse
from reconciler.parts.edit.app.adopt import adopt
from reconciler.parts.serve.rounds import DirectorySource, ServeOptions, run_round
from reconciler.ports import Answer, ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.security.test_locks import DENIES, NAME, may_anything
from tests.worlds import binding

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec:
  bootstrapServers: ["nowhere:9092"]
  barrier: {wait: 1s}
  deleteLimits: {maxDeletePercent: 100}
"""
_OPERATOR = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false}
"""
_GRANTS = """\
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules:
    - {allow: READ, topics: [a]}
"""
_MORE = _GRANTS.replace("team", "more").replace("READ", "[READ, WRITE]").replace("[a]", "[b]")
#: What may be merged: with and without the access, with the DENYs of a lock, nothing at all.
_MERGES = ("", _GRANTS, _GRANTS + _MORE, _GRANTS + DENIES, DENIES)
_AT = "c=snapshot:x"
_DELETES = PlanOptions(allow_deletes=True)


class KilledError(BaseException):
    """The process is gone: no handler of an error may go on after it."""


class Deed(NamedTuple):
    """What somebody does, and the request at which the process is killed or the other operator locks; 0: none."""

    what: str
    merge: int = 0
    killed: int = 0
    meanwhile: int = 0


_NONE = Deed("")


@dataclass(slots=True)
class Stage:
    """A cluster in memory, manifests, the operator's file, one server and two operators."""

    root: Path
    time: SimulatedTime = field(default_factory=SimulatedTime)
    inner: MemoryCluster = field(
        default_factory=lambda: MemoryCluster(
            ClusterState("id", frozenset({binding("User:svc ALLOW READ on TOPIC a")}), {})
        )
    )
    #: Whether somebody has locked and nobody has begun to unlock.
    held: bool = False
    calls: int = 0
    deed: Deed = _NONE
    dead: bool = False
    server: ServeOptions = field(init=False)

    def __post_init__(self) -> None:
        (self.root / "operator.yaml").write_text(_OPERATOR, encoding="utf-8")
        (self.root / "m").mkdir(exist_ok=True)
        self.merge(1)
        records = RecordOptions(audit=str(self.root / "server.jsonl"), operator="serve:one")
        Path(self.root, "server.jsonl").unlink(missing_ok=True)
        Path(self.root, "plan.json").unlink(missing_ok=True)
        Path(self.root, "plan.json.journal").unlink(missing_ok=True)
        self.server = ServeOptions(_AT, act=True, apply=ApplyOptions(records=records, lease=LeaseRequest("server")))

    @property
    def path(self) -> str:
        return str(self.root / "m")

    @property
    def connection(self) -> ConnectionOptions:
        return ConnectionOptions(str(self.root / "operator.yaml"))

    @property
    def passed(self) -> float:
        return self.time.passed

    @property
    def now(self) -> datetime.datetime:
        return START + datetime.timedelta(seconds=self.time.passed)

    def sleep(self, seconds: float) -> None:
        self.time.sleep(seconds)

    def merge(self, number: int) -> None:
        for file in (self.root / "m").iterdir():  # what an earlier adoption wrote
            file.unlink()
        (self.root / "m" / "all.yaml").write_text(_CLUSTER + _MERGES[number], encoding="utf-8")

    def check(self) -> None:
        if self.held:
            assert not may_anything(self.inner.state.bindings), self.deed

    def _called(self) -> None:
        if self.dead:
            raise KilledError
        self.calls += 1
        # An unlock ends what its first look shows, which its plan is made of.
        if self.calls == self.deed.meanwhile and not (self.deed.what == "unlock" and self.calls == 1):
            # A mark says its second: the same person's second lock in one second is the same lock.
            self.time.sleep(1)
            mark = LockMark(NAME, self.now, None, "other", "INC-2", "seen too")
            self.inner.send([Create(one) for one in (*lock_denials(NAME), mark.binding)])
            self.held = True
        if self.calls == self.deed.killed:
            self.dead = True
            raise KilledError

    def read(self, request: ReadRequest) -> ClusterState:
        self._called()
        return self.inner.read(request)

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        # Between a look at marks and the request that relies on it there is no other request: Kafka cannot compare
        # and set. What is deleted at that moment is created again, which a test of its own holds.
        meanwhile = self.deed.meanwhile
        self.deed = self.deed._replace(meanwhile=0)
        self._called()
        self.deed = self.deed._replace(meanwhile=meanwhile)
        answers = self.inner.send(changes)
        if Create(lock_denials(NAME)[0]) in changes and self.deed.what == "lock":
            self.held = True
        self.check()
        return answers

    def brokers(self) -> frozenset[int]:
        return frozenset()

    def controller_time(self) -> datetime.datetime | None:
        return self.now

    def validate(self, changes: Sequence[Change]) -> list[Answer]:
        return self.inner.validate(changes)

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        return self.inner.topic_uses(names)

    def lock(self) -> None:
        terms = LockTerms(NAME, "key leaked", "INC-1")
        with lockable(self.path, _AT, terms, self.connection) as found:
            found.lock(RecordOptions(audit=str(self.root / "server.jsonl"), operator="anna"))

    def unlock(self) -> None:
        # From its first request on it may be permitted: a person says so.
        self.held = False
        unlock(self.path, _AT, LockTerms(NAME, "new key"), self.connection)

    def apply(self) -> None:
        apply(self.path, _AT, _DELETES, self.connection)

    def save(self) -> None:
        Path(self.root, "plan.json.journal").unlink(missing_ok=True)
        save_plan(plan(self.path, _AT, _DELETES, self.connection).plan, str(self.root / "plan.json"))

    def apply_saved(self) -> None:
        apply_plan(str(self.root / "plan.json"), self.path, _AT, self.connection)

    def undo(self) -> None:
        where = partial(open_declared, self.path, _AT)
        with patch("reconciler.app.undo.open_declared", lambda path, cluster, *more: where(*more)):
            planned, _ = undo(str(self.root / "plan.json"), self.path, _DELETES, self.connection)
        apply_plan(planned.plan, self.path, _AT, self.connection)

    def adopt(self) -> None:
        edit = adopt(self.path, _AT, lambda found: found, connection=self.connection).edit
        for name, text in edit.after.items():
            Path(self.path, name).write_text(text, encoding="utf-8")

    def cleanup(self) -> None:
        with cleanup(self.path, _AT, self.connection) as found:
            found.remove()

    def round(self) -> None:
        found = run_round(DirectorySource(self.path), self.server, self.connection, Unattended())
        assert not found.failure or self.dead, found.failure

    def wait(self) -> None:
        self.sleep(3_600.0)


_DEEDS: Mapping[str, Callable[[Stage], None]] = {
    "lock": Stage.lock,
    "unlock": Stage.unlock,
    "apply": Stage.apply,
    "save": Stage.save,
    "apply saved": Stage.apply_saved,
    "undo": Stage.undo,
    "adopt": Stage.adopt,
    "cleanup": Stage.cleanup,
    "round": Stage.round,
    "wait": Stage.wait,
}


def _holds(directory: Path, deeds: Sequence[Deed]) -> None:
    stage = Stage(directory)
    with simulated(stage, stage):  # type: ignore[arg-type]
        for deed in deeds:
            stage.deed, stage.calls, stage.dead = deed, 0, False
            if deed.merge < len(_MERGES):
                stage.merge(deed.merge)
            with suppress(WorkflowError, KilledError):
                _DEEDS[deed.what](stage)
            stage.check()
        stage.deed, stage.dead = _NONE, False
        if stage.held:
            lock = locks(stage.inner.state.bindings)[NAME]
            assert lock.whole
            stage.merge(1)
            shown = drift(stage.path, _AT, stage.connection).plan
            assert any("User:svc is locked" in text for text in shown.warnings), "every report says it"


_SOME = st.lists(
    st.builds(
        Deed,
        what=st.sampled_from(["lock", "lock", "unlock", *_DEEDS]),
        merge=st.integers(0, len(_MERGES) + 2),
        killed=st.sampled_from([0, 0, 0, *range(1, 12)]),
        meanwhile=st.sampled_from([0, 0, 0, *range(1, 12)]),
    ),
    min_size=2,
    max_size=9,
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lock")


@given(deeds=_SOME)
@settings(max_examples=25)
def test_a_locked_name_is_permitted_nothing(directory: Path, deeds: list[Deed]) -> None:
    _holds(directory, deeds)
    event("locked" if any(deed.what == "lock" or deed.meanwhile for deed in deeds) else "never locked")


@pytest.mark.long
@given(deeds=_SOME)
@settings(max_examples=2_000)
def test_a_locked_name_is_permitted_nothing_in_many_runs(directory: Path, deeds: list[Deed]) -> None:
    _holds(directory, deeds)


@pytest.mark.parametrize("call", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("what", ["lock", "unlock", "apply", "undo", "round"])
def test_killed_at_each_request_the_lock_stays(directory: Path, what: str, call: int) -> None:
    before = [Deed("apply", 3), Deed("save", 1), Deed("apply saved", 9), Deed("save", 2), Deed("lock", 9)]
    after = [Deed("round", 9), Deed("apply", 1), Deed("cleanup", 9), Deed("apply", 0), Deed("unlock", 9)]
    _holds(directory, [*before, Deed(what, 9, killed=call), *after])
