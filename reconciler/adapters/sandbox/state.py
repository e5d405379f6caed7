"""A running sandbox, and ``sandbox.json``, its record for later commands."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path

from reconciler.adapters.sandbox.error import SandboxError
from reconciler.adapters.sandbox.layout import CA_NAME, CLIENT_NAME, Listener, NodeFiles
from reconciler.adapters.sandbox.ports import HOST
from reconciler.adapters.sandbox.process import Process, is_alive
from reconciler.dataclass import dataclass

RECORD_NAME = "sandbox.json"
CONNECTIONS_NAME = "connections.yaml"


@dataclass(frozen=True, slots=True)
class Node:
    """One Kafka node: its roles, its port for each listener, and the command and process that run it.

    ``process`` is None before its first start and after :func:`stop_node`.
    """

    id: int
    roles: tuple[str, ...]
    ports: Mapping[Listener, int]
    command: tuple[str, ...] = field(default=(), repr=False)
    process: Process | None = None

    @property
    def pid(self) -> int | None:
        """The pid, or None if no process was started or it was stopped."""
        return self.process.pid if self.process else None

    @property
    def is_broker(self) -> bool:
        """Whether clients can talk to it."""
        return "broker" in self.roles

    def is_running(self) -> bool:
        """Whether its process lives, as of now."""
        return self.process is not None and is_alive(self.process)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A cluster on loopback.

    ``starter`` is the process that is still starting it, None once it answered. ``holder`` is the process that it ends
    with (:func:`reconciler.adapters.sandbox.lifecycle.running`), None if it stays until somebody ends it.
    """

    name: str
    kafka_version: str
    directory: Path
    nodes: tuple[Node, ...] = ()
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    super_users: tuple[str, ...] = ()
    store_password: str = field(default="", repr=False)
    starter: Process | None = None
    holder: Process | None = None

    @property
    def bootstrap(self) -> str:
        """The brokers' SASL_PLAINTEXT addresses, separated by commas."""
        return self.addresses(Listener.CLIENT)

    @property
    def connections(self) -> Path:
        """The file for ``--connections``."""
        return self.directory / CONNECTIONS_NAME

    @property
    def client_directory(self) -> Path:
        """Where each user has a properties file for Kafka's own command-line tools (``--command-config``)."""
        return self.directory / "clients"

    def addresses(self, listener: Listener) -> str:
        """``127.0.0.1:port`` of every broker on this listener, separated by commas; empty if there is no such one."""
        return ",".join(
            f"{HOST}:{node.ports[listener]}" for node in self.nodes if node.is_broker and listener in node.ports
        )

    def node(self, node_id: int) -> Node:
        """The node with this id; raises :class:`SandboxError` if there is none."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise SandboxError(
            f"Sandbox {self.name} has no node {node_id}: it has {', '.join(str(n.id) for n in self.nodes)}."
        )

    def files(self, node: Node) -> NodeFiles:
        """Where this node's files are."""
        return NodeFiles(self.directory, node.id)

    def condition(self) -> str:
        """``up``, ``starting``, ``partly up`` (some node has no process) or ``crashed``, as of now.

        A crashed sandbox has no process, or its start was interrupted; the next ``up`` removes it.
        """
        if self.starter:
            return "starting" if is_alive(self.starter) else "crashed"
        running = [node.is_running() for node in self.nodes]
        if all(running):
            return "up"
        return "partly up" if any(running) else "crashed"

    def settings(self, user: str, mechanism: str = "SCRAM-SHA-512", *, tls: bool = False) -> dict[str, str]:
        """What a librdkafka client needs to log in as a user, with a password or (OAUTHBEARER) an unsigned token."""
        listener = Listener.CLIENT_SASL_SSL if tls else Listener.CLIENT
        settings = {
            "bootstrap.servers": self.addresses(listener),
            "security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
        }
        if tls:
            settings["ssl.ca.location"] = str(self.tls_file(CA_NAME))
        if mechanism == "OAUTHBEARER":
            return {
                **settings,
                "enable.sasl.oauthbearer.unsecure.jwt": "true",
                "sasl.oauthbearer.config": f"principal={user}",
            }
        return {**settings, "sasl.username": user, "sasl.password": self.users[user]}

    def certificate_settings(self) -> dict[str, str]:
        """What a librdkafka client needs to log in with the client certificate, as ``User:reconciler``."""
        return {
            "bootstrap.servers": self.addresses(Listener.CLIENT_SSL),
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.tls_file(CA_NAME)),
            "ssl.keystore.location": str(self.tls_file(CLIENT_NAME)),
            "ssl.keystore.password": self.store_password,
        }

    def tls_file(self, name: str) -> Path:
        """A file that :mod:`reconciler.adapters.sandbox.tls` made."""
        return self.directory / "tls" / name


def save(sandbox: Sandbox) -> None:
    """Writes the record in one step, so that a reader never sees half of it."""
    record = asdict(sandbox) | {"directory": None}
    target = sandbox.directory / RECORD_NAME
    write_private(target.with_suffix(".new"), json.dumps(record, indent=1) + "\n")
    target.with_suffix(".new").replace(target)


def load(directory: Path) -> Sandbox | None:
    """The sandbox of a directory, None without a (whole) record in it."""
    try:
        record = json.loads((directory / RECORD_NAME).read_text(encoding="utf-8"))
        return Sandbox(
            name=record["name"],
            kafka_version=record["kafka_version"],
            directory=directory,
            nodes=tuple(_node(node) for node in record["nodes"]),
            users=record["users"],
            super_users=tuple(record["super_users"]),
            store_password=record["store_password"],
            starter=_process(record["starter"]),
            holder=_process(record["holder"]),
        )
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None


def write_private(path: Path, text: str) -> None:
    """Writes a file that is readable only by its owner from the start."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _node(record: Mapping[str, object]) -> Node:
    match record:
        case {"id": int(id), "roles": list(roles), "ports": dict(ports), "command": list(command), "process": process}:
            named = {Listener(name): int(port) for name, port in ports.items()}
            return Node(id, tuple(roles), named, tuple(command), _process(process))
    raise ValueError("not a node")


def _process(record: object) -> Process | None:
    match record:
        case {"pid": int(pid), "started": str(started)}:
            return Process(pid, started)
        case None:
            return None
    raise ValueError("not a process")
