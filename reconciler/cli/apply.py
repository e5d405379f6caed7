"""``reconciler apply``: perform a saved plan, or plan and perform in one go."""

import sys
from typing import TYPE_CHECKING

import click

from reconciler.cli.console import error, info, out, out_json, style_for
from reconciler.cli.exits import CommandError, Exit, worst
from reconciler.cli.options import cluster_option, connection_options, expand_option, output_option, planning_options
from reconciler.workflow.options import ConnectionOptions, PlanOptions

if TYPE_CHECKING:
    from reconciler.plan import Refusal


@click.command("apply", short_help="Apply a saved plan, or plan and apply in one step")
@click.argument("first", metavar="[PLAN]", default=".")
@click.argument("second", metavar="[PATH]", required=False)
@cluster_option(required=False)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--require-id", metavar="ID", help="Refuse any plan except this one: a change-…, plan-… or file-… id.")
@click.option("--journal", metavar="FILE", help="Journal file.  [default: PLAN.journal]")
@click.option("--audit", metavar="FILE", help="Append a JSON audit record for each step: who, when, plan, outcome.")
@click.option("--audit-topic", metavar="TOPIC", help="Send the audit records to a topic of this cluster.")
@click.option("--operator", metavar="NAME", help="Operator name in journal and audit records.  [default: USER@HOST]")
@click.option("--lease", is_flag=True, help="Hold the cluster's lease: other applies exit with status 6 meanwhile.")
@click.option("--break-lease", metavar="HOLDER", help="Take over the lease of HOLDER. Use it only if that run is dead.")
@planning_options
@expand_option
@connection_options
@output_option
def command(
    *,
    first: str,
    second: str | None,
    cluster: str | None,
    yes: bool,
    require_id: str | None,
    journal: str | None,
    audit: str | None,
    audit_topic: str | None,
    operator: str | None,
    lease: bool,
    break_lease: str | None,
    planning: PlanOptions,
    expand: bool,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Apply a plan step by step and verify the result.

    To continue after an interruption, apply the same plan again.

    \b
    reconciler apply PLAN PATH              apply a saved plan, connecting as PATH's Cluster says
    reconciler apply PATH --cluster NAME    plan and apply in one step
    With PLAN, --cluster NAME=snapshot:FILE applies it to a snapshot file.
    """
    from reconciler import workflow
    from reconciler.apply import LeaseRequest, Outcome
    from reconciler.cli.terminal import Terminal
    from reconciler.workflow.reasons import FailedChecksError, PlanRefusedError

    records = workflow.RecordOptions(journal, audit, audit_topic, operator)
    request = None if break_lease is None and not lease else LeaseRequest(records.who(), break_lease)
    options = workflow.ApplyOptions(require_id, records, request)
    _check_consent(agreed=yes or require_id is not None)
    terminal = Terminal(yes, expand)
    try:
        if cluster is not None and second is None and not _is_plan(first):
            result = workflow.apply(first, cluster, planning, connection, options, attendant=terminal)
        else:
            _check_saved_form(first, planning)
            result = workflow.apply_plan(first, second or ".", cluster, connection, options, attendant=terminal)
    except PlanRefusedError as refused:
        if not terminal.reviewed:
            _info_refusals(refused.refusals)
        raise
    except FailedChecksError as failed:
        from reconciler.report.checks import checks_lines

        info("\n".join(checks_lines(failed.checks, style_for(sys.stderr))))
        raise
    if output == "json":
        from reconciler.report.result_text import result_document

        out_json(result_document(result))
    elif result.outcomes:
        from reconciler.report.result_text import result_lines

        out(result_lines(result, style_for(sys.stdout)))
    if result.interrupted:
        rest = "the rest was not attempted" if result.count(Outcome.NOT_ATTEMPTED) else "nothing was left to attempt"
        error(f"interrupted: the batch in flight was finished, {rest}")
    return worst(
        Exit.INTERRUPTED if result.interrupted else Exit.OK,
        Exit.OK if result.succeeded else Exit.ERROR,
    )


def _info_refusals(refusals: "tuple[Refusal, ...]") -> None:
    from reconciler.report.plan_text import refusal_lines

    for line in refusal_lines(refusals, style_for(sys.stderr)):
        info(line)


def _check_consent(*, agreed: bool) -> None:
    """Without a terminal, consent has to be given in advance."""
    if not agreed and not sys.stdin.isatty():
        raise CommandError(
            "no terminal to ask on",
            "pass --yes, or --require-id with the reviewed id",
            Exit.USAGE,
        )


def _is_plan(first: str) -> bool:
    """Whether a file that stands alone is a saved plan, perhaps a spoilt one, and no manifests."""
    from pathlib import Path

    try:
        text = Path(first).read_bytes()
    except OSError:
        return False
    return text.startswith(b"{") and b'"planId"' in text


def _check_saved_form(first: str, planning: PlanOptions) -> None:
    from pathlib import Path

    if Path(first).is_dir():
        raise CommandError("apply PATH needs --cluster NAME; apply PLAN needs a saved plan", status=Exit.USAGE)
    if planning != PlanOptions():
        raise CommandError(
            "a saved plan is performed as it was reviewed",
            "options such as --allow-deletes, --accept and --only belong to plan",
            Exit.USAGE,
        )
