"""Brokers that are killed or stand still while a run goes on: it ends in bounded time, says so, and tells the truth."""

import datetime
import inspect
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from reconciler.adapters.clock import SystemClock
from reconciler.adapters.kafka.cluster import KafkaCluster, connect
from reconciler.adapters.kafka.probe import KafkaProbe
from reconciler.adapters.sandbox import Sandbox, SandboxSpec, generated_users, running, start_node, stop_node
from reconciler.apply import ApplyEnvironment, Outcome, Result, Silent, check, perform
from reconciler.model import Change, ClusterState, Create, Delete, DesiredTopic, Origin, Topic
from reconciler.plan import Options, Plan, Request, StepState, Terms, propose, touched_topics
from reconciler.ports import CONTROLLER, Answer, ReadRequest
from tests.faults.scenario import DAY, acl
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import connections_file
from tests.property.transitions import declared

pytestmark = pytest.mark.broker

#: A broker that has died is fenced after 9 s, and a client that keeps it as the controller would wait for 60.
BOUND = 58.0
#: Seconds that one reading may take meanwhile.
LONGEST = 45.0


@pytest.fixture(scope="module")
def nodes(sandbox_root: Path) -> Iterator[list[Sandbox]]:
    """One cluster for all tests, as it is by now: a node that was started again has another process."""
    spec = SandboxSpec(name="dying", nodes=3, users=generated_users("admin"), any_principal=True, heap="256m")
    with running(spec, root=sandbox_root) as sandbox:
        yield [sandbox]


@pytest.fixture
def three(nodes: list[Sandbox]) -> Iterator[Sandbox]:
    """Three nodes that run; what a test has stopped or paused runs again after it."""
    yield nodes[0]
    for node in nodes[0].nodes:
        _signal(nodes[0], node.id, signal.SIGCONT)
        if not nodes[0].node(node.id).is_running():
            nodes[0] = start_node(stop_node(nodes[0], node.id, kill=True), node.id)


def _signal(sandbox: Sandbox, node: int, number: signal.Signals) -> None:
    pid = sandbox.node(node).pid
    assert pid is not None
    with suppress(ProcessLookupError):
        os.kill(pid, number)


class KillingClock(SystemClock):
    """Does something in the first wait, which is that of the barrier."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act: Callable[[], None] | None = act

    def sleep(self, seconds: float) -> None:
        if self._act is not None:
            act, self._act = self._act, None
            act()
        super().sleep(seconds)


def plan_of(live: ClusterState) -> Plan:
    """A barrier in the middle: a grant that goes once another one is there, and a topic."""
    wanted = live.bindings | {acl("dying-new", "User:a")}
    topics = {"dying-new": Topic("dying-new", 3, 2)}
    request = Request(DAY, Options(allow_deletes=True))
    return propose(declared(wanted, _wish(topics)), live, Terms("c", default_allow=False, barrier_wait=2.0), request)


def _wish(topics: dict[str, Topic]) -> dict[str, DesiredTopic]:
    return {name: DesiredTopic(topic, Origin("t.yaml", 1, 1)) for name, topic in topics.items()}


def applied(cluster: KafkaCluster, clock: SystemClock) -> Result:
    live = cluster.read(ReadRequest())
    plan = plan_of(live)
    now = cluster.read(ReadRequest(all_topics=False, topic_names=touched_topics(plan.steps)))
    return perform(plan, now, check(plan, now, plan.terms), ApplyEnvironment(cluster, clock, Silent()))


def keep_as_controller(cluster: KafkaCluster, broker: int) -> None:
    """Every broker names any one that is not fenced as the controller: ask until the client keeps this one."""
    client, end = cluster._connection._client, time.monotonic() + 5.0
    while _controller(client) != broker:
        assert time.monotonic() < end, "it is fenced already"


def _controller(client: AdminClient) -> int | None:
    with suppress(KafkaException):
        return int(client.list_topics(timeout=1).controller_id)
    return None


def test_a_broker_that_dies_in_the_barrier_is_left_behind(three: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    with connect(settings_of(three.settings("admin"))) as cluster:
        cluster.read(ReadRequest())
        victim = 3

        def die() -> None:
            _signal(three, victim, signal.SIGKILL)
            keep_as_controller(cluster, victim)

        began = time.monotonic()
        result = applied(cluster, KillingClock(die))
        assert result.succeeded, (result.stopped, result.differences)
        assert time.monotonic() - began < BOUND
        told = _said(caplog)
        assert [text.startswith(f"broker {victim} at ") for text in told] == [True], told
        asked = time.monotonic()
        assert "dying-new" in cluster.read(ReadRequest(all_topics=False, topic_names=["dying-new"])).topics
        assert time.monotonic() - asked < LONGEST


def _said(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    return [text for text in found if text.endswith(" does not answer, trying others")]


class Struck:
    """The cluster, where something happens right before a request of steps."""

    def __init__(self, inner: KafkaCluster, at: int, act: Callable[[], None]) -> None:
        self.inner, self.at, self.act, self.sent = inner, at, act, 0

    def read(self, request: ReadRequest) -> ClusterState:
        return self.inner.read(request)

    def controller_time(self) -> datetime.datetime | None:
        return self.inner.controller_time()

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        if self.sent == self.at:
            self.act()
        self.sent += 1
        return self.inner.send(changes)


@pytest.mark.parametrize(("number", "at"), [(signal.SIGKILL, 1)])
def test_whatever_request_a_broker_dies_at_outcomes_are_true_and_the_same_plan_finishes(
    three: Sandbox, number: signal.Signals, at: int, caplog: pytest.LogCaptureFixture
) -> None:
    victim, name = 2, f"dying-{number.name.lower()}-{at}"
    with connect(settings_of(three.settings("admin"))) as cluster:
        live = cluster.read(ReadRequest())
        wanted = live.bindings | {acl(name, "User:a")}
        request = Request(DAY, Options(allow_deletes=True))
        terms = Terms("c", default_allow=False, barrier_wait=0.1)
        plan = propose(declared(wanted, _wish({name: Topic(name, 1, 1)})), live, terms, request)
        named = ReadRequest(all_topics=False, topic_names=touched_topics(plan.steps))
        now = cluster.read(named)

        def strike() -> None:
            keep_as_controller(cluster, victim)
            _signal(three, victim, number)

        began = time.monotonic()
        struck = Struck(cluster, at, strike)
        result = perform(plan, now, check(plan, now, plan.terms), ApplyEnvironment(struck, SystemClock(), Silent()))
        assert time.monotonic() - began < BOUND
        assert struck.sent > at
    assert len(_said(caplog)) <= 2, _said(caplog)
    # A client of its own judges: nothing that is said to be done is missing, nothing that failed is there.
    with connect(settings_of(three.settings("admin"))) as judge:
        live = judge.read(named)
        for item in result.outcomes:
            there = item.step.observed(live).state
            assert item.outcome is not Outcome.DONE or there is StepState.DONE, item
            assert item.outcome is not Outcome.FAILED or there is StepState.PENDING, item
        if all(item.outcome is Outcome.DONE for item in result.outcomes):
            assert result.succeeded, (result.stopped, result.outcomes)
        again = perform(plan, live, check(plan, live, plan.terms), ApplyEnvironment(judge, SystemClock(), Silent()))
        assert again.succeeded, (again.stopped, again.outcomes)


@contextmanager
def counted(port: int) -> Iterator[list[int]]:
    """A listener in the place of a broker, which ends every connection at once; how many came."""
    came = [0]
    with socket.create_server(("127.0.0.1", port)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    listener.accept()[0].close()
                    came[0] += 1

        threading.Thread(target=accept, daemon=True).start()
        yield came
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def test_a_dead_broker_is_not_tried_again_and_again(three: Sandbox) -> None:
    with connect(settings_of(three.settings("admin"))) as cluster:
        cluster.read(ReadRequest())
        (port,) = [broker.port for broker in cluster.inspect().brokers if broker.id == 3]
        _signal(three, 3, signal.SIGKILL)
        time.sleep(0.2)
        with counted(port) as came:
            keep_as_controller(cluster, 3)
            began = time.monotonic()
            answers = cluster.send([Create(acl("dying-counted", "User:a"))])
            assert time.monotonic() - began < LONGEST
            assert all(one.status in ("done", "failed") for one in answers), answers
        assert came[0] < 300, came[0]


#: Every question and request that a cluster answers, and a probe: a new one has to be entered here.
CALLS: Mapping[str, Callable[[KafkaCluster], object]] = {
    "prepare_listing": lambda one: one.prepare_listing(),
    "begin_listing": lambda one: one.begin_listing(),
    "read": lambda one: one.read(ReadRequest(broker_defaults=True, groups=True, listings=["quota", "scram_user"])),
    "brokers": lambda one: one.brokers(),
    "inspect": lambda one: one.inspect(),
    "send": lambda one: one.send([Create(acl("dying-call", "User:a"))]),
    "begin": lambda one: one.begin([Delete(acl("dying-none", "User:a"))])(),
    "validate": lambda one: one.validate([Create(Topic("dying-valid", 1, 1))]),
    "topic_uses": lambda one: one.topic_uses(["dying-used"]),
    "broker_settings": lambda one: one.broker_settings(["num.partitions"], features=True),
    "controller_time": lambda one: one.controller_time(),
    "set_replication_rates": lambda one: one.set_replication_rates([1, 2, 3], None),
    "reassignments": lambda one: one.reassignments(),
    "cancel_reassignments": lambda one: one.cancel_reassignments([("dying-used", 0)]),
}
#: Seconds that any of them may take while one of three brokers stands still: on an idle machine half a minute, and
#: several request timeouts of a minute each where nothing bounds it.
ANY_CALL = 120.0


def test_no_call_waits_a_minute_for_a_broker_that_stands_still(three: Sandbox) -> None:
    public = {name for name, _ in inspect.getmembers(KafkaCluster, inspect.isfunction) if not name.startswith("_")}
    assert CALLS.keys() == public - {"close"}
    settings = settings_of(three.settings("admin"))
    clusters = {name: connect(settings) for name in CALLS}
    probe = KafkaProbe(settings)
    probe.brokers()
    clusters["send"].send([Create(Topic("dying-used", 3, 3))])
    for one in clusters.values():
        one.brokers()
    _signal(three, 1, signal.SIGSTOP)

    def took(call: Callable[[], object]) -> float:
        began = time.monotonic()
        with suppress(Exception):  # how it ends is for others to say
            call()
        return time.monotonic() - began

    with ThreadPoolExecutor(len(CALLS) + 1) as pool:
        begun = {name: pool.submit(took, lambda n=name: CALLS[n](clusters[n])) for name in CALLS}  # type: ignore[misc]
        begun["probe"] = pool.submit(took, lambda: probe.ask("dying-none", [1, 2, 3, CONTROLLER]))
        seconds = {name: one.result() for name, one in begun.items()}
    for one in clusters.values():
        one.close()
    probe.close()
    assert not {name: round(found, 1) for name, found in seconds.items() if found > ANY_CALL}, seconds


MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: it}
spec:
  principal: User:admin
  superUsers: [User:admin]
  allowEveryoneIfNoAclFound: false
  barrier: {wait: 40s}
  scope: {include: [{principals: [User:term]}]}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: t}
spec: {principal: User:term, rules: [{allow: READ, topics: [term-new]}]}
"""


def test_sigterm_while_a_broker_is_dead_ends_within_seconds_with_the_outcomes(three: Sandbox, tmp_path: Path) -> None:
    manifests = tmp_path / "manifests" / "m.yaml"
    manifests.parent.mkdir()
    manifests.write_text(MANIFESTS, encoding="utf-8")
    connections = connections_file(tmp_path / "connections.yaml", three, "admin")
    with connect(settings_of(three.settings("admin"))) as cluster:
        cluster.send([Create(acl("term-old", "User:term"))])
        command = [sys.executable, "-m", "reconciler", "apply", str(manifests), "--cluster", "it", "--yes"]
        command += ["--allow-deletes", "--connections", str(connections)]
        with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            end = time.monotonic() + 30
            while acl("term-new", "User:term") not in cluster.read(ReadRequest(all_topics=False)).bindings:
                assert time.monotonic() < end
                assert run.poll() is None, run.communicate()
            _signal(three, 3, signal.SIGKILL)
            run.send_signal(signal.SIGTERM)
            began = time.monotonic()
            out, err = run.communicate(timeout=BOUND)
    assert time.monotonic() - began < 55.0
    assert run.returncode == 130, (out, err)
    assert "1 done" in out + err, (out, err)
    assert "1 not-attempted" in out + err, (out, err)
