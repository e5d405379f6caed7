"""``reconciler sandbox``: a real Kafka on loopback, started, shown and ended."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from reconciler.cli.console import CommandError, Exit, out, out_json, progress
from reconciler.cli.options import output_option
from reconciler.parts.local.sandbox.layout import DEFAULT_VERSION, SandboxError, SandboxSpec
from reconciler.parts.local.sandbox.lifecycle import down, find, status, up
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.results.output import OutputKind


@click.group("sandbox", short_help="Run a local Kafka cluster with access control")
def command() -> None:
    """Run a real Apache Kafka on this machine. You need only Java."""


@command.command("up")
@click.option("--name", default="default", show_default=True, help="Name of the sandbox; several can run.")
@click.option(
    "--kafka-version", metavar="VERSION", help="Kafka version, such as 4.4, 4.1.2 or 3.9.  [default: the newest]"
)
@click.option("--nodes", type=click.IntRange(1, 9), default=1, show_default=True, help="Number of brokers.")
@click.option("--port", type=int, help="Client port of the first broker.  [default: a free port]")
@click.option(
    "--with",
    "extras",
    type=click.Choice(["tls", "default-allow", "permitted-log"]),
    multiple=True,
    help="TLS listeners with their own certificate authority; allow.everyone.if.no.acl.found; permitted access in "
    "logs/ of its directory, not only denials. Repeatable.",
)
@output_option
def up_command(
    *,
    name: str,
    kafka_version: str | None,
    nodes: int,
    port: int | None,
    extras: tuple[str, ...],
    output: str,
) -> None:
    """Start a cluster and write its connections file."""
    with _failures():
        spec = SandboxSpec(
            name=name,
            kafka_version=kafka_version or DEFAULT_VERSION,
            nodes=nodes,
            port=port,
            tls="tls" in extras,
            allow_everyone_if_no_acl_found="default-allow" in extras,
            log_permitted="permitted-log" in extras,
        )
        sandbox = up(spec, progress=progress)
    if output == "json":
        out_json(OutputKind.SANDBOX_UP, _as_json(sandbox))
    else:
        out(_as_text(sandbox))


@command.command("down")
@click.option("--name", help="Name of the sandbox.  [default: default]")
@click.option("--all", "every", is_flag=True, help="End every sandbox.")
@output_option
def down_command(name: str | None, every: bool, output: str) -> None:
    """Stop a sandbox and remove everything it wrote."""
    if every and name is not None:
        raise CommandError("--all and --name exclude each other", "give one of the two", Exit.USAGE)
    with _failures():
        names = [sandbox.name for sandbox in status()] if every else [name or "default"]
    for ended in names:
        with _failures():
            down(ended)
        if output == "text":
            out([f"Sandbox {ended} is down; nothing of it is left."])
    if output == "json":
        out_json(OutputKind.SANDBOX_DOWN, {"ended": names})
    elif not names:
        out(["No sandbox is up."])


@command.command("status")
@click.option("--name", help="Show only this sandbox; fail if it is not running.")
@output_option
def status_command(name: str | None, output: str) -> None:
    """List running sandboxes."""
    with _failures():
        sandboxes = status() if name is None else [find(name)]
    if output == "json":
        out_json(OutputKind.SANDBOX_STATUS, {"sandboxes": [_as_json(sandbox) for sandbox in sandboxes]})
    else:
        out([line for sandbox in sandboxes for line in _as_text(sandbox)] or ["No sandbox is up."])


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except SandboxError as error:
        raise CommandError(error.message, error.advice) from error
    except OSError as error:
        raise CommandError(
            ": ".join(str(part) for part in (error.filename, error.strerror or error) if part is not None),
            "Sandboxes are kept in XDG_STATE_HOME, jars in XDG_CACHE_HOME: name directories that can be written to.",
        ) from error


def _as_json(sandbox: Sandbox) -> dict[str, object]:
    return {
        "name": sandbox.name,
        "version": sandbox.kafka_version,
        "condition": sandbox.condition(),
        "bootstrap": sandbox.bootstrap,
        "nodes": [
            {"id": node.id, "roles": list(node.roles), "pid": node.pid, "ports": dict(node.ports)}
            for node in sandbox.nodes
        ],
        "users": list(sandbox.users),
        "superUsers": list(sandbox.super_users),
        "directory": str(sandbox.directory),
        "connections": str(sandbox.connections),
        "logs": str(sandbox.directory / "logs"),
    }


def _as_text(sandbox: Sandbox) -> list[str]:
    return [
        f"Sandbox {sandbox.name} is {sandbox.condition()}: Kafka {sandbox.kafka_version} at {sandbox.bootstrap}",
        f"  users        {', '.join(sandbox.users)} (super users: {', '.join(sandbox.super_users) or 'none'})",
        f"  log in with  {sandbox.client_directory}/USER.properties",
        f"  connections  {sandbox.connections}",
        f"  logs         {sandbox.directory}/logs",
    ]
