"""``reconciler cleanup``: remove what an apply that was cut off left on a cluster."""

import datetime
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace

import click

from reconciler.app.cleanup import CleanupResult, KeptBridge, cleanup
from reconciler.app.options import ConnectionOptions
from reconciler.app.records import RecordOptions
from reconciler.apply.cleanup import Leftover
from reconciler.apply.lease import LeaseClaim
from reconciler.cli.change_options import record_options, yes_option
from reconciler.cli.console import CommandError, Exit, error, info, out, out_json
from reconciler.cli.notes import age
from reconciler.cli.options import cluster_option, connection_options, optional_path_argument, output_option
from reconciler.model.characters import counted, safe
from reconciler.results.output import OutputKind


@click.command("cleanup", short_help="Remove what an interrupted apply left on the cluster")
@optional_path_argument
@cluster_option()
@click.option("--run", "only_run", metavar="RUN", help="Remove only what this run left.  [default: every run]")
@yes_option
@record_options
@connection_options
@output_option
def command(
    *,
    path: str | None,
    cluster: str | None,
    only_run: str | None,
    yes: bool,
    records: RecordOptions,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Find and remove what interrupted applies left on the cluster under reserved names.

    Do not run this during an apply: it stops that apply at its next barrier. If bridges are left, apply the same plan
    again if you can: that removes them once it interrupts nobody. What a run that holds the lease left stays, unless
    --run names it. What the manifests below PATH declare is never removed, whatever marks it as a bridge; without
    manifests no bridge is.
    """
    with cleanup(path, cluster, connection, run=only_run) as found:
        _info_held(found.held)
        _info_kept(found.kept)
        stays = {one.binding for one in found.kept}
        going = [replace(one, bridges=tuple(b for b in one.bridges if b not in stays)) for one in found.leftovers]
        if output == "text":
            out(_lines(going))
        if found.leftovers:
            _ask(going, found.target.name, yes=yes)
        removed = found.remove(records)
    if output == "json":
        out_json(
            OutputKind.CLEANUP,
            {
                "runs": [_document(leftover) for leftover in going],
                "left": [str(binding) for binding in removed.left],
                "held": [{"run": claim.run, "holder": claim.holder} for claim in found.held],
                "kept": [{"binding": str(one.binding), "reason": one.reason} for one in found.kept],
                "auditHead": removed.audit_head or None,
            },
        )
    elif found.leftovers:
        out(_verdict(removed))
    if removed.unrecorded:
        error(f"the end could not be written down: {removed.unrecorded}")
    return Exit.OK if removed.succeeded and all(one.known for one in found.kept) else Exit.ERROR


def _info_held(held: Iterable[LeaseClaim]) -> None:
    for claim in held:
        info(f"run {safe(claim.run)} of {safe(claim.holder)} holds the lease until {claim.ends}: left alone")


def _info_kept(kept: Iterable[KeptBridge]) -> None:
    for one in kept:
        info(f"kept: {safe(str(one.binding))}: {one.reason}")


def _ask(wanted: Sequence[Leftover], name: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError("no terminal to ask on", "pass --yes", Exit.USAGE)
    many = counted(sum(len(leftover.bindings) + len(leftover.bridges) for leftover in wanted), "binding")
    if not click.confirm(f"Remove {many} from cluster {safe(name)}?", err=True):
        raise CommandError("not confirmed: nothing was sent", status=Exit.INTERRUPTED)


def _lines(wanted: Sequence[Leftover]) -> list[str]:
    if not wanted:
        return ["Nothing is left of any run."]
    lines, now = [], datetime.datetime.now(datetime.UTC)
    for leftover in wanted:
        lines.append(f"Left by run {safe(leftover.run)}{age(leftover, now)}:")
        lines += [f"  - bridge: {safe(str(bridge))}" for bridge in leftover.bridges]
        lines += [f"  - {safe(str(binding))}" for binding in leftover.bindings]
    return lines


def _verdict(removed: CleanupResult) -> list[str]:
    lines = [f"  still there: {safe(str(binding))}" for binding in removed.left] or ["Removed."]
    return [*lines, *([f"Audit log: head {removed.audit_head}"] if removed.audit_head else [])]


def _document(leftover: Leftover) -> dict[str, object]:
    return {
        "run": leftover.run,
        "bridges": [str(bridge) for bridge in leftover.bridges],
        "bindings": [str(binding) for binding in leftover.bindings],
    }
