"""Requests that arrive after their run: a bridge, which the run and drift tell of, and one whose lease was broken."""

import datetime
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from reconciler.apply.barrier import ProbeBarrier, ProbeSetup
from reconciler.apply.environment import Identity, LeaseRequest, Progress, Result
from reconciler.apply.lease import Lease
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment, Run, StoppedError, answered
from reconciler.cli.console import Exit
from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.handshake import KafkaProbe
from reconciler.model.listing import Change, Create
from reconciler.model.markers import bridge_on
from reconciler.model.state import ClusterState
from reconciler.parts.local.sandbox.layout import Listener, SandboxSpec, generated_users
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.plan.kinds.acl import created_bindings
from reconciler.ports import Answer, AnswerStatus, ReadRequest
from reconciler.system.process import SystemClock
from tests.faults.cluster import running_with
from tests.faults.proxy import Mode, Proxies, Proxy
from tests.faults.scenario import before, plan_for, wish
from tests.faults.test_no_window_open import _plan, _terms
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import job
from tests.worlds import acl

pytestmark = pytest.mark.broker
_TOPIC = "late-salaries"
_GRANT = acl(_TOPIC, "User:alice")
_BRIDGE = bridge_on(_GRANT.pattern)
#: Long ago by its name, so that no marker of it is believed any more.
_RUN = "20260101T000000Z-late"
#: A client that gives up soon.
_HASTY = {"request.timeout.ms": "1500", "default.api.timeout.ms": "1500"}
_ACLS = f"""\
apiVersion: reconciler/v1
kind: Acls
metadata: {{name: late}}
spec: {{principal: User:alice, rules: [{{allow: READ, topics: [{_TOPIC}]}}]}}
"""


@dataclass(frozen=True)
class _Open:
    """A broker with default-allow on, and the proxy before it."""

    sandbox: Sandbox
    proxy: Proxy

    def connect(self, **more: str) -> KafkaCluster:
        return connect(settings_of({**self._settings("admin"), **more}))

    def probe(self, user: str) -> KafkaProbe:
        return KafkaProbe(settings_of(self._settings(user)))

    def _settings(self, user: str) -> dict[str, str]:
        return {**self.sandbox.settings(user), "bootstrap.servers": f"127.0.0.1:{self.proxy.port}"}


@pytest.fixture(scope="module")
def open_one(sandbox_root: Path) -> Iterator[_Open]:
    users = generated_users("admin", "reconciler", "acl-probe")
    spec = SandboxSpec("late", users=users, allow_everyone_if_no_acl_found=True, heap="256m")
    with Proxies() as proxies:
        placed: list[Proxy] = []

        def write(sandbox: Sandbox) -> Sandbox:
            (node,) = sandbox.nodes
            port = node.ports[Listener.CLIENT]
            placed.append(proxies.before(port))
            file = sandbox.files(node).properties
            lines = (
                line.replace(f":{port}", f":{placed[-1].port}") if line.startswith("advertised.listeners") else line
                for line in file.read_text().splitlines()
            )
            file.write_text("\n".join(lines) + "\n")
            return sandbox

        with running_with(write, spec, sandbox_root) as sandbox:
            yield _Open(sandbox, placed[-1])


class _Late:
    """Sends the first request that creates the bridge into a network that delivers it when it likes."""

    def __init__(self, inner: KafkaCluster, proxy: Proxy) -> None:
        self._inner, self._proxy = inner, proxy
        self.held = False

    def read(self, request: ReadRequest) -> ClusterState:
        return self._inner.read(request)

    def controller_time(self) -> datetime.datetime | None:
        return self._inner.controller_time()

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        if self.held or _BRIDGE not in created_bindings(changes):
            return self._inner.send(changes)
        self.held = True
        self._proxy.set(Mode.HELD)
        try:
            return self._inner.send(changes)
        finally:
            self._proxy.give_up()


def _performed(place: _Open) -> Result:
    """Close an open topic by its first binding; without an answer to the request that creates the bridge."""
    with (
        place.connect(**_HASTY) as admin,
        closing(place.probe("acl-probe")) as probe,
        closing(place.probe("admin")) as own,
    ):
        plan = _plan(admin, frozenset({_GRANT}), _terms("late-", bridges=True))
        late = _Late(admin, place.proxy)
        world = ApplyEnvironment(
            late,
            SystemClock(),
            Progress(),
            identity=Identity(_RUN),
            barrier=partial(ProbeBarrier, ProbeSetup(probe, "User:acl-probe", own, "User:admin", True)),
        )
        live = admin.read(ReadRequest(principal="User:admin", super_users=["User:admin"]))
        result = perform(plan, live, check(plan, live, plan.terms), world, lambda now: check(plan, now, plan.terms))
        assert late.held
        return result


def test_a_bridge_that_comes_after_the_run_is_said_and_is_drift(
    open_one: _Open, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The network keeps the bridge's creation until the run is over: verified access would be open to everybody."""
    result = _performed(open_one)
    assert all(item.outcome == "done" for item in result.outcomes)
    assert not result.succeeded
    (said,) = result.differences
    assert "may still arrive" in said
    assert str(_BRIDGE) in said
    assert f"reconciler cleanup --cluster c --run {_RUN}" in said

    team = job(tmp_path, open_one.sandbox, "late-", capsys)
    team.write("cluster.yaml", (team.directory / "cluster.yaml").read_text().replace("Found: false", "Found: true"))
    team.write("acls.yaml", _ACLS)
    assert team.run("drift").status == Exit.OK
    open_one.proxy.deliver()
    until = time.monotonic() + 60
    # A broker shows the marker a moment before the bridge.
    while f"User:* ALLOW ALL on TOPIC {_TOPIC}" not in (found := team.run("drift")).out:
        assert time.monotonic() < until, found.out
    assert found.status == Exit.DIFFERENT


def test_a_request_of_a_broken_lease_may_land_and_nothing_is_sent_after_it(open_one: _Open) -> None:
    """What Kafka cannot fence: a request that is kept on its way while somebody breaks the lease of its run."""
    grant, plan = acl("late-lease", "User:alice"), plan_for(before(1), wish(1))

    def begun(admin: KafkaCluster, name: str, request: LeaseRequest) -> tuple[Run, Lease]:
        world = ApplyEnvironment(admin, SystemClock(), Progress(), identity=Identity(name, request.holder))
        run = Run(plan, world, admin.read(ReadRequest()), True)
        run.lease_guard = lease = Lease(run, request)
        lease.take()
        return run, lease

    with open_one.connect(**_HASTY) as admin:
        run, lease = begun(admin, "20260101T000000Z-one", LeaseRequest("dana"))
        assert lease.remaining > run.environment.send_seconds
        open_one.proxy.set(Mode.HELD)
        (answer,) = answered(run.send, [Create(grant)], run.environment.clock)
        assert answer.status is AnswerStatus.UNKNOWN
        open_one.proxy.give_up()
        with open_one.connect() as other:
            _, breaker = begun(other, "20260101T000000Z-two", LeaseRequest("erin", ("dana",)))
            assert grant not in other.read(ReadRequest()).bindings
            open_one.proxy.deliver()
            until = time.monotonic() + 60
            while grant not in (live := other.read(ReadRequest())).bindings:
                assert time.monotonic() < until, "what was held never arrived"
                time.sleep(0.1)
            with pytest.raises(StoppedError, match="the lease of this run was broken by erin"):
                lease.renew(live)
            breaker.release()
