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
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata

from reconciler.apply.environment import Outcome, Progress, Result
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment
from reconciler.kafka.client import AdminConnection
from reconciler.kafka.cluster import Inspection, KafkaCluster, connect
from reconciler.kafka.handshake import KafkaProbe
from reconciler.kafka.settings import ClientSettings
from reconciler.model.desired import DesiredTopic, Origin
from reconciler.model.listing import Change, Create, Delete
from reconciler.model.state import BrokerSettings, ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running, start_node, stop_node
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.plan.observed import StepState
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.ports import CONTROLLER, Answer, AnswerStatus, ClusterError, ReadRequest, Visibility
from reconciler.system.process import SystemClock
from tests.faults.cluster import active_controller
from tests.faults.scenario import DAY
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import connections_file
from tests.property.transitions import declared
from tests.topic_changes import touched_topics
from tests.worlds import acl

pytestmark = pytest.mark.broker

#: A run that hangs: so long that no run that goes on, on whatever machine, is taken for one.
HANGS_SECONDS = 300.0
ALL = frozenset({1, 2, 3})


@pytest.fixture(scope="module")
def nodes(sandbox_root: Path) -> Iterator[list[Sandbox]]:
    """One cluster for all tests, as it is by now: a node that was started again has another process."""
    spec = SandboxSpec(name="dying", nodes=3, users=generated_users("admin"), any_principal=True, heap="256m")
    with running(spec, root=sandbox_root) as sandbox:
        yield [sandbox]


@pytest.fixture
def three(nodes: list[Sandbox]) -> Iterator[Sandbox]:
    """Three nodes that run: what the test before has stopped is started again, what this one pauses goes on later."""
    for node in nodes[0].nodes:
        if not nodes[0].node(node.id).is_running():
            nodes[0] = start_node(stop_node(nodes[0], node.id, kill=True), node.id)
    with connect(settings_of(nodes[0].settings("admin", "PLAIN"))) as cluster:
        until(lambda: cluster.brokers() == ALL)
    yield nodes[0]
    for node in nodes[0].nodes:
        _signal(nodes[0], node.id, signal.SIGCONT)


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + HANGS_SECONDS
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.2)


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
    return perform(plan, now, check(plan, now, plan.terms), ApplyEnvironment(cluster, clock, Progress()))


def keep_as_controller(cluster: KafkaCluster, broker: int) -> None:
    """Every broker names any one that is not fenced as the controller: ask until the client keeps this one.

    A broker that died is fenced after nine seconds (``broker.session.timeout.ms``); what is fenced is no more named.
    """
    client, end = cluster._connection._client, time.monotonic() + HANGS_SECONDS
    while (answer := _metadata(client)) is None or answer.controller_id != broker:
        assert answer is None or broker in answer.brokers, "it was fenced before anybody named it as the controller"
        assert time.monotonic() < end, "nobody answers"


def _metadata(client: AdminClient) -> ClusterMetadata | None:
    with suppress(KafkaException):
        return client.list_topics(timeout=1)
    return None


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


@contextmanager
def waiting_apply(three: Sandbox, cluster: KafkaCluster, directory: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that has created an ACL and waits in its barrier, before it deletes another one."""
    manifests = directory / "manifests" / "m.yaml"
    manifests.parent.mkdir()
    manifests.write_text(MANIFESTS, encoding="utf-8")
    connections = connections_file(directory / "connections.yaml", three, "admin")
    cluster.send([Create(acl("term-old", "User:term"))])
    command = [sys.executable, "-m", "reconciler", "apply", str(manifests), "--cluster", "it", "--yes"]
    command += ["--allow-deletes", "--connections", str(connections)]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        end = time.monotonic() + HANGS_SECONDS
        while acl("term-new", "User:term") not in cluster.read(ReadRequest(all_topics=False)).bindings:
            assert time.monotonic() < end
            assert run.poll() is None, run.communicate()
        yield run


def test_a_broker_that_dies_in_the_barrier_is_left_behind_by_a_run_that_goes_on_and_by_one_that_is_stopped(
    three: Sandbox, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    victim = 3
    with (
        connect(settings_of(three.settings("admin", "PLAIN"))) as cluster,
        waiting_apply(three, cluster, tmp_path) as stopped,
    ):

        def die() -> None:
            _signal(three, victim, signal.SIGKILL)
            stopped.send_signal(signal.SIGTERM)
            keep_as_controller(cluster, victim)

        # A reading that waits for the dead broker ends after a minute, with an error that stops the run.
        result = applied(cluster, KillingClock(die))
        assert result.succeeded, (result.stopped, result.differences)
        said = _said(caplog)
        assert [text.startswith(f"broker {victim} at ") for text in said] == [True], said
        assert "dying-new" in cluster.read(ReadRequest(all_topics=False, topic_names=["dying-new"])).topics
        assert len(_said(caplog)) == 1
        out, err = stopped.communicate(timeout=HANGS_SECONDS)
        assert acl("term-old", "User:term") in cluster.read(ReadRequest(all_topics=False)).bindings
    assert stopped.returncode == 130, (out, err)
    assert "1 done" in out + err, (out, err)
    assert "1 not-attempted" in out + err, (out, err)


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


class Case(NamedTuple):
    """``number`` is sent to a broker at request ``at``: to the active controller, or to another one.

    ``finishes``: the same plan ends well while that broker is gone. Where the active controller stands still, each
    other broker waits 30 s for its answer to the first request that it passes on (``controller.socket.timeout.ms``), so
    that the same plan may be told nothing either: it ends well once the controller goes on.
    """

    number: signal.Signals
    at: int
    controller: bool
    finishes: bool


#: How often the same plan is applied: on a busy machine the quorum may choose another leader, and each of two brokers
#: then leaves one request without an answer.
APPLIES = 3
CASES = (
    Case(signal.SIGSTOP, 0, controller=True, finishes=False),
    Case(signal.SIGSTOP, 1, controller=False, finishes=True),
    Case(signal.SIGKILL, 1, controller=True, finishes=True),
)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda one: f"{one.number.name}-{one.at}")
def test_whatever_request_a_broker_dies_at_outcomes_are_true_and_the_same_plan_finishes(
    three: Sandbox, case: Case, caplog: pytest.LogCaptureFixture
) -> None:
    leader = active_controller(three.settings("admin", "PLAIN"))
    victim = leader if case.controller else next(node.id for node in three.nodes if node.id != leader)
    name = f"dying-{CASES.index(case)}"
    settings = replace(settings_of(three.settings("admin", "PLAIN")), write_timeout=5.0)
    with connect(settings) as cluster:
        live = cluster.read(ReadRequest())
        wanted = live.bindings | {acl(name, "User:a")}
        request = Request(DAY, Options(allow_deletes=True))
        terms = Terms("c", default_allow=False, barrier_wait=0.1)
        plan = propose(declared(wanted, _wish({name: Topic(name, 1, 1)})), live, terms, request)
        named = ReadRequest(all_topics=False, topic_names=touched_topics(plan.steps))
        now = cluster.read(named)

        def strike() -> None:
            # Connected to each: what the client sends is on its way to the broker that stands still.
            cluster.broker_settings(["num.partitions"], features=False)
            keep_as_controller(cluster, victim)
            _signal(three, victim, case.number)

        struck = Struck(cluster, case.at, strike)
        result = perform(plan, now, check(plan, now, plan.terms), ApplyEnvironment(struck, SystemClock(), Progress()))
        assert struck.sent > case.at
    assert len(_said(caplog)) <= 2, _said(caplog)
    # It goes on to its end, reads what became of what nobody answered, and holds back what depends on that.
    assert result.verified, result
    assert not result.stopped, result
    outcomes = [item.outcome for item in result.outcomes]
    good = {Outcome.DONE, Outcome.ALREADY}
    assert result.succeeded == (set(outcomes) <= good), result
    if case.number is signal.SIGSTOP:
        unknown = [item.step.change for item in result.outcomes if item.outcome is Outcome.UNKNOWN]
        blocked = [item.blocked_by for item in result.outcomes if item.outcome is Outcome.BLOCKED]
        assert Outcome.FAILED not in outcomes, result.outcomes
        assert all(one in unknown for one in blocked), result.outcomes
    # A client of its own judges: nothing that is said to be done is missing, nothing that failed is there.
    live = _read_by_another(settings, named)
    for item in result.outcomes:
        there = item.step.observed(live).state
        assert item.outcome not in good or there is StepState.DONE, item
        assert item.outcome is not Outcome.FAILED or there is StepState.PENDING, item
    if not case.finishes:
        _signal(three, victim, signal.SIGCONT)
    with connect(settings_of(three.settings("admin", "PLAIN"))) as judge:
        # What was on its way arrives by now: it is what the plan wants, and nobody's foreign change.
        # A broker that is gone gets writes as long as the cluster names it.
        until(lambda: (victim in judge.brokers()) is not case.finishes)
        for _ in range(APPLIES):
            live = judge.read(named)
            again = perform(
                plan, live, check(plan, live, plan.terms), ApplyEnvironment(judge, SystemClock(), Progress())
            )
            assert again.verified, again
            assert not again.stopped, again
            assert Outcome.FAILED not in {item.outcome for item in again.outcomes}, again.outcomes
            if again.succeeded:
                break
        assert again.succeeded, (again.differences, again.outcomes)


def _read_by_another(settings: ClientSettings, request: ReadRequest) -> ClusterState:
    """What a new client reads; another one if the first chose the broker that is gone, and waited for it."""
    for _ in range(APPLIES - 1):
        with connect(settings) as judge, suppress(ClusterError):
            return judge.read(request)
    with connect(settings) as judge:
        return judge.read(request)


def is_free(port: int) -> bool:
    """Whether nobody listens there any more: a process is dead before all of its threads are."""
    with suppress(OSError), socket.create_server(("127.0.0.1", port)):
        return True
    return False


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
    with connect(settings_of(three.settings("admin", "PLAIN"))) as cluster:
        cluster.read(ReadRequest())
        (port,) = [broker.port for broker in cluster.inspect().brokers if broker.id == 3]
        _signal(three, 3, signal.SIGKILL)
        until(lambda: is_free(port))
        with counted(port) as came:
            keep_as_controller(cluster, 3)
            answers = cluster.send([Create(acl("dying-counted", "User:a"))])
            assert all(one.status in ("done", "failed") for one in answers), answers
        assert came[0] < 300, came[0]


def told_after(cluster: KafkaCluster, prepare: Callable[[], None]) -> bool:
    prepare()
    state = cluster.read(READ)
    return acl("dying-seen", "User:a") in state.bindings and "dying-used" in state.topics


def written(answers: Sequence[Answer]) -> bool:
    """A write that was on its way to the broker that stands still has no answer, and is not sent again."""
    return all(one.status in (AnswerStatus.DONE, AnswerStatus.UNKNOWN) for one in answers)


def inspected(found: Inspection) -> bool:
    return bool(found.can_alter_acls and found.visible_topics and found.metadata_version)


def settings_told(found: BrokerSettings, gone: int) -> bool:
    # The list of brokers may be asked of the one that stands still; by the next answer it may be named no more.
    return found.configs.keys() == ALL - {gone} and found.silent.keys() <= {gone} and bool(found.features)


READ = ReadRequest(broker_defaults=True, groups=True, listings=["quota", "scram_user"])
#: Every question and request that a cluster answers, and whether its answer is good though a broker stands still, which
#: is not the active controller: a new one has to be entered here. What waits for that broker fails after a minute.
CALLS: Mapping[str, Callable[[KafkaCluster, int], object]] = {
    "prepare_listing": lambda one, _: told_after(one, one.prepare_listing),
    "begin_listing": lambda one, _: told_after(one, one.begin_listing),
    "read": lambda one, _: told_after(one, lambda: None),
    "brokers": lambda one, gone: one.brokers() >= ALL - {gone},
    "inspect": lambda one, _: inspected(one.inspect()),
    "send": lambda one, _: written(one.send([Create(acl("dying-call", "User:a"))])),
    "begin": lambda one, _: written(one.begin([Delete(acl("dying-none", "User:a"))])()),
    "validate": lambda one, _: written(one.validate([Create(Topic("dying-valid", 1, 1))])),
    "topic_uses": lambda one, _: one.topic_uses(["dying-used"]).keys() == {"dying-used"},
    "broker_settings": lambda one, gone: settings_told(one.broker_settings(["num.partitions"], features=True), gone),
    "controller_time": lambda one, _: one.controller_time() is not None,
    "set_replication_rates": lambda one, gone: one.set_replication_rates(ALL, None).keys() == {gone},
    "reassignments": lambda one, gone: one.reassignments().racks.keys() >= ALL - {gone},
    "cancel_reassignments": lambda one, _: len(one.cancel_reassignments([("dying-used", 0)])) == 1,
}


def test_every_call_has_its_answer_while_a_broker_stands_still(
    three: Sandbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    public = {name for name, _ in inspect.getmembers(KafkaCluster, inspect.isfunction) if not name.startswith("_")}
    assert CALLS.keys() == public - {"close"}
    settings = settings_of(three.settings("admin", "PLAIN"))
    made: dict[AdminConnection, int] = {}
    make = AdminConnection._new_client

    def counted_make(connection: AdminConnection) -> AdminClient:
        made[connection] = made.get(connection, 0) + 1
        return make(connection)

    monkeypatch.setattr(AdminConnection, "_new_client", counted_make)
    clusters = {name: connect(settings) for name in CALLS}
    probe = KafkaProbe(settings)
    probe.brokers()
    clusters["send"].send([Create(Topic("dying-used", 3, 3))])
    clusters["send"].send([Create(acl("dying-seen", "User:a"))])
    for one in clusters.values():
        one.brokers()
    gone = next(iter(ALL - {active_controller(three.settings("admin", "PLAIN"))}))
    _signal(three, gone, signal.SIGSTOP)

    def ended(call: Callable[[], object]) -> object:
        try:
            return call()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(CALLS) + 1) as pool:
        begun = {name: pool.submit(ended, lambda n=name: CALLS[n](clusters[n], gone)) for name in CALLS}  # type: ignore[misc]
        asked = pool.submit(lambda: probe.ask("dying-none", [*ALL, CONTROLLER]))
        found = {name: one.result() for name, one in begun.items()}
    for one in clusters.values():
        one.close()
    probe.close()
    bad = {name: end for name, end in found.items() if not end or isinstance(end, Exception)}
    assert not bad, bad
    silent = {node for node, one in asked.result().items() if one.visibility is not Visibility.PERMITTED}
    assert {gone} <= silent <= {gone, CONTROLLER}  # the controller is asked by way of any broker
    # Each call leaves a client that is not answered for another one, a few times, and says so in one line.
    assert max(made.values()) <= 6, sorted(made.values())
    assert len(_said(caplog)) <= len(made)
