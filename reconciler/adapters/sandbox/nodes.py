"""Single nodes of a sandbox: started and stopped one by one, each start and stop in the record at once."""

from dataclasses import replace

from reconciler.adapters.sandbox.error import SandboxError
from reconciler.adapters.sandbox.launch import environment
from reconciler.adapters.sandbox.process import end, interrupts_held, spawn
from reconciler.adapters.sandbox.readiness import wait_until_ready
from reconciler.adapters.sandbox.state import Node, Sandbox, save

_STOP_SECONDS = 10.0


def start_node(sandbox: Sandbox, node_id: int) -> Sandbox:
    """Starts a stopped node, on the ports it had, and waits until the running brokers all see each other again."""
    if sandbox.node(node_id).is_running():
        raise SandboxError(f"Node {node_id} of sandbox {sandbox.name} is running already.")
    started = launch_node(sandbox, node_id)
    wait_until_ready(started, [node.id for node in started.nodes if node.is_broker and node.is_running()])
    return started


def stop_node(sandbox: Sandbox, node_id: int, *, kill: bool = False) -> Sandbox:
    """Stops a node and returns when its process is gone: politely (10 s, then by force), or at once with ``kill``."""
    process = sandbox.node(node_id).process
    if process is not None:
        end([process], 0.0 if kill else _STOP_SECONDS)
    return _recorded(sandbox, replace(sandbox.node(node_id), process=None))


def launch_node(sandbox: Sandbox, node_id: int) -> Sandbox:
    """Starts a node's process and does not wait for it to answer."""
    node = sandbox.node(node_id)
    with interrupts_held():
        process = spawn(node.command, sandbox.files(node).output, environment())
        return _recorded(sandbox, replace(node, process=process))


def _recorded(sandbox: Sandbox, changed: Node) -> Sandbox:
    nodes = tuple(changed if node.id == changed.id else node for node in sandbox.nodes)
    recorded = replace(sandbox, nodes=nodes)
    save(recorded)
    return recorded
