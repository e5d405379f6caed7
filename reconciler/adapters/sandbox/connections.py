"""Files for clients of a sandbox: ``connections.yaml`` and a properties file for each user."""

import json

from reconciler.adapters.sandbox.properties import render
from reconciler.adapters.sandbox.state import Sandbox, write_private


def write_connections(sandbox: Sandbox) -> None:
    """Writes the Cluster document that ``--connections`` reads, as the user ``reconciler`` if there is one."""
    user = "reconciler" if "reconciler" in sandbox.users else next(iter(sandbox.users))
    client = {name: value for name, value in sandbox.settings(user).items() if name != "bootstrap.servers"}
    # JSON strings are YAML strings, so passwords need no further escaping.
    lines = [
        "# How to reach the sandbox; `reconciler sandbox down` removes it.",
        "apiVersion: reconciler/v1",
        "kind: Cluster",
        f"metadata: {{name: {json.dumps(sandbox.name)}}}",
        "spec:",
        f"  bootstrapServers: {json.dumps(sandbox.bootstrap.split(','))}",
        "  client:",
        *(f"    {name}: {json.dumps(value)}" for name, value in client.items()),
    ]
    write_private(sandbox.connections, "\n".join(lines) + "\n")


def write_client_files(sandbox: Sandbox) -> None:
    """Writes ``clients/<user>.properties`` for Kafka's own command-line tools (``--command-config``)."""
    sandbox.client_directory.mkdir(mode=0o700)
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    for user, password in sandbox.users.items():
        settings = {
            "bootstrap.servers": sandbox.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
        }
        write_private(sandbox.client_directory / f"{user}.properties", render(settings))
