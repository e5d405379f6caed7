"""Which nodes a sandbox has, what each listens on, and where its files are."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

from reconciler.adapters.sandbox.spec import SandboxSpec
from reconciler.dataclass import dataclass

FIRST_CONTROLLER = 101

#: The files of ``tls/`` (:mod:`reconciler.adapters.sandbox.tls`).
CA_NAME = "ca.pem"
TRUSTSTORE_NAME = "truststore.p12"
KEYSTORE_NAME = "broker.p12"
CLIENT_NAME = "client.p12"


class Listener(StrEnum):
    """Listeners by name. BROKER and CONTROLLER are for nodes only, with a password of their own."""

    CONTROLLER = "CONTROLLER"
    BROKER = "BROKER"
    CLIENT = "CLIENT"
    CLIENT_SASL_SSL = "CLIENT_SASL_SSL"
    CLIENT_SSL = "CLIENT_SSL"
    CLIENT_PLAINTEXT = "CLIENT_PLAINTEXT"


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node before it has a process: its id, its roles as Kafka writes them, its port for each listener."""

    id: int
    roles: tuple[str, ...]
    ports: dict[Listener, int]


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """Where a node's files are, inside the sandbox's directory."""

    directory: Path
    id: int

    @property
    def properties(self) -> Path:
        """What it is started with."""
        return self.directory / f"node-{self.id}.properties"

    @property
    def data(self) -> Path:
        """Its log directory."""
        return self.directory / "data" / f"node-{self.id}"

    @property
    def log(self) -> Path:
        """What it logs; two files of 4 MB at the most."""
        return self.directory / "logs" / f"node-{self.id}.log"

    @property
    def output(self) -> Path:
        """What its Java prints: nothing, unless it cannot start."""
        return self.directory / "logs" / f"node-{self.id}.out"


def listeners(spec: SandboxSpec, roles: tuple[str, ...]) -> tuple[Listener, ...]:
    """The listeners of a node with these roles; a broker's CLIENT comes first."""
    names: list[Listener] = []
    if "broker" in roles:
        names += [Listener.CLIENT, Listener.BROKER]
        names += [Listener.CLIENT_SASL_SSL, Listener.CLIENT_SSL] if spec.tls else []
        names += [Listener.CLIENT_PLAINTEXT] if spec.plaintext else []
    return (*names, Listener.CONTROLLER) if "controller" in roles else tuple(names)


def port_count(spec: SandboxSpec) -> int:
    """How many ports the whole sandbox needs."""
    return sum(len(listeners(spec, roles)) for _, roles in _members(spec))


def lay_out(spec: SandboxSpec, ports: Sequence[int]) -> list[NodePlan]:
    """The nodes, controllers first; the first ``spec.nodes`` ports go to the brokers' CLIENT listeners."""
    client, others = iter(ports[: spec.nodes]), iter(ports[spec.nodes :])
    return [
        NodePlan(
            node_id,
            roles,
            {name: next(client if name is Listener.CLIENT else others) for name in listeners(spec, roles)},
        )
        for node_id, roles in _members(spec)
    ]


def is_controller(spec: SandboxSpec, node_id: int) -> bool:
    """Whether a node has the role ``controller``."""
    return any("controller" in roles for member, roles in _members(spec) if member == node_id)


def _members(spec: SandboxSpec) -> Iterator[tuple[int, tuple[str, ...]]]:
    roles = ("broker",) if spec.controllers else ("broker", "controller")
    yield from ((FIRST_CONTROLLER + index, ("controller",)) for index in range(spec.controllers))
    yield from ((1 + index, roles) for index in range(spec.nodes))
