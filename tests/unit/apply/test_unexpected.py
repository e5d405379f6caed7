"""An exception that nobody foresaw, in the middle of a run: it ends as a stopped run that knows what was sent."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reconciler.access import interpretation as work
from reconciler.access.interpretation import TooMuchToDecideError
from reconciler.apply.environment import Identity, LeaseRequest, NoLedger, Outcome, Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import Preflight, check
from reconciler.apply.records import past_runs
from reconciler.apply.run import ApplyEnvironment
from reconciler.apply.undo import performed_steps, revert_steps
from reconciler.model.acl import AclBinding
from reconciler.model.desired import DesiredState, Origin
from reconciler.model.listing import Change, resource_of
from reconciler.model.scope import Scope, is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan.file import plan_id
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.ports import Answer, Ledger, ReadRequest
from reconciler.snapshot.file import MemoryCluster
from reconciler.system.journal import RecordFile, read_records
from tests.faults.scenario import DAY
from tests.property.clock import StillClock
from tests.property.transitions import declared
from tests.worlds import acl

LIVE = ClusterState("cluster", frozenset({acl("old1", "User:a"), acl("old2", "User:a"), acl("kept", "User:a")}))
WANTED = frozenset({acl("kept", "User:a"), *(acl(f"new{number}", "User:a") for number in range(4))})
SECRET = "hunter2"


class Breaking(MemoryCluster):
    """Raises in the ``breaks``-th request that contains a step, ``after`` it was applied or before; reads work."""

    def __init__(self, error: BaseException, breaks: int, *, after: bool = False, lasting: bool = False) -> None:
        super().__init__(LIVE)
        self.error, self.breaks, self.after, self.lasting = error, breaks, after, lasting
        self.requests = 0

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        of_the_plan = not any(is_reserved(str(_name(change))) for change in changes)
        self.requests += of_the_plan
        breaks = of_the_plan and self.requests == self.breaks
        if breaks and not self.after:
            raise self.error
        answers = super().send(changes)
        if breaks:
            raise self.error
        return answers

    def read(self, request: ReadRequest) -> ClusterState:
        if self.lasting and self.requests >= self.breaks:
            raise self.error
        return super().read(request)


def _name(change: Change) -> str:
    resource = resource_of(change)
    return resource.pattern.name if isinstance(resource, AclBinding) else resource.name


def _plan() -> Plan:
    terms = Terms("c", default_allow=False, barrier_wait=0.0)
    return propose(declared(WANTED, {}), LIVE, terms, Request(DAY, Options(allow_deletes=True)))


def _applied(
    cluster: MemoryCluster,
    journal: Ledger | None = None,
    plan: Plan | None = None,
    recheck: Callable[[ClusterState], Preflight] | None = None,
) -> Result:
    made = plan or _plan()
    world = ApplyEnvironment(
        cluster,
        StillClock(),
        Progress(),
        identity=Identity("run"),
        journal=journal or NoLedger(),
        max_batch=2,
        lease_request=LeaseRequest("dana"),
        redact=lambda text: text.replace(SECRET, "[redacted]"),
    )
    return perform(made, LIVE, check(made, LIVE, made.terms), world, recheck)


def _shown(result: Result, cluster: MemoryCluster) -> None:
    """Every step's outcome is what the cluster has."""
    for item in result.outcomes:
        change = item.step.change
        there = touched_binding(change) in cluster.state.bindings
        assert (item.outcome is Outcome.DONE) is (there is (change.after is not None)), item


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("error", [TypeError(f"bad {SECRET}"), MemoryError(), ValueError()])
@pytest.mark.parametrize("breaks", [1, 2, 3])
def test_a_request_that_breaks_stops_the_run(breaks: int, error: Exception, after: bool) -> None:
    cluster = Breaking(error, breaks, after=after)
    result = _applied(cluster)
    assert result.stopped == f"{type(error).__name__}: bad [redacted]".removesuffix(
        "" if str(error) else ": bad [redacted]"
    )
    assert not result.succeeded
    assert result.verified
    assert result.count(Outcome.DONE) == 2 * (breaks - 1 + after)
    assert result.count(Outcome.UNKNOWN) == (0 if after else 2)
    _shown(result, cluster)
    assert not any(is_reserved(binding.pattern.name) for binding in cluster.state.bindings), "the lease is given back"


def test_what_was_sent_stays_unknown_where_the_reading_breaks_too() -> None:
    cluster = Breaking(TypeError("bad"), 2, after=True, lasting=True)
    result = _applied(cluster)
    assert (result.count(Outcome.DONE), result.count(Outcome.UNKNOWN)) == (2, 2)
    assert (result.stopped, result.verified) == ("TypeError: bad", False)
    unknown = [item for item in result.outcomes if item.outcome is Outcome.UNKNOWN]
    assert [(item.code, item.message) for item in unknown] == [("unexpected", "TypeError: bad")] * 2


def test_before_the_first_request_it_is_the_caller_s() -> None:
    cluster = Breaking(TypeError("bad"), 0, lasting=True)
    with pytest.raises(TypeError, match="bad"):
        _applied(cluster)
    assert cluster.state.bindings == LIVE.bindings


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit()])
def test_what_ends_the_process_is_not_caught(error: BaseException) -> None:
    with pytest.raises(type(error)):
        _applied(Breaking(error, 2))


class _Full:
    """Keeps records until one is ``fatal``."""

    def __init__(self, fatal: Callable[[Mapping[str, Any]], bool]) -> None:
        self.fatal = fatal
        self.kept: list[str] = []

    def write(self, *records: Mapping[str, Any]) -> None:
        for record in records:
            if self.fatal(record):
                raise TypeError("not serializable")
            self.kept.append(record["record"])


@pytest.mark.parametrize(("record", "done"), [("outcomes", 2), ("end", 6)])
def test_a_journal_that_breaks_stops_the_run(record: str, done: int) -> None:
    cluster = Breaking(TypeError(), 99)
    result = _applied(cluster, _Full(lambda written: written["record"] == record))
    assert "TypeError: not serializable" in result.stopped
    assert result.count(Outcome.DONE) == done
    _shown(result, cluster)


def test_a_journal_that_breaks_before_the_first_request_is_the_caller_s() -> None:
    cluster = Breaking(TypeError(), 99)
    with pytest.raises(TypeError):
        _applied(cluster, _Full(lambda written: written["record"] == "intent"))
    assert cluster.state.bindings == LIVE.bindings


@pytest.mark.parametrize("after", [False, True])
def test_its_journal_says_what_to_undo(tmp_path: Path, after: bool) -> None:
    cluster, plan, file = Breaking(TypeError("bad"), 2, after=after), _plan(), str(tmp_path / "journal")
    _applied(cluster, RecordFile(file), plan)
    run, *others = past_runs(read_records(file))
    assert not others
    assert (run.plan_id, run.ended) == (plan_id(plan), True)
    steps = performed_steps(plan, [run], cluster.state)
    assert len(steps) == 2 * (1 + after)
    back = revert_steps(steps, cluster.state, Scope(), DesiredState(), Origin("plan.json", 1, 1))
    assert frozenset(back.desired.bindings) == LIVE.bindings


def test_too_much_to_decide_after_a_request_stops_the_run_in_words() -> None:
    cluster = Breaking(TooMuchToDecideError(7), 2, after=True)
    result = _applied(cluster)
    assert result.stopped == "too much to decide: who gains and who loses access takes more than 7 decisions"
    assert (result.count(Outcome.DONE), result.verified) == (4, True)
    _shown(result, cluster)


def test_too_much_to_decide_when_the_plan_is_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody floods the cluster while a person is asked: nothing is sent, and the end is written down."""
    cluster, plan, journal = MemoryCluster(LIVE), _plan(), _Kept()

    def recheck(live: ClusterState) -> Preflight:
        monkeypatch.setattr(work, "BASE", 0)
        monkeypatch.setattr(work, "FOR_EACH_BINDING", 0)
        return check(plan, live, plan.terms)

    with pytest.raises(TooMuchToDecideError):
        _applied(cluster, journal, plan, recheck)
    assert cluster.state.bindings == LIVE.bindings, "not even a lease is left"
    assert [record["record"] for record in journal.records] == ["run", "end"]
    assert "takes more than 0 decisions" in journal.records[-1]["stopped"]
    assert not journal.records[-1]["verified"]


class _Kept:
    """A journal in memory."""

    def __init__(self) -> None:
        self.records: list[Mapping[str, Any]] = []

    def write(self, *records: Mapping[str, Any]) -> None:
        self.records.extend(records)
