"""Applies on three brokers while things break: told truly, safe to repeat, and converged by the next one."""

import itertools
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from reconciler.apply.barrier import ProbeBarrier, ProbeSetup
from reconciler.apply.cleanup import clean_up, leftovers
from reconciler.apply.environment import Identity, Outcome, Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.records import PastRun, past_runs
from reconciler.apply.run import ApplyEnvironment
from reconciler.apply.undo import performed_steps
from reconciler.kafka.cluster import KafkaCluster
from reconciler.kafka.handshake import KafkaProbe
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.ports import ClusterError, ReadRequest, Visibility
from reconciler.system.journal import RecordFile, read_records
from reconciler.system.process import SystemClock
from tests.faults.cluster import BROKERS, Cluster, active_controller
from tests.faults.kill_points import WatchedCluster
from tests.faults.proxy import Mode
from tests.faults.scenario import before, plan_for, wish
from tests.verbs import creations
from tests.worlds import acl

pytestmark = pytest.mark.broker
SIZE = 4
_numbers = itertools.count()
#: A client that gives up soon, so that a test sees what happens then.
HASTY = {"request.timeout.ms": "2500", "default.api.timeout.ms": "2500"}


class Job:
    """A plan on names of its own, performed as often as a test likes; ``journal`` is kept over all of them."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster, self.mark = cluster, f"f{next(_numbers)}-"
        self.journal = str(directory / f"{self.mark}journal")
        self.runs = itertools.count()
        with cluster.connect() as admin:
            start = before(SIZE, self.mark)
            admin.send(creations(sorted(start.bindings)))
            admin.send(creations([replace(topic, topic_id=None) for topic in start.topics.values()]))
            self._see(admin, start)
            self.plan = self._planned(admin)

    def _see(self, admin: KafkaCluster, start: ClusterState, patience_seconds: float = 60.0) -> None:
        """Wait until ten readings in a row, by whichever broker, show all of ``start``: brokers catch up one by one."""
        until, row = time.monotonic() + patience_seconds, 0
        while row < 10:
            live = self._read(admin)
            row = row + 1 if start.bindings <= live.bindings and start.topics.keys() <= live.topics.keys() else 0
            assert time.monotonic() < until, "the brokers do not show what was created"
            time.sleep(0.05)

    def apply(self, at: Callable[[str], None] = lambda _: None, *, seconds: float = 6.0) -> Result:
        """Perform the plan with a hasty client; ``at`` is called behind each request."""
        run = f"{self.mark}{next(self.runs)}"
        with (
            self.cluster.connect(**HASTY) as admin,
            closing(self.cluster.probe()) as probe,
            closing(self.cluster.probe("admin")) as own,
            RecordFile(self.journal) as journal,
        ):
            live = self._read(admin)
            probing = ProbeSetup(probe, "User:acl-probe", own, "User:admin", True, frozenset({1, 2, 3}), seconds)
            world = ApplyEnvironment(
                WatchedCluster(admin, at),
                SystemClock(),
                Progress(),
                identity=Identity(run),
                journal=journal,
                barrier=partial(ProbeBarrier, probing),
                max_batch=8,
            )
            found = check(self.plan, live, self.plan.terms)
            return perform(self.plan, live, found, world, lambda exact: check(self.plan, exact, self.plan.terms))

    def assert_finished(self) -> None:
        """A second apply and a cleanup do the rest: nothing is left to do or of ours, and the journal knows all.

        A sentinel whose request timed out may be applied after the run that sent it has tidied up: cleanup is for that.
        """
        result = self.apply(seconds=30.0)
        assert result.succeeded, (result.stopped, result.differences)
        with self.cluster.connect() as admin:
            assert self._planned(admin).steps == ()
            live = self._read(admin)
            assert clean_up(admin, leftovers(live), SystemClock()) == ()
        runs = past_runs(read_records(self.journal))
        assert performed_steps(self.plan, runs, live) == self.plan.steps

    def _planned(self, admin: KafkaCluster) -> Plan:
        names = NameSelector(prefixes=(self.mark,))
        scope = Scope(tuple(Selector(None, kind, names) for kind in (ResourceType.TOPIC, ResourceType.GROUP)))
        desired = wish(SIZE, self.mark)
        accepted = plan_for(before(SIZE, self.mark), desired).accepted
        request = Request(plan_for(ClusterState("c"), desired).as_of, Options(allow_deletes=True), accepted)
        terms = Terms("c", scope, default_allow=False)
        return propose(desired, self._read(admin), terms, request)

    def _read(self, admin: KafkaCluster) -> ClusterState:
        for _ in range(20):
            try:
                return admin.read(ReadRequest(principal="User:admin", super_users=["User:admin"]))
            except ClusterError:  # a cluster that heals may need a moment
                time.sleep(0.5)
        return admin.read(ReadRequest(principal="User:admin", super_users=["User:admin"]))


def after(number: int, do: Callable[[], object]) -> Callable[[str], None]:
    """Do something behind the ``number``-th request of a run."""
    passed = itertools.count(1)

    def at(_: str) -> None:
        if next(passed) == number:
            do()

    return at


def test_nothing_breaks(three: Cluster, tmp_path: Path) -> None:
    job = Job(three, tmp_path)
    result = job.apply()
    assert result.succeeded, (result.stopped, result.differences)
    job.assert_finished()


@pytest.mark.parametrize("broker", [*(pytest.param(one, marks=pytest.mark.long) for one in BROKERS[:-1]), BROKERS[-1]])
def test_a_broker_that_is_cut_off_learns_nothing(three: Cluster, broker: int) -> None:
    """No path leads past its proxies, whichever controller leads: the tests below mean nothing otherwise."""
    topic = f"cut-off-from-{broker}-{next(_numbers)}"
    grant = creations([acl(topic, "User:acl-probe", AclOperation.DESCRIBE_CONFIGS)])
    three.cut_off(broker)
    until = time.monotonic() + 30.0
    with three.connect(**HASTY) as admin, closing(three.probe()) as probe:
        while not admin.send(grant)[0].good:  # the broker that is cut off forwards nothing, another one does
            assert time.monotonic() < until
        while not _permitted(probe, topic) >= {*BROKERS} - {broker}:
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.6)  # a fetch waits for half a second at most
        assert broker not in _permitted(probe, topic)


def _permitted(probe: KafkaProbe, topic: str) -> set[int]:
    return {broker for broker, said in probe.ask(topic, BROKERS).items() if said.visibility is Visibility.PERMITTED}


def test_a_broker_cut_off_from_the_controllers_stops_what_is_destructive(three: Cluster, tmp_path: Path) -> None:
    """It goes on serving old ACLs, and within its session it is still among those that the cluster names."""
    job = Job(three, tmp_path)
    result = job.apply(after(2, lambda: three.cut_off(3)))
    assert not result.succeeded
    _assert_honest(job, result)
    assert not any(item.outcome is Outcome.DONE for item in result.outcomes if item.step.phase > Phase.CREATE_ALLOW)
    three.heal()
    job.assert_finished()


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_broker_that_is_paused_or_gone_is_named(three: Cluster, tmp_path: Path, number: signal.Signals) -> None:
    job = Job(three, tmp_path)
    result = job.apply(after(2, lambda: three.kill(2) if number is signal.SIGKILL else three.signal(2, number)))
    assert not result.succeeded
    _assert_honest(job, result)
    assert not any(item.outcome is Outcome.DONE for item in result.outcomes if item.step.phase > Phase.CREATE_ALLOW)
    three.heal()
    job.assert_finished()


# In every run at one request, with fewer nodes: tests/integration/apply/test_dying_broker.py.
@pytest.mark.long
@pytest.mark.parametrize("request_number", [1, 4])
def test_the_active_controller_is_killed(three: Cluster, tmp_path: Path, request_number: int) -> None:
    job, settings = Job(three, tmp_path), three.settings("admin")
    result = job.apply(after(request_number, lambda: three.kill(active_controller(settings))), seconds=30.0)
    _assert_honest(job, result)
    three.heal()
    job.assert_finished()


# In every run of one request: tests/faults/test_late_bridge.py.
@pytest.mark.long
@pytest.mark.parametrize("mode", [Mode.HALF_OPEN, Mode.CUT])
def test_answers_that_do_not_arrive(three: Cluster, tmp_path: Path, mode: Mode) -> None:
    """Requests are applied, or not, and nobody hears of it: the outcome is settled by reading, never assumed."""
    job = Job(three, tmp_path)

    def mend() -> None:
        for proxy in three.clients.values():
            proxy.set(Mode.OPEN)
            proxy.reset()

    def break_for_a_while() -> None:
        for proxy in three.clients.values():
            proxy.set(mode)
        threading.Timer(4.0, mend).start()

    result = job.apply(after(2, break_for_a_while), seconds=20.0)
    _assert_honest(job, result)
    time.sleep(4.5)
    three.heal()
    job.assert_finished()


@pytest.mark.long
def test_requests_time_out_at_the_client_and_are_applied_later(three: Cluster, tmp_path: Path) -> None:
    job = Job(three, tmp_path)

    def delay(seconds: float) -> None:
        for links in three.uplinks.values():
            for proxy in links.values():
                proxy.delay = seconds

    def slow() -> None:
        delay(1.5)
        threading.Timer(8.0, delay, [0.0]).start()

    result = job.apply(after(1, slow), seconds=20.0)
    _assert_honest(job, result)
    time.sleep(8.5)
    three.heal()
    job.assert_finished()


@pytest.mark.long
def test_connections_are_reset_again_and_again(three: Cluster, tmp_path: Path) -> None:
    job = Job(three, tmp_path)
    ended = threading.Event()

    def reset() -> None:
        while not ended.wait(0.15):
            for proxy in three.clients.values():
                proxy.reset()

    thread = threading.Thread(target=reset)
    thread.start()
    try:
        result = job.apply(seconds=20.0)
    finally:
        ended.set()
        thread.join()
    _assert_honest(job, result)
    job.assert_finished()


@pytest.mark.long
def test_a_rolling_restart_during_an_apply(three: Cluster, tmp_path: Path) -> None:
    job = Job(three, tmp_path)

    def restart() -> None:
        for broker in (1, 2, 3):
            three.stop(broker)
            three.start(broker)

    thread = threading.Thread(target=restart)
    result = job.apply(after(1, thread.start), seconds=40.0)
    thread.join()
    _assert_honest(job, result)
    three.heal()
    job.assert_finished()


def _assert_honest(job: Job, result: Result, patience_seconds: float = 60.0) -> None:
    """Whatever is called done or failed is so on the cluster, once it is well again: each broker has caught up."""
    job.cluster.heal()
    until = time.monotonic() + patience_seconds
    with job.cluster.connect() as admin:
        while wrong := _untrue(job, result, job._read(admin)):
            assert time.monotonic() < until, wrong
            time.sleep(0.2)


def _untrue(job: Job, result: Result, live: ClusterState) -> list[str]:
    """The outcomes that ``live`` belies."""
    done, not_done = (Outcome.DONE, Outcome.ALREADY), (Outcome.FAILED, Outcome.BLOCKED, Outcome.NOT_ATTEMPTED)
    wrong = []
    for item in result.outcomes:
        shown = bool(performed_steps(replace(job.plan, steps=(item.step,)), [_doubt(item.step.id)], live))
        if item.outcome in (not_done if shown else done):
            wrong.append(f"{item.outcome}: {item.step.change}")
    return wrong


def _doubt(step: str) -> PastRun:
    return PastRun("", "", "", "", None, "", {step: None})
