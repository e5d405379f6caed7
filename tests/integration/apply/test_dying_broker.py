"""A broker that is killed while apply waits: the run goes on with the others, in bounded time, and says so."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconciler.adapters.clock import SystemClock
from reconciler.adapters.kafka.cluster import KafkaCluster, connect
from reconciler.adapters.sandbox import Sandbox, SandboxSpec, generated_users, running
from reconciler.apply import ApplyEnvironment, Result, Silent, check, perform
from reconciler.model import ClusterState, DesiredTopic, Origin, Topic
from reconciler.plan import Options, Plan, Request, Terms, propose, touched_topics
from reconciler.ports import ReadRequest
from tests.faults.scenario import DAY, acl
from tests.integration.kafka.conftest import settings_of
from tests.property.transitions import declared

pytestmark = pytest.mark.broker

#: A broker that has died is fenced after 9 s, and a client that keeps it as the controller would wait for 60.
BOUND = 58.0
#: Seconds that one reading may take meanwhile.
LONGEST = 15.0


@pytest.fixture(scope="module")
def three(sandbox_root: Path) -> Iterator[Sandbox]:
    spec = SandboxSpec(name="dying", nodes=3, users=generated_users("admin"), any_principal=True, heap="256m")
    with running(spec, root=sandbox_root) as sandbox:
        yield sandbox


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
    while client.list_topics(timeout=10).controller_id != broker:
        assert time.monotonic() < end, "it is fenced already"


def test_a_broker_that_dies_in_the_barrier_is_left_behind(three: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    with connect(settings_of(three.settings("admin"))) as cluster:
        cluster.read(ReadRequest())
        victim, pid = 3, three.node(3).pid
        assert pid is not None

        def die() -> None:
            os.kill(pid, signal.SIGKILL)
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
