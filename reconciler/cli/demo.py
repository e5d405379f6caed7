"""``reconciler demo``: a tour on a real broker, from a cluster kept by hand to one kept in git."""

import importlib.resources
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from reconciler.cli.console import error, info, out, out_json, style_for
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import output_option

if TYPE_CHECKING:
    from reconciler.adapters.sandbox import Sandbox
    from reconciler.cli.tour import TourStep

#: The sandbox, and the cluster that ``examples/acls`` declares.
_NAME: Final = "demo"
Show: TypeAlias = Callable[[str, str], None]


@click.command("demo", short_help="Tour on a sandbox: validate, plan, apply, drift")
@click.option("--keep", is_flag=True, help="Keep the sandbox running.")
@click.option("--fleet", is_flag=True, help="Continue with a fleet on Spark; about 30 s more.")
@output_option
def command(*, keep: bool, fleet: bool, output: str) -> int:
    """Start a broker, fill it with a typical state, and bring it under manifests. Takes about 20 s.

    Commands are shown as you would type them, with their output, and clients try what they may and may not do. Each
    step states a claim; exit 1 if one of them does not hold.
    """
    from reconciler.cli.tour import Tour

    style = style_for(sys.stdout)

    def show(role: str, text: str) -> None:
        if output == "text":
            out([text if role == "plain" else style(role, text)])

    with _sandbox(keep=keep) as sandbox:
        manifests = _manifests(sandbox)
        _say_where(sandbox, show)
        steps = list(Tour(sandbox, manifests, show, snapshots=fleet).steps())
        if fleet:
            steps += _over_a_fleet(sandbox, manifests, show)
        if output == "json":
            out_json(_document(steps, sandbox if keep else None))
        else:
            out(_go_on(sandbox, manifests, keep=keep))
    failed = [step for step in steps if not step.holds]
    if failed:
        error(f"{len(failed)} of {len(steps)} steps did not show what they claim")
        return Exit.ERROR
    return Exit.OK


@contextmanager
def _sandbox(*, keep: bool) -> "Iterator[Sandbox]":
    from reconciler.adapters.demo_state import USERS
    from reconciler.adapters.sandbox import SandboxError, SandboxSpec, down, generated_users, status, up
    from reconciler.ports import ClusterError

    if any(sandbox.name == _NAME and sandbox.condition() != "crashed" for sandbox in status()):
        raise CommandError(f"a sandbox {_NAME} is up already", f"end it: reconciler sandbox down --name {_NAME}")
    spec = SandboxSpec(name=_NAME, users=generated_users("admin", "reconciler", *USERS))
    try:
        sandbox = up(spec, progress=info)
        try:
            yield sandbox
        finally:
            if not keep:
                down(_NAME)
    except SandboxError as error:
        raise CommandError(error.message, error.advice) from error
    except ClusterError as error:
        raise CommandError(f"the sandbox failed: {error}", error.advice) from error


def _manifests(sandbox: "Sandbox") -> str:
    """``examples/acls`` of the clone, or a copy of what the wheel carries, so that it can be edited."""
    from reconciler.cli.tour import PLACE

    clone = Path(__file__).parents[2] / "examples" / "acls"
    if clone.is_dir():
        return os.path.relpath(clone)
    with importlib.resources.as_file(importlib.resources.files("reconciler.cli") / "examples") as packaged:
        shutil.copytree(packaged, sandbox.directory / "manifests")
    return f"{PLACE}/manifests"


def _over_a_fleet(sandbox: "Sandbox", manifests: str, show: Show) -> "list[TourStep]":
    from reconciler.cli.fleet_tour import FleetTour
    from reconciler.cli.tour import PLACE

    tour = FleetTour(sandbox.directory, show)
    tour.prepare(Path(manifests.replace(PLACE, str(sandbox.directory))))
    return list(tour.steps())


def _say_where(sandbox: "Sandbox", show: Show) -> None:
    from reconciler.cli.tour import PLACE, shown_path

    show("title", f"Kafka {sandbox.kafka_version} is up at {sandbox.bootstrap}, with access control on.")
    show("dim", "The commands below run as you see them; ▸ is a client's attempt; ✓ is what was checked.")
    show("plain", "")
    if shutil.which("reconciler") is None:
        programs = Path(sys.executable).parent.absolute()
        place = f"$PWD/{os.path.relpath(programs)}" if programs.is_relative_to(Path.cwd()) else programs
        show("title", f'$ PATH="{place}:$PATH"')
    show("title", f"$ {PLACE.removeprefix('$')}={shown_path(sandbox.directory)}")


def _go_on(sandbox: "Sandbox", manifests: str, *, keep: bool) -> Iterator[str]:
    """The commands to go on with."""
    reach = "--cluster demo --connections $DEMO/connections.yaml"
    yield ""
    if keep:
        yield f"The sandbox stays up; {sandbox.connections} is how to reach it. To go on:"
    else:
        yield "The sandbox is gone again. Keep one with `reconciler demo --keep`, and go on:"
    for line, purpose in (
        (f"$EDITOR {manifests}/orders.yaml", "grant or revoke something"),
        (f"reconciler plan {manifests} {reach}", "see what it would change"),
        (f"reconciler apply {manifests} {reach}", "plan, ask, perform"),
        (f"reconciler export {reach} --out mine", "the whole cluster as manifests"),
        ("reconciler sandbox down --name demo", "end it; nothing is left"),
    ):
        yield f"  # {purpose}"
        yield f"  {line}"


def _document(steps: "list[TourStep]", kept: "Sandbox | None") -> dict[str, object]:
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
