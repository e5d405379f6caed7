"""Files for clients of a sandbox: ``connections.yaml``, its password, and a properties file for each user."""

import json
from typing import Final

from reconciler.adapters.sandbox.properties import render
from reconciler.adapters.sandbox.state import Sandbox, write_private

_FILE: Final = "password"


def write_connections(sandbox: Sandbox, *, default_allow: bool) -> None:
    """Writes the Cluster document that ``--connections`` reads, as the user ``reconciler`` if there is one.

    Whoever started the sandbox is its operator, so the facts are in it: who connects, its super users and
    ``default_allow``.

    The password is a file of its own, as in every connections file. Nobody else can reach into the directory, so the
    reference needs no ``--secrets-dir``.
    """
    user = "reconciler" if "reconciler" in sandbox.users else next(iter(sandbox.users))
    client = {name: value for name, value in sandbox.settings(user).items() if name != "bootstrap.servers"}
    write_private(sandbox.directory / _FILE, client["sasl.password"] + "\n")
    client["sasl.password"] = f"${{dir:{sandbox.directory}:{_FILE}}}"
    # JSON strings are YAML strings.
    lines = [
        "# How to reach the sandbox; `reconciler sandbox down` removes it.",
        "apiVersion: reconciler/v1",
        "kind: Cluster",
        f"metadata: {{name: {json.dumps(sandbox.name)}}}",
        "spec:",
        *_facts(sandbox, user, default_allow=default_allow),
        f"  bootstrapServers: {json.dumps(sandbox.bootstrap.split(','))}",
        "  client:",
        *(f"    {name}: {json.dumps(value)}" for name, value in client.items()),
    ]
    write_private(sandbox.connections, "\n".join(lines) + "\n")


def _facts(sandbox: Sandbox, user: str, *, default_allow: bool) -> list[str]:
    if not sandbox.super_users:  # it has no authorizer, so there are no ACLs either
        return []
    return [
        f"  principal: {json.dumps(f'User:{user}')}",
        f"  superUsers: {json.dumps(list(sandbox.super_users))}",
        f"  allowEveryoneIfNoAclFound: {str(default_allow).lower()}",
    ]


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
