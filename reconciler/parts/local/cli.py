"""``reconciler sandbox``: a real Kafka on loopback, started, shown and ended; ``demo``: a tour on it."""

import importlib.resources
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final

import click

from reconciler.cli.console import CommandError, Exit, error, fitted, out, out_json, progress, style_for
from reconciler.cli.options import output_option
from reconciler.parts.local.sandbox.layout import DEFAULT_VERSION, SandboxError, SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import down, find, running, status, up
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.parts.local.tour import PLACE, USERS, WIDTH, FleetTour, Show, Tour, TourStep, shown_path
from reconciler.ports import ClusterError
from reconciler.results import OutputKind


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


#: The sandbox, and the cluster that ``examples/acls`` declares.
_NAME: Final = "demo"


@click.command("demo", short_help="Tour on a sandbox: validate, plan, apply, drift")
@click.option("--keep", is_flag=True, help="Keep the sandbox running.")
@click.option("--fleet", is_flag=True, help="Continue with a fleet on Spark.")
@output_option
def demo_command(*, keep: bool, fleet: bool, output: str) -> int:
    """Start a broker, fill it with a typical state, and bring it under manifests.

    Takes about half a minute on two idle cores, and a minute or two more with --fleet. The first run also downloads
    Kafka (45 MB). Commands are shown as you would type them, with their output, and clients try what they may and may
    not do. Each step states a claim; exit 1 if one of them does not hold.
    """
    style, began = style_for(sys.stdout), time.monotonic()

    def show(role: str, text: str) -> None:
        if output == "text":
            out([fitted(text if role == "plain" else style(role, text), WIDTH)], whole=True)

    with _sandbox(keep=keep) as sandbox:
        manifests = _manifests(sandbox)
        _say_where(sandbox, show)
        steps = list(Tour(sandbox, manifests, show, snapshots=fleet).steps())
        if fleet:
            steps += _over_a_fleet(sandbox, manifests, show)
        if output == "json":
            out_json(OutputKind.DEMO, _document(steps, sandbox if keep else None))
        else:
            out(_go_on(sandbox, manifests, keep=keep, seconds=time.monotonic() - began), whole=True)
    failed = [step for step in steps if not step.holds]
    if failed:
        error(f"{len(failed)} of {len(steps)} steps did not show what they claim")
        return Exit.ERROR
    return Exit.OK


@contextmanager
def _sandbox(*, keep: bool) -> Iterator[Sandbox]:
    if any(sandbox.name == _NAME and sandbox.condition() != "crashed" for sandbox in status()):
        raise CommandError(f"a sandbox {_NAME} is up already", f"end it: reconciler sandbox down --name {_NAME}")
    spec = SandboxSpec(name=_NAME, users=generated_users("admin", "reconciler", *USERS))
    try:
        with nullcontext(up(spec, progress=progress)) if keep else running(spec, progress=progress) as sandbox:
            yield sandbox
    except SandboxError as error:
        raise CommandError(error.message, error.advice) from error
    except ClusterError as error:
        raise CommandError(f"the sandbox failed: {error}", error.advice) from error


def _manifests(sandbox: Sandbox) -> str:
    """``examples/acls`` of the clone, or a copy of what the wheel carries, so that it can be edited."""
    clone = Path(__file__).parents[3] / "examples" / "acls"
    if clone.is_dir():
        return os.path.relpath(clone)
    with importlib.resources.as_file(importlib.resources.files("reconciler.cli") / "examples") as packaged:
        shutil.copytree(packaged, sandbox.directory / "manifests")
    return f"{PLACE}/manifests"


def _over_a_fleet(sandbox: Sandbox, manifests: str, show: Show) -> list[TourStep]:
    from reconciler.parts.fleet.spark.session import spark_session

    tour = FleetTour(sandbox.directory, show, spark_session)
    tour.prepare(Path(manifests.replace(PLACE, str(sandbox.directory))))
    return list(tour.steps())


def _say_where(sandbox: Sandbox, show: Show) -> None:
    show("title", f"Kafka {sandbox.kafka_version} is up at {sandbox.bootstrap}, with access control on.")
    show("dim", "The commands below run as you see them, with the middle of long output left out.")
    show("dim", "▸ is a client's attempt, ✓ what was checked.")
    show("dim", f"{PLACE.removeprefix('$')}={shown_path(sandbox.directory)}")


def _program() -> str:
    """How this program is called in the reader's shell, whose PATH may be without it."""
    if shutil.which("reconciler") is not None:
        return "reconciler"
    return str(Path(sys.executable).parent.absolute() / "reconciler")


def _go_on(sandbox: Sandbox, manifests: str, *, keep: bool, seconds: float) -> Iterator[str]:
    """The commands to go on with, which can be pasted as they are."""
    program = shlex.quote(_program())
    place = shown_path(sandbox.directory)
    yield ""
    yield f"That was all, after {seconds:.0f} s."
    if not keep:
        yield "Nothing is left running. To try it yourself, keep the broker:"
        yield f"  {program} demo --keep"
        return
    reach = f"--cluster demo --connections {shown_path(sandbox.connections)}"
    path = manifests.replace(PLACE, place)
    yield "The broker stays up. Change what a team may do, then:"
    for line, purpose in (
        (f"{program} plan {path} {reach}", "see what it would change"),
        (f"{program} apply {path} {reach}", "plan, ask, perform"),
        (f"{program} export {reach}", "the whole cluster as manifests"),
        (f"{program} sandbox down --name demo", "end it; nothing is left"),
    ):
        yield f"  # {purpose}"
        yield f"  {line}"


def _document(steps: list[TourStep], kept: Sandbox | None) -> dict[str, object]:
    return {
        "succeeded": all(step.holds for step in steps),
        "connections": None if kept is None else str(kept.connections),
        "steps": [
            {
                "claim": step.claim,
                "done": step.done,
                "exitStatus": step.status,
                "output": list(step.output),
                "holds": step.holds,
            }
            for step in steps
        ],
    }
