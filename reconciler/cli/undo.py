"""``reconciler undo``: plan to revert what a run of a saved plan performed."""

from typing import TYPE_CHECKING

import click

from reconciler.app.access_checks import checks_of
from reconciler.app.options import ConnectionOptions, PlanOptions
from reconciler.app.undo import undo
from reconciler.cli.change_options import accept_option, plan_file_argument, save_option
from reconciler.cli.console import Exit, info, settings
from reconciler.cli.notes import info_note
from reconciler.cli.options import as_of_option, connection_options, output_option, path_argument
from reconciler.cli.planned import left_out, print_plan, save, verdict
from reconciler.model.characters import safe
from reconciler.plan.proposal import Plan
from reconciler.plan.refusal import AcceptedGuard
from reconciler.results.output import OutputKind

if TYPE_CHECKING:
    import datetime


@click.command("undo", short_help="Plan the reversal of an applied plan")
@plan_file_argument
@path_argument
@save_option
@click.option("--journal", metavar="FILE", help="Journal of the run.  [default: PLAN.journal]")
@click.option("--run", "only_run", metavar="RUN", help="Revert only this run.  [default: every run of the plan]")
@click.option("--allow-deletes", is_flag=True, help="Delete what the run created.")
@accept_option
@as_of_option
@connection_options
@output_option
def command(
    *,
    plan_file: str,
    path: str,
    save_as: str | None,
    journal: str | None,
    only_run: str | None,
    allow_deletes: bool,
    accept: tuple[AcceptedGuard, ...],
    as_of: "datetime.date | None",
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Plan the reversal of the steps that the journal of PLAN records as done, against the current cluster.

    Nothing is written to the cluster: save the plan with --out and apply it. The plan's warnings list what cannot be
    restored.
    """
    options = PlanOptions(as_of, allow_deletes=allow_deletes, accept=accept)
    planned, reverted = undo(plan_file, path, options, connection, journal=journal, run=only_run, tell=info_note)
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
