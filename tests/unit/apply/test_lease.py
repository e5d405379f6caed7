"""The lease: of any two runs, however their requests interleave, at most one holds it, and one of them does."""

import datetime
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.apply.environment import Identity, LeasePatience, LeaseRequest, Outcome, Progress, Result
from reconciler.apply.lease import GRACE, Lease, LeaseHeldError, lasting, lease_claims, marker
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment, Run, StoppedError
from reconciler.apply.sending import batches, send
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, PatternType, ResourceType
from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.acl import created_bindings, touched_bindings
from reconciler.plan.proposal import Plan, Terms
from reconciler.ports import Answer, AnswerStatus, ReadRequest
from reconciler.retry import ATTEMPTS
from reconciler.snapshot.file import MemoryCluster
from tests.faults.scenario import before, plan_for, wish
from tests.property.clock import StillClock
from tests.verbs import creations, deletions

LIVE = ClusterState("cluster", frozenset())
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def _lease(cluster: MemoryCluster, run: str, holder: str = "dana", clock: StillClock | None = None) -> Lease:
    return _breaking(cluster, run, holder, (), clock)


def _breaking(
    cluster: MemoryCluster, run: str, holder: str, breaks: tuple[str, ...], clock: StillClock | None = None
) -> Lease:
    plan = plan_for(before(1), wish(1))
    world = ApplyEnvironment(cluster, clock or StillClock(), Progress(), identity=Identity(run, holder))
    return Lease(Run(plan, world, LIVE, False), LeaseRequest(holder, breaks))


def test_a_second_run_is_refused_and_told_by_whom() -> None:
    cluster = MemoryCluster(LIVE)
    first = _lease(cluster, "1", "dana@build.example")
    first.take()
    with pytest.raises(LeaseHeldError, match=r"dana@build\.example holds the lease, by run 1, until 2026-01-01T00:02"):
        _lease(cluster, "2").take()
    assert [claim.run for claim in lease_claims(cluster.state.bindings)] == ["1"], "whoever is refused leaves nothing"
    first.release()
    assert cluster.state.bindings == frozenset()
    _lease(cluster, "2").take()


@pytest.mark.parametrize("holder", ["a.b.c", "x y", "Zoë\n", "\x1b[2J\u202e", "a%2Eb", "../..", "", "~"])
def test_any_holder_can_be_read_back(holder: str) -> None:
    (claim,) = lease_claims([marker(holder, "run", START)])
    assert (claim.holder, claim.run, claim.until) == (holder, "run", START)
    assert claim.binding.pattern.name.isascii()
    assert claim.binding.pattern.name.isprintable()


@pytest.mark.parametrize(
    "forged",
    [
        lambda true: true._replace(pattern=true.pattern._replace(name="__kr.lease.by hand")),
        lambda true: true._replace(pattern=true.pattern._replace(name=f"{true.pattern.name}.more")),
        lambda true: true._replace(pattern=true.pattern._replace(pattern_type=PatternType.PREFIXED)),
        lambda true: true._replace(pattern=true.pattern._replace(resource_type=ResourceType.GROUP)),
        lambda true: true._replace(entry=true.entry._replace(principal="User:mallory")),
        lambda true: true._replace(entry=true.entry._replace(operation=AclOperation.READ)),
        lambda true: true._replace(entry=true.entry._replace(permission_type=AclPermissionType.DENY)),
    ],
)
def test_what_no_run_writes_is_no_claim(forged: Callable[[AclBinding], AclBinding]) -> None:
    binding = forged(marker("dana", "run", START + datetime.timedelta(minutes=3)))
    cluster = MemoryCluster(ClusterState("cluster", frozenset({binding})))
    assert lease_claims(cluster.state.bindings) == ()
    _lease(cluster, "1").take()


def test_a_lease_that_nobody_renews_expires_with_some_patience_for_clocks() -> None:
    cluster, clock = MemoryCluster(LIVE), StillClock()
    dead = _lease(cluster, "1", clock=clock)
    dead.take()
    clock.seconds += lasting(dead.run.plan.terms, LeaseRequest("x").seconds, 65.0) + GRACE
    with pytest.raises(LeaseHeldError):
        _lease(cluster, "2", "erin", clock).take()
    clock.seconds += 1
    _lease(cluster, "2", "erin", clock).take()
    assert [claim.holder for claim in lease_claims(cluster.state.bindings)] == ["erin"]
    with pytest.raises(StoppedError, match="the lease of this run was broken by erin"):
        dead.renew()


def test_a_lease_is_renewed_before_it_ends_and_never_gone_meanwhile() -> None:
    cluster, clock = MemoryCluster(LIVE), StillClock()
    lease = _lease(cluster, "1", clock=clock)
    lease.take()
    for _ in range(40):
        clock.seconds += 60
        lease.renew(cluster.state)
        with pytest.raises(LeaseHeldError):
            _lease(cluster, "2", "erin", clock).take()
    assert len(cluster.state.bindings) == 1
    lease.release()
    assert cluster.state.bindings == frozenset()


def test_a_lease_is_not_renewed_before_half_of_it_is_over() -> None:
    """Each renewal is two writes, and a run asks before each request."""
    cluster, clock = MemoryCluster(LIVE), StillClock()
    lease = _lease(cluster, "1", clock=clock)
    lease.take()
    first, half = cluster.state.bindings, lease.remaining / 2
    clock.seconds += half - 2
    lease.renew(cluster.state)
    assert cluster.state.bindings == first
    clock.seconds += 4
    lease.renew(cluster.state)
    assert cluster.state.bindings != first
    assert lease.remaining > 2 * half - 2


class Lagging(MemoryCluster):
    """Lists what was there before the last writes, so many times."""

    times = 0

    def read(self, request: ReadRequest) -> ClusterState:
        self.times -= 1
        return LIVE if self.times >= 0 else super().read(request)


@pytest.mark.parametrize("times", range(ATTEMPTS + 1))
def test_a_listing_without_the_lease_is_asked_for_again_before_the_lease_is_called_broken(times: int) -> None:
    """A broker that lags lists what was there before the marker; only one that goes on to do so tells of a break."""
    cluster, clock = Lagging(LIVE), StillClock()
    lease = _lease(cluster, "1", clock=clock)
    lease.take()
    cluster.times = times
    if times < ATTEMPTS - 1:
        lease.renew(LIVE)
    else:
        with pytest.raises(StoppedError, match=r"^the lease of this run was broken$"):
            lease.renew(LIVE)
    lease.renew(cluster.state)


@pytest.mark.parametrize("terms", [Terms("c", barrier_wait=600.0), Terms("c", probe="User:p", barrier_seconds=600.0)])
def test_a_lease_outlasts_the_longest_barrier(terms: Terms) -> None:
    """Renewed or not, just before the barrier began: nobody may take it while the run waits."""
    cluster, clock = MemoryCluster(LIVE), StillClock()
    lease = _lease(cluster, "1", clock=clock)
    lease.run.plan = replace(lease.run.plan, terms=terms)
    lease.take()
    clock.seconds = lease.renew_at - 1
    lease.renew(cluster.state)
    clock.seconds += 600
    with pytest.raises(LeaseHeldError):
        _lease(cluster, "2", "erin", clock).take()
    lease.renew(cluster.state)


def test_only_the_named_holder_is_broken() -> None:
    cluster = MemoryCluster(LIVE)
    first = _lease(cluster, "1", "dana")
    first.take()
    with pytest.raises(LeaseHeldError, match="dana"):
        _breaking(cluster, "2", "erin", ("somebody",)).take()
    _breaking(cluster, "2", "erin", ("dana",)).take()
    with pytest.raises(StoppedError, match="broken by erin"):
        first.renew(cluster.state)


def _plan(cluster: MemoryCluster) -> Plan:
    return plan_for(cluster.state, wish(2))


def _applied(cluster: MemoryCluster, plan: Plan, world: ApplyEnvironment) -> Result:
    live = cluster.read(ReadRequest())
    return perform(plan, live, check(plan, live, plan.terms), world, lambda exact: check(plan, exact, plan.terms))


def test_an_apply_holds_it_from_before_its_first_request_to_its_end() -> None:
    seen: list[int] = []

    class Watched(MemoryCluster):
        def send(self, changes: Sequence[Change]) -> list[Answer]:
            created = created_bindings(changes)
            if not all(binding.pattern.name.startswith("__kr") for binding in created):
                seen.append(len(lease_claims(self.state.bindings)))
            return super().send(changes)

    cluster = Watched(before(2))
    result = _applied(
        cluster, _plan(cluster), ApplyEnvironment(cluster, StillClock(), Progress(), lease_request=LeaseRequest("dana"))
    )
    assert result.succeeded, (result.stopped, result.differences)
    assert set(seen) == {1}
    assert lease_claims(cluster.state.bindings) == ()


@pytest.mark.parametrize("lease_request", [None, LeaseRequest("erin")])
def test_every_apply_stands_back_from_a_lease(lease_request: LeaseRequest | None) -> None:
    cluster = MemoryCluster(before(2))
    plan = _plan(cluster)
    _lease(cluster, "1", "dana").take()
    there = cluster.state
    with pytest.raises(LeaseHeldError, match="dana holds the lease"):
        _applied(cluster, plan, ApplyEnvironment(cluster, StillClock(), Progress(), lease_request=lease_request))
    assert cluster.state == there


def test_an_apply_whose_lease_is_broken_stops_behind_the_phase() -> None:
    class Broken(MemoryCluster):
        def send(self, changes: Sequence[Change]) -> list[Answer]:
            answers = super().send(changes)
            created = created_bindings(changes)
            if created and not created[0].pattern.name.startswith("__kr"):
                super().send(deletions([claim.binding for claim in lease_claims(self.state.bindings)]))
                super().send(creations([marker("erin", "2", START + datetime.timedelta(minutes=9))]))
            return answers

    cluster = Broken(before(2))
    result = _applied(
        cluster, _plan(cluster), ApplyEnvironment(cluster, StillClock(), Progress(), lease_request=LeaseRequest("dana"))
    )
    assert result.stopped == "the lease of this run was broken by erin"
    assert {item.outcome for item in result.outcomes} == {Outcome.DONE, Outcome.NOT_ATTEMPTED}


@dataclass
class _Turns:
    """Lets two threads go on one request at a time, in a given order; then each as it comes, in turn."""

    order: Iterator[int]
    waiting: list[threading.Semaphore] = field(default_factory=lambda: [threading.Semaphore(0) for _ in range(2)])
    alive: set[int] = field(default_factory=lambda: {0, 1})
    last: int = 0

    def next(self) -> None:
        if not self.alive:
            return
        chosen = next(self.order, 1 - self.last)
        self.last = chosen if chosen in self.alive else next(iter(self.alive))
        self.waiting[self.last].release()

    def await_turn(self, who: int) -> None:
        self.waiting[who].acquire()


class _InTurns:
    """A cluster, and a clock, whose every use waits for its turn."""

    def __init__(self, inner: MemoryCluster, turns: _Turns, who: int) -> None:
        self._inner, self._turns, self._who = inner, turns, who

    def __getattr__(self, name: str) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            self._turns.next()
            self._turns.await_turn(self._who)
            return getattr(self._inner, name)(*arguments)

        return call


def _raced(order: list[int], runs: tuple[str, str]) -> tuple[set[int], ClusterState]:
    """Two runs that take the lease at once; who holds it, and what is left on the cluster."""
    cluster, turns, holding = MemoryCluster(LIVE), _Turns(iter(order)), set[int]()

    def take(who: int) -> None:
        turns.await_turn(who)
        lease = _lease(_InTurns(cluster, turns, who), runs[who], f"holder{who}")  # type: ignore[arg-type]
        try:
            lease.take()
            holding.add(who)
        except LeaseHeldError:
            pass
        finally:
            turns.alive.discard(who)
            turns.next()

    threads = [threading.Thread(target=take, args=(who,)) for who in range(2)]
    for thread in threads:
        thread.start()
    turns.next()
    for thread in threads:
        thread.join(timeout=30)
    return holding, cluster.state


@given(st.lists(st.integers(0, 1), max_size=24), st.sampled_from([("1", "2"), ("2", "1")]))
def test_of_two_runs_at_once_exactly_one_holds_it(order: list[int], runs: tuple[str, str]) -> None:
    holding, state = _raced(order, runs)
    assert len(holding) == 1, order
    assert [claim.holder for claim in lease_claims(state.bindings)] == [f"holder{next(iter(holding))}"]


class Met(MemoryCluster):
    """Behind the first marker of a run stands another one, for so many listings."""

    def __init__(self, other: str, listings: int) -> None:
        super().__init__(LIVE)
        self.other = marker("erin", other, START + datetime.timedelta(minutes=3))
        self.listings: int | None = None
        self.most = listings

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        if created_bindings(changes) and self.listings is None:
            self.listings = 0
            super().send(creations([self.other]))
        return super().send(changes)

    def read(self, request: ReadRequest) -> ClusterState:
        if self.listings is not None:
            self.listings += 1
            if self.listings > self.most:
                super().send(deletions([self.other]))
        return super().read(request)


def test_of_two_that_meet_the_later_one_gives_way_at_once_and_the_earlier_one_waits_for_that() -> None:
    clock = StillClock()
    later = Met("1", 5)
    with pytest.raises(LeaseHeldError, match="erin holds the lease, by run 1"):
        _lease(later, "2", clock=clock).take()
    assert clock.seconds < 1
    assert lease_claims(later.state.bindings) == lease_claims([later.other])
    earlier = Met("2", 5)
    _lease(earlier, "1", clock=clock).take()
    assert 0.5 < clock.seconds < 5
    assert [claim.run for claim in lease_claims(earlier.state.bindings)] == ["1"]
    # One that does not give way, may be a forged one: whoever waits for it does not wait forever.
    clock.seconds = 0.0
    with pytest.raises(LeaseHeldError, match="by run 2"):
        _lease(Met("2", 10_000), "1", clock=clock).take()
    assert 10 < clock.seconds < 15


def test_nobody_renews_what_nobody_holds() -> None:
    cluster = MemoryCluster(LIVE)
    lease = _lease(cluster, "1")
    with pytest.raises(StoppedError, match="does not hold the lease"):
        lease.renew(cluster.state)
    assert lease.placed == ()
    lease.take()
    assert lease.placed == tuple(cluster.state.bindings)
    lease.release()
    with pytest.raises(StoppedError, match="does not hold the lease"):
        lease.renew(cluster.state)


def test_a_machine_that_was_suspended_renews_although_its_monotonic_clock_stood_still() -> None:
    cluster, clock = MemoryCluster(LIVE), _Suspended()
    lease = _lease(cluster, "1", clock=clock)
    lease.take()
    (before,) = lease_claims(cluster.state.bindings)
    clock.suspended = 100.0
    lease.renew()
    (after,) = lease_claims(cluster.state.bindings)
    assert after.until == before.until + datetime.timedelta(seconds=100)


class _Suspended(StillClock):
    """A clock of a machine that was suspended for so many seconds."""

    suspended = 0.0

    def now(self) -> str:
        at = datetime.datetime.fromisoformat(super().now()) + datetime.timedelta(seconds=self.suspended)
        return at.isoformat()


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("ends", [3.0, None])
def test_a_run_that_is_patient_waits_for_another_and_then_gives_up_or_goes_on(
    goes_on: bool, ends: float | None
) -> None:
    """A server that revokes holds its lease for seconds; what only takes away goes on at any rate."""
    cluster, clock = MemoryCluster(before(2)), StillClock()
    other = _lease(cluster, "1", clock=clock)
    other.take()

    class Patient(StillClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if ends is not None and self.monotonic() >= began + ends:
                other.release()

    patient = Patient()
    began = patient.monotonic()
    plan = _plan(cluster)
    environment = ApplyEnvironment(cluster, patient, Progress(), lease_patience=LeasePatience(10.0, goes_on))
    if ends is None and not goes_on:
        with pytest.raises(LeaseHeldError):
            _applied(cluster, plan, environment)
        assert 10 <= patient.monotonic() - began < 12
    else:
        assert _applied(cluster, plan, environment).succeeded
        assert patient.monotonic() - began >= (ends or 10)


class _Timed(MemoryCluster):
    """A cluster whose controller has the time of ``clock``."""

    def __init__(self, state: ClusterState, clock: StillClock) -> None:
        super().__init__(state)
        self.clock = clock

    def controller_time(self) -> datetime.datetime:
        return datetime.datetime.fromisoformat(self.clock.now())


@pytest.mark.parametrize("wrong", [-86_400, -3_700, -900, 900, 3_700, 86_400])
def test_a_machine_with_a_wrong_clock_respects_the_lease_of_others_and_others_respect_its_own(wrong: int) -> None:
    right, own = StillClock(), StillClock()
    cluster, own.seconds = _Timed(LIVE, right), wrong
    first = _lease(cluster, "1", clock=right)
    first.take()
    with pytest.raises(LeaseHeldError, match=r"dana holds the lease, by run 1, until 2026-01-01T00:02"):
        _lease(cluster, "2", "erin", clock=own).take()
    assert [claim.run for claim in lease_claims(cluster.state.bindings)] == ["1"]
    first.release()
    second = _lease(cluster, "2", "erin", clock=own)
    second.take()
    with pytest.raises(LeaseHeldError, match=r"erin holds the lease, by run 2, until 2026-01-01T00:02"):
        first.take()
    placed = second.placed
    second.renew(cluster.state)
    assert second.placed == placed, "a renewal is due by what has passed, whatever either clock shows"
    own.seconds += 100
    right.seconds += 100
    second.renew(cluster.state)
    assert second.placed != placed


@pytest.mark.parametrize("ahead", [900, 86_400])
def test_a_machine_with_a_wrong_clock_that_takes_no_lease_is_kept_away_too(ahead: int) -> None:
    right, own = StillClock(), StillClock()
    cluster, own.seconds = _Timed(before(2), right), ahead
    plan = _plan(cluster)
    _lease(cluster, "1", clock=right).take()
    with pytest.raises(LeaseHeldError, match="dana holds the lease"):
        _applied(cluster, plan, ApplyEnvironment(cluster, own, Progress()))


class _Landing(MemoryCluster):
    """A paused broker keeps each request of the plan for as long as the client waits, and it lands then."""

    def __init__(self, clock: StillClock, seconds: float) -> None:
        super().__init__(before(1))
        self.clock, self.seconds = clock, seconds
        self.lease: Lease | None = None
        self.lefts: list[float] = []
        self.late: list[tuple[float, float]] = []

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        touched = touched_bindings(changes)
        own = bool(touched) and all(binding.pattern.name.startswith("__kr.") for binding in touched)
        if own or self.lease is None:
            return super().send(changes)
        assert self.lease.own is not None
        self.lefts.append(self.lease.remaining)
        until = self.lease.own.until
        self.clock.seconds += self.seconds
        if len(self.lefts) % 3:  # refused so late, and retriable: it is sent again
            return [Answer(AnswerStatus.FAILED, "NOT_CONTROLLER", "not yet", retriable=True) for _ in changes]
        self.late.append((datetime.datetime.fromisoformat(self.clock.now()).timestamp(), until.timestamp()))
        return super().send(changes)


@pytest.mark.parametrize("send_seconds", [15.0, 65.0, 200.0, 1_000.0, 1_790.0])
@pytest.mark.parametrize("terms", [Terms("c", barrier_wait=0.0), Terms("c", barrier_wait=600.0)])
def test_whatever_is_sent_lands_before_the_lease_may_be_somebody_elses(send_seconds: float, terms: Terms) -> None:
    """Each request takes as long as a client waits, is refused at the end, and is sent again, up to its last moment."""
    clock = StillClock()
    cluster = _Landing(clock, send_seconds)
    plan = replace(plan_for(before(1), wish(1)), terms=replace(terms, default_allow=False))
    world = ApplyEnvironment(
        cluster,
        clock,
        Progress(),
        identity=Identity("run", "dana"),
        lease_request=LeaseRequest("dana"),
        send_seconds=send_seconds,
        max_batch=1,
    )
    run = Run(plan, world, cluster.state, False)
    cluster.lease = Lease(run, LeaseRequest("dana"))
    cluster.lease.take()
    run.lease_guard = cluster.lease
    for phase, steps in groupby(plan.steps, key=lambda step: step.phase):
        send(run, phase, batches(phase, list(steps), cluster.state, 1), lambda: None)
    assert len(cluster.late) == len(plan.steps)
    assert min(cluster.lefts) > send_seconds
    assert all(landed < until for landed, until in cluster.late)


def test_a_request_that_may_outlive_every_lease_is_never_sent() -> None:
    cluster, clock = MemoryCluster(LIVE), StillClock()
    lease = _lease(cluster, "1", clock=clock)
    lease.run.environment = replace(lease.run.environment, send_seconds=3_600.0)
    with pytest.raises(StoppedError, match="a request may be under way for 3600 s: nothing more is sent"):
        lease.take()
    assert cluster.state.bindings == frozenset()


def test_a_run_that_stood_still_until_its_lease_ran_out_renews_it_or_sends_nothing() -> None:
    """A suspended machine, or a breaker: the check right before the send sees it."""
    cluster, clock = MemoryCluster(LIVE), StillClock()
    lease = _lease(cluster, "1", clock=clock)
    lease.take()
    clock.seconds += 10_000
    lease.renew()
    assert lease.remaining > lease.run.environment.send_seconds
    clock.seconds += 10_000
    _breaking(cluster, "2", "erin", ("dana",), clock).take()
    with pytest.raises(StoppedError, match="the lease of this run was broken by erin"):
        lease.renew()
