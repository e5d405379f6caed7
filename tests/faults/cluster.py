"""Three brokers and controllers apart, a proxy before each broker's clients and on its way to each controller."""

import os
import signal
import socket
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import pytest

from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.handshake import KafkaProbe
from reconciler.parts.local.sandbox import lifecycle
from reconciler.parts.local.sandbox.launch import wait_until_ready
from reconciler.parts.local.sandbox.layout import Listener, SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running, start_node, stop_node
from reconciler.parts.local.sandbox.state import Node, Sandbox
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
        return {**self.sandbox.settings(user, "PLAIN"), "bootstrap.servers": self.bootstrap, **more}

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

        def write(sandbox: Sandbox) -> Sandbox:
            placed.append(_behind(proxies, sandbox))
            return placed[-1].sandbox

        with running_with(write, spec, root) as sandbox:
            yield replace(placed[-1], sandbox=sandbox)


@contextmanager
def running_with(write: Callable[[Sandbox], Sandbox], spec: SandboxSpec, root: Path) -> Iterator[Sandbox]:
    """A sandbox; ``write`` changes its nodes' properties and commands before the first of them starts."""
    launch = lifecycle.launch_node

    def launched(sandbox: Sandbox, node_id: int) -> Sandbox:
        # Another sandbox may be started first, to make the archive of its version's classes.
        if sandbox.name == spec.name and not any(node.process for node in sandbox.nodes):
            sandbox = write(sandbox)
        return launch(sandbox, node_id)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lifecycle, "launch_node", launched)
        with running(spec, root=root) as sandbox:
            patched.undo()
            yield sandbox


def active_controller(settings: Mapping[str, str]) -> int:
    """The leader of the quorum, as a client with ``settings`` of SASL/PLAIN is told."""
    with warnings.catch_warnings(action="ignore"):  # kafka-python reads its schemas by a deprecated function
        admin = import_module("kafka.admin")
    client = admin.KafkaAdminClient(
        bootstrap_servers=settings["bootstrap.servers"],
        security_protocol=settings["security.protocol"],
        sasl_mechanism="PLAIN",
        sasl_plain_username=settings["sasl.username"],
        sasl_plain_password=settings["sasl.password"],
    )
    try:
        return int(client.describe_metadata_quorum()["topics"][0]["partitions"][0]["leader_id"])
    finally:
        client.close()


def _behind(proxies: Proxies, sandbox: Sandbox) -> Cluster:
    """Lead clients through a proxy to each broker, and each broker through proxies of its own to the controllers.

    A follower fetches from the address that the leader advertises (KIP-853), not from those in
    ``controller.quorum.voters``. So a controller advertises a name, which each node resolves by its own hosts file:
    at a broker it is an address of loopback where that broker's proxies listen.
    """
    clients: dict[int, Proxy] = {}
    uplinks: dict[int, dict[int, Proxy]] = {}
    voters = {node.id: node.ports[Listener.CONTROLLER] for node in sandbox.nodes if not node.is_broker}
    nodes = []
    for node in sandbox.nodes:
        properties = {"controller.quorum.voters": ",".join(f"{v}@{_name(v)}:{port}" for v, port in voters.items())}
        if node.is_broker:
            client = clients[node.id] = proxies.before(node.ports[Listener.CLIENT])
            gateway = f"127.0.0.{10 + node.id}"
            uplinks[node.id] = {voter: proxies.before(port, at=(gateway, port)) for voter, port in voters.items()}
            own = _property(sandbox, node, "advertised.listeners")
            properties["advertised.listeners"] = own.replace(f":{node.ports[Listener.CLIENT]}", f":{client.port}")
            # Two racks of unequal size: 1 and 3 share theirs.
            properties["broker.rack"] = f"rack-{node.id % 2}"
        else:
            gateway = HOST
            properties["advertised.listeners"] = f"{Listener.CONTROLLER}://{_name(node.id)}:{voters[node.id]}"
        _configure(sandbox, node, properties)
        hosts = sandbox.directory / f"hosts-{node.id}"
        names = " ".join(map(_name, voters))
        hosts.write_text(f"{HOST} localhost {socket.gethostname()}\n{gateway} {names}\n")
        java, *rest = node.command
        nodes.append(replace(node, command=(java, f"-Djdk.net.hosts.file={hosts}", *rest)))
    return Cluster(replace(sandbox, nodes=tuple(nodes)), clients, uplinks)


def _name(controller: int) -> str:
    return f"controller-{controller}"


def _property(sandbox: Sandbox, node: Node, name: str) -> str:
    lines = sandbox.files(node).properties.read_text().splitlines()
    return next(line for line in lines if line.startswith(f"{name}=")).partition("=")[2]


def _configure(sandbox: Sandbox, node: Node, properties: Mapping[str, str]) -> None:
    """Set properties of a node; of two lines with one name, Java takes the last."""
    with sandbox.files(node).properties.open("a") as file:
        file.writelines(f"{name}={value}\n" for name, value in properties.items())
