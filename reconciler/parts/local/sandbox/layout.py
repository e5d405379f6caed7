"""A sandbox: what is asked for, nodes, listeners, places of files.

Which nodes a sandbox has, what each listens on, and where its files are.
"""

import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Final

from platformdirs import PlatformDirs

from reconciler.dataclass import dataclass

# The one error of the sandbox: what went wrong in a sentence, and what to do about it.


class SandboxError(Exception):
    """A sandbox cannot be started, found or ended. ``advice`` says what a person can do, or is empty."""

    def __init__(self, message: str, advice: str = "") -> None:
        """Keeps both parts; ``str()`` shows the message alone, a traceback both."""
        super().__init__(message)
        self.message, self.advice = message, advice
        if advice:
            self.add_note(advice)


# Which Kafka versions a sandbox can run, and what each needs in addition to the broker's artifact.

DEFAULT_VERSION = "4.4.0"

# Newest patches on Maven Central.
NEWEST_PATCH = {
    "3.9": "3.9.2",
    "4.0": "4.0.2",
    "4.1": "4.1.2",
    "4.2": "4.2.1",
    "4.3": "4.3.1",
    "4.4": "4.4.0",
}
# 4.4.0 names a module that was never published, and nothing in the broker refers to it.
_UNPUBLISHED: Final = {"4.4.0": ("kafka-tools-api",)}
_OLDER_PATCHES = ("3.9.0", "3.9.1", "4.0.0", "4.0.1", "4.1.0", "4.1.1", "4.2.0", "4.3.0")
KNOWN_VERSIONS = tuple(sorted((*NEWEST_PATCH.values(), *_OLDER_PATCHES)))


@dataclass(frozen=True, slots=True)
class Artifact:
    """A Maven coordinate, and modules of the same organisation that are excluded from its dependencies."""

    organisation: str
    name: str
    revision: str
    without: tuple[str, ...] = ()


def exact_version(version: str) -> str:
    """``4.3`` is its newest patch, ``4.3.1`` is itself; anything unknown raises :class:`SandboxError`."""
    exact = NEWEST_PATCH.get(version, version)
    if exact not in KNOWN_VERSIONS:
        raise SandboxError(
            f"Kafka {version} is not a version that the sandbox knows.",
            f"Choose one of {', '.join(NEWEST_PATCH)}, or one exactly, such as {NEWEST_PATCH['4.1']}.",
        )
    return exact


def uses_log4j2(version: str) -> bool:
    """Kafka logs through log4j2 since 4.0 (KIP-653), through reload4j before."""
    return not version.startswith("3.")


def artifacts(version: str) -> tuple[Artifact, ...]:
    """What to resolve for an exact version: the broker, and the logging back end that it does not depend on."""
    broker = Artifact("org.apache.kafka", "kafka_2.13", version, without=_UNPUBLISHED.get(version, ()))
    if uses_log4j2(version):
        return broker, Artifact("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")
    tools = Artifact("org.apache.kafka", "kafka-tools", version, without=("connect-runtime",))
    return broker, tools, Artifact("org.slf4j", "slf4j-reload4j", "1.7.36")


# The specification of a sandbox; combinations that cannot work are refused on creation.

DEFAULT_USERS = ("admin", "reconciler", "alice", "bob")

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
# Characters that need no quoting in JAAS, in Kafka's --add-scram and in properties files.
_USER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,60}")
_PASSWORD = re.compile(r"[A-Za-z0-9_.~!@#%^*+:/-]{1,100}")
_HEAP = re.compile(r"[1-9][0-9]{0,5}[mg]")


def generated_users(*names: str) -> dict[str, str]:
    """A random password for each name (for the default users, if none is given)."""
    return {name: secrets.token_hex(12) for name in names or DEFAULT_USERS}


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """A cluster on loopback. Every user can log in with PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512.

    ``nodes`` are brokers, and controllers too unless ``controllers`` asks for separate ones. ``port`` fixes the
    client port of the first broker; each further one takes the next. ``any_principal`` switches on unsigned
    OAUTHBEARER tokens: any client can then claim any principal, super users included. ``tls`` adds a SASL_SSL
    listener and an SSL one that asks for a certificate; ``plaintext`` adds one without login (``User:ANONYMOUS``).
    ``class_path`` is for broker plug-ins such as a CreateTopicPolicy; ``overrides`` are added to every node's
    properties last. ``log_permitted`` makes the authorizer log permitted accesses too, not only denials.
    """

    name: str = "default"
    kafka_version: str = DEFAULT_VERSION
    nodes: int = 1
    controllers: int = 0
    users: Mapping[str, str] = field(default_factory=generated_users, repr=False)
    super_users: tuple[str, ...] = ("User:admin", "User:reconciler")
    authorizer: bool = True
    allow_everyone_if_no_acl_found: bool = False
    auto_create_topics: bool = False
    any_principal: bool = False
    plaintext: bool = False
    tls: bool = False
    port: int | None = None
    heap: str = "384m"
    overrides: Mapping[str, str] = field(default_factory=dict)
    class_path: tuple[Path, ...] = ()
    log_permitted: bool = False

    def __post_init__(self) -> None:
        """Raises :class:`SandboxError` for a combination that cannot work; nothing is started or written."""
        check_name(self.name)
        if not 1 <= self.nodes <= 9 or not 0 <= self.controllers <= 9:
            raise SandboxError(f"{self.nodes} nodes and {self.controllers} controllers: a sandbox has 1 to 9 of each.")
        if self.port is not None and not 1024 <= self.port <= 65535 - self.nodes:
            raise SandboxError(f"Port {self.port} is not between 1024 and {65535 - self.nodes}.")
        if not _HEAP.fullmatch(self.heap):
            raise SandboxError(f"Heap {self.heap!r} is not a size such as 384m or 1g.")
        self._check_users()

    def _check_users(self) -> None:
        if not self.users:
            raise SandboxError("A sandbox needs at least one user.")
        for name, password in self.users.items():
            if not _USER.fullmatch(name):
                raise SandboxError(f"User name {name!r}: only letters, digits, '_', '.' and '-', a letter first.")
            if not _PASSWORD.fullmatch(password):
                raise SandboxError(
                    f"The password of {name} is empty, too long, or has a character that JAAS cannot carry."
                )
        for principal in self.super_users:
            if ":" not in principal or ";" in principal:
                raise SandboxError(f"Super user {principal!r} is not a principal such as User:admin.")


def check_name(name: str) -> None:
    """Raises :class:`SandboxError` unless the name can be a directory and a cluster's name."""
    if not _NAME.fullmatch(name):
        raise SandboxError(
            f"{name!r} is not a name for a sandbox.",
            "Use 1 to 40 lower-case letters, digits and '-', beginning with a letter or digit.",
        )


FIRST_CONTROLLER = 101

#: The files of ``tls/`` (:mod:`reconciler.parts.local.sandbox.properties`).
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


# Directories of the user's own, as the operating system has them (on Linux: the XDG base directories).

_DIRECTORIES: Final = PlatformDirs("reconciler", appauthor=False)


def cache_directory() -> Path:
    """What can be downloaded again: ``$XDG_CACHE_HOME/reconciler``, by default below ``~/.cache``."""
    return _absolute(lambda: _DIRECTORIES.user_cache_path, "XDG_CACHE_HOME")


def state_directory() -> Path:
    """What has to last: ``$XDG_STATE_HOME/reconciler``, by default below ``~/.local/state``."""
    return _absolute(lambda: _DIRECTORIES.user_state_path, "XDG_STATE_HOME")


def _absolute(find: Callable[[], Path], variable: str) -> Path:
    try:
        path = find()
    except RuntimeError:  # what newer versions of platformdirs raise where older ones return "~/…"
        path = Path()
    if not path.is_absolute():
        raise SandboxError(
            "There is no home directory: HOME is not set, and the system knows none for this user.",
            f"Set HOME, or {variable} to a directory that can be written to.",
        )
    return path
