"""Real Apache Kafka (KRaft, StandardAuthorizer) on loopback, with nothing to install but Java 17 or newer.

``with running(SandboxSpec(name="try")) as sandbox: AdminClient(sandbox.settings("admin"))``
"""

from reconciler.adapters.sandbox.error import SandboxError
from reconciler.adapters.sandbox.layout import Listener
from reconciler.adapters.sandbox.lifecycle import down, find, running, status, up
from reconciler.adapters.sandbox.nodes import start_node, stop_node
from reconciler.adapters.sandbox.spec import SandboxSpec, generated_users
from reconciler.adapters.sandbox.state import Node, Sandbox
from reconciler.adapters.sandbox.version import DEFAULT_VERSION, KNOWN_VERSIONS, NEWEST_PATCH

__all__ = [
    "DEFAULT_VERSION",
    "KNOWN_VERSIONS",
    "NEWEST_PATCH",
    "Listener",
    "Node",
    "Sandbox",
    "SandboxError",
    "SandboxSpec",
    "down",
    "find",
    "generated_users",
    "running",
    "start_node",
    "status",
    "stop_node",
    "up",
]
