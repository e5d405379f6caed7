"""A server as a process: it revokes, is killed, goes on where it was, and stops when asked; on a broker too."""

import datetime
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from reconciler.kafka.cluster import connect
from reconciler.model.listing import Delete
from reconciler.model.markers import break_glass_mark
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import Job, job
from tests.unit.workflow.serving import LIVE, OVER, World
from tests.verbs import creations
from tests.worlds import binding

_SECONDS = 60


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


class _Server:
    """``reconciler serve`` on a snapshot file, looking every hour."""

    def __init__(self, world: World, port: int) -> None:
        """Start it."""
        words = ["serve", str(world.manifests), "-c", world.cluster, "--act", "--interval", "1h"]
        main = "import sys; from reconciler.cli.main import main; sys.argv[0] = 'reconciler'; main()"
        self.address = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen([sys.executable, "-c", main, *words, "--listen", f"127.0.0.1:{port}"])

    def metric(self, name: str) -> float | None:
        """A metric of the cluster; ``None`` while there is none."""
        try:
            with urllib.request.urlopen(f"{self.address}/metrics", timeout=5) as answer:  # noqa: S310
                lines = answer.read().decode().splitlines()
        except OSError:
            return None
        return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name}{{")), None)

    def until(self, name: str, value: float) -> None:
        """Wait until a metric has a value."""
        end = time.monotonic() + _SECONDS
        while self.metric(name) != value:
            assert time.monotonic() < end, f"{name} is {self.metric(name)}"
            assert self.process.poll() is None, "it ended"
            time.sleep(0.05)

    def end(self, how: signal.Signals) -> int:
        """End it; its status."""
        os.kill(self.process.pid, how)
        return self.process.wait(_SECONDS)


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_a_server_that_was_killed_goes_on_and_one_that_is_asked_to_stops(world: World, port: int) -> None:
    first = _Server(world, port)
    first.until("reconciler_serve_revoked", 1)
    assert world.bindings() == LIVE - {OVER}
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    world.live(LIVE)
    second = _Server(world, port)
    try:
        second.until("reconciler_serve_revoked", 1)
        second.until("reconciler_serve_expired_live", 0)
        world.live(LIVE)
        urllib.request.urlopen(urllib.request.Request(f"{second.address}/reload", method="POST"), timeout=5)  # noqa: S310
        second.until("reconciler_serve_revoked", 2)
    finally:
        assert second.end(signal.SIGTERM) == 0
    assert world.bindings() == LIVE - {OVER}


@pytest.fixture
def team(tmp_path: Path, broker: Sandbox, capsys: pytest.CaptureFixture[str]) -> Job:
    return job(tmp_path, broker, "serve.", capsys)


@pytest.mark.broker
def test_on_a_broker_only_what_is_over_goes(team: Job, broker: Sandbox) -> None:
    team.write(
        "team.yaml",
        "apiVersion: reconciler/v1\nkind: Acls\nmetadata: {name: team}\nspec:\n  principal: User:svc\n  rules:\n"
        "    - {allow: READ, topics: ['@orders']}\n"
        "    - {allow: WRITE, topics: ['@orders'], expires: 2026-01-01}\n",
    )
    over = binding("User:svc ALLOW WRITE on TOPIC serve.orders")
    foreign = binding("User:eve ALLOW READ on TOPIC serve.orders")
    with connect(settings_of(broker.settings("admin"))) as admin:
        admin.send(creations([over, foreign]))
        looked = team.run("serve", "--once")
        assert looked.status == 0, looked.err
        told = admin.controller_time()
        assert told is not None
        assert abs(told - datetime.datetime.now(datetime.UTC)) < datetime.timedelta(seconds=30)
        assert "1 expired binding still live" in looked.err
        acted = team.run("serve", "--once", "--act")
        assert acted.status == 0, acted.err
        assert "revoked 1 expired binding" in acted.err
        live = admin.read(ReadRequest(all_topics=False)).bindings
    assert over not in live
    assert foreign in live, "what nobody declared is for people"
    assert binding("User:svc ALLOW READ on TOPIC serve.orders") not in live, "it gives nothing either"


@pytest.mark.broker
def test_break_glass_on_a_broker_is_listed_and_ends(team: Job, broker: Sandbox, tmp_path: Path) -> None:
    given = binding("User:ops ALLOW READ on TOPIC serve.orders")
    words = ("break-glass", "grant", "User:ops", "READ", "topic/serve.orders", "--reason", "outage", "--yes")
    where = ("--path", str(team.directory), "--cluster", "it", "--connections", str(team.connections))
    asked = team.bare(*words, "--until", "1h", *where)
    assert asked.status == 0, asked.err
    found = team.run("drift")
    assert found.status == 2
    assert "break-glass access until" in found.out
    with connect(settings_of(broker.settings("admin"))) as admin:
        live = admin.read(ReadRequest(all_topics=False)).bindings
        assert given in live
        (mark,) = (one for one in live if one.pattern.name.startswith("__kr.break-glass."))
        server = ("serve", "--once", "--act", "--audit", str(tmp_path / "audit.jsonl"))
        assert team.run(*server).status == 0
        forged = break_glass_mark(given, datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
        admin.send(creations([forged]))
        admin.send([Delete(mark)])
        acted = team.run(*server)
        assert acted.status == 1
        assert "revoke it at once" in acted.err
        # An hour later: the mark that the server has seen says so.
        over = datetime.datetime.now(datetime.UTC).replace(microsecond=0) - datetime.timedelta(seconds=5)
        admin.send(creations([break_glass_mark(given, over)]))
        acted = team.run(*server)
        assert "revoked 1 expired binding" in acted.err
        live = admin.read(ReadRequest(all_topics=False)).bindings
    assert given not in live
