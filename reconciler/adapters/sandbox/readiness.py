"""Wait until a cluster answers, and show what its nodes logged if it does not."""

import time
from collections.abc import Iterable

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from reconciler.adapters.sandbox.error import SandboxError
from reconciler.adapters.sandbox.layout import Listener
from reconciler.adapters.sandbox.ports import HOST, accepts
from reconciler.adapters.sandbox.state import Node, Sandbox

# A node that cannot start ends by itself and is named at once. This is for one that hangs: a busy machine takes long.
START_SECONDS = 300
_POLL_SECONDS = 0.05
_ASK_SECONDS = 2.0
_LOGGED_LINES = 12


class PortTakenError(SandboxError):
    """A node could not bind one of its ports: another process has taken it."""


def wait_until_ready(sandbox: Sandbox, expected: Iterable[int]) -> None:
    """Returns when each expected broker lets a user log in and knows all the others; raises within START_SECONDS."""
    until = time.monotonic() + START_SECONDS
    brokers = [sandbox.node(node_id) for node_id in expected]
    for broker in brokers:
        while not accepts(broker.ports[Listener.CLIENT]):
            _check(sandbox, until)
            time.sleep(_POLL_SECONDS)
    for broker in brokers:
        while _known_brokers(sandbox, broker) != {other.id for other in brokers}:
            _check(sandbox, until)
            time.sleep(_POLL_SECONDS)


def _check(sandbox: Sandbox, until: float) -> None:
    for node in sandbox.nodes:
        if node.process is not None and not node.is_running():
            raise _failure(sandbox, node, f"Node {node.id} of sandbox {sandbox.name} ended while it started.")
    if time.monotonic() > until:
        first = sandbox.nodes[0]
        raise _failure(sandbox, first, f"Sandbox {sandbox.name} did not answer within {START_SECONDS} s.")


def _known_brokers(sandbox: Sandbox, broker: Node) -> set[int]:
    """The brokers that this broker reports to an ordinary user; empty as long as it does not answer."""
    user = next(iter(sandbox.users))
    only = {"bootstrap.servers": f"{HOST}:{broker.ports[Listener.CLIENT]}", "log_level": "0"}
    try:
        with AdminClient({**sandbox.settings(user), **only}) as admin:
            answer = admin.describe_cluster(request_timeout=_ASK_SECONDS).result()
    except KafkaException:
        return set()
    return {node.id for node in answer.nodes}


def _failure(sandbox: Sandbox, node: Node, message: str) -> SandboxError:
    lines = last_lines(sandbox, node)
    text = "\n".join(lines)
    advice = f"Node {node.id} logged last:\n{text}" if lines else f"Node {node.id} logged nothing."
    if "Address already in use" in text:
        return PortTakenError(f"A port of sandbox {sandbox.name} was taken by another process.", advice)
    return SandboxError(message, advice)


def last_lines(sandbox: Sandbox, node: Node) -> list[str]:
    """The last lines about errors: errors with their causes, without stack frames."""
    files, lines = sandbox.files(node), []
    for path in (files.log, files.output):
        if path.exists():
            lines += path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("\tat ")][-_LOGGED_LINES:]
