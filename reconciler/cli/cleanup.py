"""``reconciler cleanup`` and ``undo``: remove what an apply that was cut off left, and revert what one performed."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import replace

import click

from reconciler.app.access_checks import checks_of
from reconciler.app.cleanup import CleanupResult, KeptBridge, cleanup
from reconciler.app.options import ConnectionOptions, PlanOptions, now
from reconciler.app.records import RecordOptions
from reconciler.app.undo import undo
from reconciler.apply.cleanup import Leftover
from reconciler.apply.lease import LeaseClaim
from reconciler.cli import change_options
from reconciler.cli.console import Exit, ask, error, info, out, out_json, settings
from reconciler.cli.notes import age, info_note
from reconciler.cli.options import (
    as_of_option,
    cluster_option,
    connection_options,
    optional_path_argument,
    output_option,
    path_argument,
)
from reconciler.cli.planned import left_out, print_plan, save, verdict
from reconciler.model.characters import counted, safe
from reconciler.plan.proposal import Plan
from reconciler.plan.refusal import AcceptedGuard
from reconciler.results import OutputKind


@click.command("cleanup", short_help="Remove what an interrupted apply left on the cluster")
@optional_path_argument
@cluster_option()
@click.option("--run", "only_run", metavar="RUN", help="Remove only what this run left.  [default: every run]")
@change_options.yes_option
@change_options.record_options
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
    with cleanup(path, cluster, connection, run=only_run) as cleaning:
        _info_held(cleaning.held)
        _info_kept(cleaning.kept)
        stays = {bridge.binding for bridge in cleaning.kept}
        going = [
            replace(leftover, bridges=tuple(b for b in leftover.bridges if b not in stays))
            for leftover in cleaning.leftovers
        ]
        if output == "text":
            out(_lines(going))
        if cleaning.leftovers:
            many = counted(sum(len(leftover.bindings) + len(leftover.bridges) for leftover in going), "binding")
            ask(f"Remove {many} from cluster {safe(cleaning.target.name)}?", yes=yes)
        removed = cleaning.remove(records)
    if output == "json":
        out_json(
            OutputKind.CLEANUP,
            {
                "runs": [_document(leftover) for leftover in going],
                "left": [str(binding) for binding in removed.remaining],
                "held": [{"run": claim.run, "holder": claim.holder} for claim in cleaning.held],
                "kept": [{"binding": str(bridge.binding), "reason": bridge.reason} for bridge in cleaning.kept],
                "auditHead": removed.audit_head or None,
            },
        )
    elif cleaning.leftovers:
        out(_verdict(removed))
    if removed.unrecorded:
        error(f"the end could not be written down: {removed.unrecorded}")
    return Exit.OK if removed.succeeded and all(bridge.known for bridge in cleaning.kept) else Exit.ERROR


def _info_held(held: Iterable[LeaseClaim]) -> None:
    for claim in held:
        info(f"run {safe(claim.run)} of {safe(claim.holder)} holds the lease until {claim.ends}: left alone")


def _info_kept(kept: Iterable[KeptBridge]) -> None:
    for bridge in kept:
        info(f"kept: {safe(str(bridge.binding))}: {bridge.reason}")


def _lines(wanted: Sequence[Leftover]) -> list[str]:
    if not wanted:
        return ["Nothing is left of any run."]
    lines, at = [], now()
    for leftover in wanted:
        lines.append(f"Left by run {safe(leftover.run)}{age(leftover, at)}:")
        lines += [f"  - bridge: {safe(str(bridge))}" for bridge in leftover.bridges]
        lines += [f"  - {safe(str(binding))}" for binding in leftover.bindings]
    return lines


def _verdict(removed: CleanupResult) -> list[str]:
    lines = [f"  still there: {safe(str(binding))}" for binding in removed.remaining] or ["Removed."]
    return [*lines, *([f"Audit log: head {removed.audit_head}"] if removed.audit_head else [])]


def _document(leftover: Leftover) -> dict[str, object]:
    return {
        "run": leftover.run,
        "bridges": [str(bridge) for bridge in leftover.bridges],
        "bindings": [str(binding) for binding in leftover.bindings],
    }


@click.command("undo", short_help="Plan the reversal of an applied plan")
@change_options.plan_file_argument
@path_argument
@change_options.save_option
@click.option("--journal", metavar="FILE", help="Journal of the run.  [default: PLAN.journal]")
@click.option("--run", "only_run", metavar="RUN", help="Revert only this run.  [default: every run of the plan]")
@cluster_option(needed=False)
@click.option("--allow-deletes", is_flag=True, help="Delete what the run created.")
@change_options.accept_option
@change_options.guardrails_option
@as_of_option
@connection_options
@output_option
def undo_command(
    *,
    plan_file: str,
    path: str,
    save_as: str | None,
    journal: str | None,
    only_run: str | None,
    cluster: str | None,
    allow_deletes: bool,
    accept: tuple[AcceptedGuard, ...],
    guardrails: str | None,
    as_of: datetime.date | None,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Plan the reversal of the steps that the journal of PLAN records as done, against the current cluster.

    Nothing is written to the cluster: save the plan with --out and apply it. The plan's warnings list what cannot be
    restored.
    """
    options = PlanOptions(as_of, allow_deletes=allow_deletes, accept=accept, guardrails=guardrails)
    planned, reverted = undo(
        plan_file, path, options, connection, journal=journal, run=only_run, cluster=cluster, tell=info_note
    )
    checks = checks_of(planned)
    print_plan(
        planned.plan, checks, expand=settings.expand, output=output, kind=OutputKind.UNDO, servers=planned.servers
    )
    info(safe(_git_advice(reverted)))
    status = verdict(planned.plan, checks, saved=save_as is not None)
    if status is Exit.OK and save_as is not None:
        save(planned.plan, save_as)
    return left_out(planned.plan) if status is Exit.OK else status


def _git_advice(plan: Plan) -> str:
    commit = plan.source_commit
    if commit is None:
        return "The manifests still declare what this reverts: revert them as well, or the next plan brings it back."
    if commit.endswith("-dirty"):
        return f"The plan was made from uncommitted files on top of {commit.removesuffix('-dirty')}: revert those too."
    return f"With it goes: git revert {commit}  (otherwise the next plan brings it back)"
