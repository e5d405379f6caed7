"""A running sandbox: ports, processes, its directory and record.

A running sandbox, and ``sandbox.json``, its record for later commands.
"""

import contextlib
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, field
from pathlib import Path

from reconciler.dataclass import dataclass
from reconciler.parts.local.sandbox.layout import (
    CA_NAME,
    CLIENT_NAME,
    Listener,
    NodeFiles,
    SandboxError,
    check_name,
    state_directory,
)

# Free ports on loopback, reserved until just before the broker binds them.

HOST = "127.0.0.1"

# Below the ephemeral ranges of Linux and macOS, so that no outgoing connection takes one in between.
_RANGE = range(20_000, 32_000)
_TRIES = 1_000


@contextmanager
def reserved(count: int, fixed: tuple[int, ...] = ()) -> Iterator[list[int]]:
    """``fixed``, then free ones up to ``count`` in all, taken while the block runs; a taken fixed one is an error."""
    with ExitStack() as held:
        for port in fixed:
            if not _bind(port, held):
                raise SandboxError(f"Port {port} on {HOST} is taken.", "Choose another, or omit the option.")
        ports = list(fixed)
        for port in random.sample(_RANGE, _TRIES):
            if len(ports) >= count:
                break
            if port not in ports and _bind(port, held):
                ports.append(port)
        if len(ports) < count:
            raise SandboxError(f"There are no {count} free ports between {_RANGE.start} and {_RANGE.stop} on {HOST}.")
        yield ports


def accepts(port: int) -> bool:
    """Whether something listens there."""
    with socket.socket() as attempt:
        attempt.settimeout(1)
        return attempt.connect_ex((HOST, port)) == 0


def _bind(port: int, held: ExitStack) -> bool:
    holder = held.enter_context(socket.socket())
    # As Java's ServerSocket does: a port whose last connection is in TIME_WAIT is free.
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        holder.bind((HOST, port))
        holder.listen(1)  # two sockets that only bind may share a port on Linux
    except OSError:
        return False
    return True


# Processes that outlive the command that started them, and that are only ended if they are still the same.
#
# A process is its pid *and* its start time: the system reuses pids.

_POLL_SECONDS = 0.02
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Process:
    """One run of a program: a pid, and what the system says about when it started (compared, never read)."""

    pid: int
    started: str


def spawn(command: Sequence[str], output: Path, environment: Mapping[str, str]) -> Process:
    """Starts a program in a session of its own, so that a Ctrl-C in this terminal does not reach it."""
    pid = os.posix_spawn(
        command[0],
        list(command),
        dict(environment),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(output), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=[signal.SIGPIPE, signal.SIGINT],
    )
    return Process(pid, start_time(pid) or "")


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Delays an interrupt to the end of the block, so that a started process is always recorded."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def this_process() -> Process:
    """The process that runs this code."""
    return Process(os.getpid(), start_time(os.getpid()) or "")


def is_alive(process: Process) -> bool:
    """Whether this process still runs; a reused pid or a zombie does not count."""
    if process.started and start_time(process.pid) == process.started:
        return True
    with contextlib.suppress(ChildProcessError):  # a child of ours: reap it
        os.waitpid(process.pid, os.WNOHANG)
    return False


def end(processes: Sequence[Process], patience: float) -> None:
    """Terminates them, kills those that have not ended within ``patience`` seconds; returns when all are gone.

    Without patience (0) they are killed at once, unasked.
    """
    if patience:
        _signal(processes, signal.SIGTERM)
        _wait(processes, patience)
    _signal(processes, signal.SIGKILL)
    _wait(processes, float("inf"))


def start_time(pid: int) -> str | None:
    """When the process with this pid started, in the system's own words; None if there is none, or only a zombie."""
    if not _BOOT_ID.exists():
        return _start_time_of_ps(pid)
    try:
        # proc(5): the name in parentheses may hold anything; state is the first field after it, starttime the 20th.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else f"{_BOOT_ID.read_text(encoding='ascii').strip()}/{fields[19]}"


def _start_time_of_ps(pid: int) -> str | None:
    answer = subprocess.run(
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = answer.stdout.strip().partition(" ")
    return started.strip() if started and not state.startswith("Z") else None


def _signal(processes: Sequence[Process], number: signal.Signals) -> None:
    for process in processes:
        if is_alive(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)


def _wait(processes: Sequence[Process], patience: float) -> None:
    until = time.monotonic() + patience
    while any(is_alive(process) for process in processes) and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)


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
    with (:func:`reconciler.parts.local.sandbox.lifecycle.running`), None if it stays until somebody ends it.
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
        """A file that :mod:`reconciler.parts.local.sandbox.properties` made."""
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


# The directories of sandboxes, created, listed and removed under one lock.


def sandbox_root(root: Path | None) -> Path:
    """``root``, or ``$XDG_STATE_HOME/reconciler/sandbox``, by default below ``~/.local/state``."""
    if root is not None:
        return root.absolute()
    return state_directory() / "sandbox"


def claim(sandbox: Sandbox) -> None:
    """Makes the sandbox's directory and record; raises if the name is in use, clears what a crash left."""
    with _locked(sandbox.directory.parent):
        if sandbox.directory.exists():
            refuse_if_up(sandbox.directory)
            _discard(sandbox.directory)
        sandbox.directory.mkdir(mode=0o700)
        save(sandbox)


def refuse_if_up(directory: Path) -> None:
    """Raises :class:`SandboxError` if a sandbox in this directory is up, partly up or starting."""
    sandbox = load(directory)
    if sandbox is None or sandbox.condition() == "crashed":
        return
    if sandbox.condition() == "starting":
        raise SandboxError(f"Sandbox {sandbox.name} is just being started.", "Wait, or choose another name.")
    advice = f"Choose another name, or end it: reconciler sandbox down --name {sandbox.name}"
    condition = sandbox.condition()
    state = "is already up" if condition == "up" else f"is {condition}"
    raise SandboxError(f"Sandbox {sandbox.name} {state} ({sandbox.bootstrap}).", advice)


def remove(directory: Path) -> None:
    """Ends a sandbox's processes and removes its directory; raises if it is absent or being started."""
    check_name(directory.name)
    if not directory.exists():
        raise not_up(directory.name)
    with _locked(directory.parent):
        sandbox = load(directory)
        starter = sandbox.starter if sandbox else None
        if starter and starter != this_process() and is_alive(starter):
            raise SandboxError(f"Sandbox {directory.name} is just being started.", f"Interrupt process {starter.pid}.")
        _discard(directory)


def remove_after(directory: str, pid: int, started: str) -> None:
    """Removes the sandbox that this process held, once it is gone; one that somebody else has made since is left."""
    holder = Process(pid, started)
    while is_alive(holder):  # its files are closed, which is how we know, a moment before its pid is free
        time.sleep(_POLL_SECONDS)
    sandbox = load(Path(directory))
    if sandbox and sandbox.holder == holder:
        remove(sandbox.directory)


def stored(root: Path) -> list[Sandbox]:
    """Every sandbox that has a record, sorted by name."""
    if not root.is_dir():
        return []
    sandboxes = [load(directory) for directory in sorted(root.iterdir())]
    return [sandbox for sandbox in sandboxes if sandbox]


def not_up(name: str) -> SandboxError:
    """The error for a name that no sandbox has."""
    return SandboxError(f"Sandbox {name} is not up.", f"Start it: reconciler sandbox up --name {name}")


def _discard(directory: Path) -> None:
    if sandbox := load(directory):
        # The data is deleted anyway: nothing is lost with a node that is killed, and a polite end takes seconds.
        end([node.process for node in sandbox.nodes if node.process], 0.0)
    shutil.rmtree(directory)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Holds the lock on the directory of all sandboxes; it is on the directory itself, so no lock file is left."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
