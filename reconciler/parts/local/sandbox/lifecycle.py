"""Start, find and end sandboxes."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from reconciler.parts.local.sandbox import launch, layout, properties, state
from reconciler.parts.local.sandbox.layout import SandboxSpec
from reconciler.parts.local.sandbox.state import Sandbox

# Single nodes of a sandbox: started and stopped one by one, each start and stop in the record at once.

_STOP_SECONDS = 10.0


def start_node(sandbox: Sandbox, node_id: int) -> Sandbox:
    """Starts a stopped node, on the ports it had, and waits until the running brokers all see each other again."""
    if sandbox.node(node_id).is_running():
        raise layout.SandboxError(f"Node {node_id} of sandbox {sandbox.name} is running already.")
    started = launch_node(sandbox, node_id)
    launch.wait_until_ready(started, [node.id for node in started.nodes if node.is_broker and node.is_running()])
    return started


def stop_node(sandbox: Sandbox, node_id: int, *, kill: bool = False) -> Sandbox:
    """Stops a node and returns when its process is gone: politely (10 s, then by force), or at once with ``kill``."""
    process = sandbox.node(node_id).process
    if process is not None:
        state.end([process], 0.0 if kill else _STOP_SECONDS)
    return _recorded(sandbox, replace(sandbox.node(node_id), process=None))


def launch_node(sandbox: Sandbox, node_id: int) -> Sandbox:
    """Starts a node's process and does not wait for it to answer."""
    node = sandbox.node(node_id)
    with state.interrupts_held():
        process = state.spawn(node.command, sandbox.files(node).output, launch.environment())
        return _recorded(sandbox, replace(node, process=process))


def _recorded(sandbox: Sandbox, changed: state.Node) -> Sandbox:
    nodes = tuple(changed if node.id == changed.id else node for node in sandbox.nodes)
    recorded = replace(sandbox, nodes=nodes)
    state.save(recorded)
    return recorded


Progress = Callable[[str], None]

_ATTEMPTS = 3


def silent(_: str) -> None:
    """Progress that is discarded."""


def up(spec: SandboxSpec, progress: Progress = silent, root: Path | None = None) -> Sandbox:
    """Starts a cluster and returns when every broker answers; a failed start is cleaned up.

    It stays up when this process ends. Sandboxes live below ``root`` (see :func:`sandbox_root`); raises
    :class:`SandboxError`.
    """
    return _up(spec, progress, root, holder=None)


def _up(spec: SandboxSpec, progress: Progress, root: Path | None, *, holder: state.Process | None) -> Sandbox:
    spec = replace(spec, kafka_version=layout.exact_version(spec.kafka_version))
    directory = state.sandbox_root(root) / spec.name
    state.refuse_if_up(directory)
    java = launch.find_java()
    # A leading zero byte: an id that begins with "-" would be parsed as an option.
    cluster_id = launch.random_uuid()
    program = launch.Program(java, launch.broker_jars(spec.kafka_version, java, progress), cluster_id)
    program = launch.with_class_archive(program, spec.kafka_version, progress, _start)
    for attempt in range(1, _ATTEMPTS + 1):
        progress(f"starting Kafka {spec.kafka_version}: {spec.nodes} broker{'s' * (spec.nodes > 1)}")
        try:
            return _start(spec, program, directory, holder)
        except launch.PortTakenError:
            if attempt == _ATTEMPTS or spec.port is not None:
                raise
    raise AssertionError("every attempt returns or raises")


def down(name: str = "default", root: Path | None = None) -> None:
    """Ends a sandbox's processes and removes its directory; raises :class:`SandboxError` if there is none."""
    layout.check_name(name)
    state.remove(state.sandbox_root(root) / name)


def status(root: Path | None = None) -> list[Sandbox]:
    """Every sandbox that was started and not ended, sorted by name; ``condition()`` says how it is."""
    return state.stored(state.sandbox_root(root))


def find(name: str = "default", root: Path | None = None) -> Sandbox:
    """One sandbox by name; raises :class:`SandboxError` if there is none."""
    layout.check_name(name)
    sandbox = state.load(state.sandbox_root(root) / name)
    if sandbox is None:
        raise state.not_up(name)
    return sandbox


@contextmanager
def running(spec: SandboxSpec, progress: Progress = silent, root: Path | None = None) -> Iterator[Sandbox]:
    """A sandbox for the time of a block; it is ended too if this process is killed in the block."""
    holder = state.this_process()
    with launch.watched(state.sandbox_root(root) / spec.name, holder.pid, holder.started):
        sandbox = _up(spec, progress, root, holder=holder)
        try:
            yield sandbox
        finally:
            if sandbox.directory.exists():
                state.remove(sandbox.directory)


def _start(spec: SandboxSpec, program: launch.Program, directory: Path, holder: state.Process | None) -> Sandbox:
    store_password = secrets.token_hex(16) if spec.tls else ""
    sandbox = Sandbox(
        name=spec.name,
        kafka_version=spec.kafka_version,
        directory=directory,
        users=dict(spec.users),
        super_users=spec.super_users if spec.authorizer else (),
        store_password=store_password,
        starter=state.this_process(),
        holder=holder,
    )
    state.claim(sandbox)
    try:
        return _bring_up(spec, program, sandbox)
    except BaseException:
        state.remove(directory)
        raise


def _bring_up(spec: SandboxSpec, program: launch.Program, sandbox: Sandbox) -> Sandbox:
    fixed = () if spec.port is None else tuple(range(spec.port, spec.port + spec.nodes))
    with state.reserved(layout.port_count(spec), fixed) as ports:
        sandbox = _prepare(spec, program, sandbox, layout.lay_out(spec, ports))
    for node in sandbox.nodes:
        sandbox = launch_node(sandbox, node.id)
    launch.wait_until_ready(sandbox, [node.id for node in sandbox.nodes if node.is_broker])
    sandbox = replace(sandbox, starter=None)
    properties.write_connections(sandbox, default_allow=spec.allow_everyone_if_no_acl_found)
    properties.write_client_files(sandbox)
    state.save(sandbox)
    return sandbox


def _prepare(spec: SandboxSpec, program: launch.Program, sandbox: Sandbox, plans: list[layout.NodePlan]) -> Sandbox:
    """Writes everything that the nodes read, and formats their storage."""
    for name in ("data", "logs", "tmp"):
        (sandbox.directory / name).mkdir(mode=0o700)
    if spec.tls:
        _make_certificates(sandbox)
    passwords = properties.Secrets(secrets.token_hex(16), sandbox.store_password)
    nodes, files = [], [layout.NodeFiles(sandbox.directory, plan.id) for plan in plans]
    for plan, own in zip(plans, files, strict=True):
        state.write_private(
            own.properties, properties.render(properties.node_properties(spec, plan, plans, own, passwords))
        )
        launch.write_logging(spec, own)
        nodes.append(state.Node(plan.id, plan.roles, plan.ports, launch.run_command(program, spec, own)))
    launch.format_storages(program, spec, files)
    return replace(sandbox, nodes=tuple(nodes))


def _make_certificates(sandbox: Sandbox) -> None:
    try:
        from reconciler.parts.local.sandbox.properties import make_certificates  # noqa: PLC0415 - an extra, for TLS only
    except ImportError as error:
        raise layout.SandboxError(
            "TLS needs the package cryptography.", "Install it: pip install './reconciler[sandbox]'"
        ) from error
    make_certificates(sandbox.directory / "tls", sandbox.store_password)
