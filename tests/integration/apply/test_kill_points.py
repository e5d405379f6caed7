"""Killed at sampled places, an apply on a real broker is finished by applying the same plan again."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.apply.environment import Identity, Progress
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.records import past_runs
from reconciler.apply.run import ApplyEnvironment
from reconciler.apply.undo import performed_steps
from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.model.acl import ResourceType
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.propose import Request, propose
from reconciler.ports import ReadRequest
from reconciler.system.files import write_plan
from reconciler.system.journal import RecordFile, read_records
from reconciler.system.process import SystemClock
from tests.faults.scenario import before, plan_for, wish
from tests.integration.kafka.conftest import settings_of
from tests.prepared import prepared
from tests.verbs import creations

pytestmark = pytest.mark.broker
#: A plan of 26 steps, and one of more than 200.
SMALL, LARGE = 2, 38


def _scope(mark: str) -> Scope:
    names = NameSelector(prefixes=(mark,))
    return Scope(tuple(Selector(None, kind, names) for kind in (ResourceType.TOPIC, ResourceType.GROUP)))


def _plan(cluster: KafkaCluster, mark: str, size: int) -> Plan:
    made = plan_for(before(size, mark), wish(size, mark))
    live = cluster.read(ReadRequest())
    terms = Terms("c", _scope(mark), default_allow=False, barrier_wait=0.05)
    request = Request(made.as_of, Options(allow_deletes=True), made.accepted)
    return propose(wish(size, mark), live, terms, request)


def _prepared(cluster: KafkaCluster, mark: str, size: int) -> Plan:
    start = before(size, mark)
    cluster.send(creations(sorted(start.bindings)))
    cluster.send(creations([replace(topic, topic_id=None) for topic in start.topics.values()]))
    _seen(cluster, start)
    return _plan(cluster, mark, size)


def _seen(cluster: KafkaCluster, start: ClusterState, patience_seconds: float = 20.0) -> None:
    """Wait until the broker, which applies what it has answered a little later, shows all of ``start``."""
    until = time.monotonic() + patience_seconds
    while time.monotonic() < until:
        live = cluster.read(ReadRequest(all_topics=False, topic_names=tuple(start.topics)))
        if start.bindings <= live.bindings and start.topics.keys() == live.topics.keys():
            return
        time.sleep(0.05)
    raise AssertionError("the broker does not show what was created")


def _finished(cluster: KafkaCluster, plan: Plan, file: Path) -> ClusterState:
    with RecordFile(f"{file}.journal") as journal:
        live = cluster.read(ReadRequest())
        world = ApplyEnvironment(cluster, SystemClock(), Progress(), identity=Identity("second"), journal=journal)
        result = perform(plan, live, check(plan, live, plan.terms), world)
        assert result.succeeded, (result.stopped, result.differences)
    return cluster.read(ReadRequest())


# Right after a request. What the other places leave is the same in memory, where
# tests/unit/apply/test_kill_points.py finishes from every one.
@pytest.mark.parametrize("number", [96, *(pytest.param(one, marks=pytest.mark.long) for one in (0, 24, 48, 72, 120))])
def test_a_killed_apply_is_finished_by_the_same_plan(tmp_path: Path, broker: Sandbox, number: int) -> None:
    _kill_and_finish(tmp_path, broker, number, SMALL)


@pytest.mark.long
@pytest.mark.parametrize("number", range(7, 1_025, 17))
def test_a_killed_apply_of_many_steps_is_finished_wherever_it_was(tmp_path: Path, broker: Sandbox, number: int) -> None:
    _kill_and_finish(tmp_path, broker, number, LARGE)


def _kill_and_finish(tmp_path: Path, broker: Sandbox, number: int, size: int) -> None:
    mark = f"kill{size}-{number}-"
    settings = tmp_path / "client.json"
    settings.write_text(json.dumps(broker.settings("admin")))
    file = tmp_path / "plan.json"
    with connect(settings_of(broker.settings("admin"))) as cluster:
        plan = _prepared(cluster, mark, size)
        write_plan(plan, str(file))
        places = 5 * len(plan.steps)
        arguments = [str(settings), str(file), str(number % places)]
        status = prepared().run("tests.faults.killed_apply", *arguments)
        assert status == -9
        now = _finished(cluster, plan, file)
        assert _plan(cluster, mark, size).steps == ()
        runs = past_runs(read_records(f"{file}.journal"))
        assert performed_steps(plan, runs, now) == plan.steps
