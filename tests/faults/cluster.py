"""Three brokers and controllers apart, a proxy before each broker's clients and on its way to each controller."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.probe import KafkaProbe
from reconciler.parts.local.sandbox import lifecycle
from reconciler.parts.local.sandbox.launch import wait_until_ready
from reconciler.parts.local.sandbox.layout import Listener, SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running, start_node, stop_node
from reconciler.parts.local.sandbox.state import Sandbox
from tests.faults.proxy import HOST, Mode, Proxies, Proxy
from tests.integration.kafka.conftest import settings_of

BROKERS = (1, 2, 3)
USERS = ("admin", "reconciler", "acl-probe", "alice", "bob")


@dataclass
class Cluster:
    """``clients`` are the proxies before brokers, ``uplinks`` those on each broker's way to each controller."""

    sandbox: Sandbox
    clients: dict[int, Proxy]
    uplinks: dict[int, dict[int, Proxy]]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{proxy.port}" for proxy in self.clients.values())

    def settings(self, user: str, **more: str) -> dict[str, str]:
        return {**self.sandbox.settings(user), "bootstrap.servers": self.bootstrap, **more}

    def connect(self, user: str = "admin", **more: str) -> KafkaCluster:
        return connect(settings_of(self.settings(user, **more)))

    def probe(self, user: str = "acl-probe") -> KafkaProbe:
        return KafkaProbe(settings_of(self.settings(user)))

    def cut_off(self, broker: int) -> None:
        """The broker learns nothing more, and goes on serving clients by what it knows."""
        for proxy in self.uplinks[broker].values():
            proxy.set(Mode.CUT)

    def signal(self, node: int, number: signal.Signals) -> None:
        pid = self.sandbox.node(node).pid
        assert pid is not None
        os.kill(pid, number)

    def kill(self, node: int) -> None:
        self.sandbox = stop_node(self.sandbox, node, kill=True)

    def stop(self, node: int) -> None:
        self.sandbox = stop_node(self.sandbox, node)

    def start(self, node: int) -> None:
        self.sandbox = start_node(self.sandbox, node)

    def heal(self) -> None:
        """Everything as it was: traffic flows, processes run, brokers know each other."""
        for proxy in (*self.clients.values(), *(p for links in self.uplinks.values() for p in links.values())):
            proxy.delay = 0.0
            proxy.set(Mode.OPEN)
        for node in self.sandbox.nodes:
            if node.is_running():
                self.signal(node.id, signal.SIGCONT)
        for node in self.sandbox.nodes:
            if not self.sandbox.node(node.id).is_running():
                self.start(node.id)
        wait_until_ready(self.sandbox, BROKERS)


@contextmanager
def three_brokers(root: Path, *, controllers: int = 3, default_allow: bool = False) -> Iterator[Cluster]:
    """A cluster behind proxies. Elections and fencing are quick, so that tests are."""
    spec = SandboxSpec(
        name="faults",
        nodes=3,
        controllers=controllers,
        users=generated_users(*USERS),
        any_principal=True,
        allow_everyone_if_no_acl_found=default_allow,
        heap="256m",
        overrides={
            "broker.session.timeout.ms": "3000",
            "broker.heartbeat.interval.ms": "500",
            "controller.quorum.election.timeout.ms": "500",
            "controller.quorum.fetch.timeout.ms": "1000",
        },
    )
    with Proxies() as proxies:
        placed: list[Cluster] = []
        with running_with(lambda sandbox: placed.append(_behind(proxies, sandbox)), spec, root) as sandbox:
            yield replace(placed[-1], sandbox=sandbox)


@contextmanager
def running_with(write: Callable[[Sandbox], None], spec: SandboxSpec, root: Path) -> Iterator[Sandbox]:
    """A sandbox; ``write`` changes its nodes' properties before the first of them starts."""
    launch = lifecycle.launch_node

    def launched(sandbox: Sandbox, node_id: int) -> Sandbox:
        # Another sandbox may be started first, to make the archive of its version's classes.
        if sandbox.name == spec.name and not any(node.process for node in sandbox.nodes):
            write(sandbox)
        return launch(sandbox, node_id)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lifecycle, "launch_node", launched)
        with running(spec, root=root) as sandbox:
            patched.undo()
            yield sandbox


def _behind(proxies: Proxies, sandbox: Sandbox) -> Cluster:
    """Give the brokers addresses that lead through proxies."""
    cluster = Cluster(sandbox, {}, {})
    controllers = [node for node in sandbox.nodes if not node.is_broker]
    for broker in BROKERS:
        node = cluster.sandbox.node(broker)
        client = cluster.clients[broker] = proxies.before(node.ports[Listener.CLIENT])
        links = {other.id: proxies.before(other.ports[Listener.CONTROLLER]) for other in controllers}
        cluster.uplinks[broker] = links
        file = cluster.sandbox.files(node).properties
        lines = []
        for line in file.read_text().splitlines():
            name, _, value = line.partition("=")
            if name == "advertised.listeners":
                value = value.replace(f":{node.ports[Listener.CLIENT]}", f":{client.port}")
            elif name == "controller.quorum.voters":
                value = ",".join(f"{number}@{HOST}:{proxy.port}" for number, proxy in links.items())
            lines.append(f"{name}={value}")
        # Two racks of unequal size: 1 and 3 share theirs.
        lines.append(f"broker.rack=rack-{broker % 2}")
        file.write_text("\n".join(lines) + "\n")
    return cluster
