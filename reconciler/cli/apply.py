"""``reconciler apply``: perform a saved plan, or plan and perform in one go."""

import datetime
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from reconciler.app.options import ConnectionOptions, MoveOptions, PlanOptions
from reconciler.app.reasons import FailedChecksError, InvalidManifestsError, PlanRefusedError
from reconciler.apply.environment import LeaseRequest
from reconciler.cli import change_options
from reconciler.cli.console import CommandError, Exit, settings
from reconciler.cli.options import (
    cluster_option,
    connection_options,
    meant_cluster,
    output_option,
    path_option,
    start_reader,
)
from reconciler.manifest.read.problem import Code
from reconciler.model.characters import shell_quoted

#: Without a terminal, people agree in advance.
_CONSENT: Final = "pass --yes, --require-id with the reviewed id, or --require-approvals"


@click.command("apply", short_help="Apply a saved plan, or plan and apply in one step")
@click.argument("first", metavar="[PLAN]", required=False)
@click.argument("second", metavar="[PATH]", required=False)
@path_option
@cluster_option(needed=False)
@change_options.approval_options
@change_options.yes_option
@click.option(
    "--require-id",
    metavar="ID",
    type=change_options.PlanId("plan", "change", "file"),
    help="Refuse any plan except this one: a plan-…, change-… or file-… id, or its first 8 digits or more.",
)
@click.option("--journal", metavar="FILE", help="Journal file.  [default: PLAN.journal]")
@change_options.audit_option
@click.option("--operator", metavar="NAME", help="Operator name in journal and audit records.  [default: USER@HOST]")
@click.option("--lease", is_flag=True, help="Hold the cluster's lease: other applies exit with status 6 meanwhile.")
@click.option(
    "--break-lease",
    metavar="HOLDER",
    multiple=True,
    help="Take over the lease of HOLDER. Use it only if that run is dead; repeatable.",
)
@change_options.move_options
@change_options.applying_options
@connection_options
@output_option
def command(
    *,
    first: str | None,
    second: str | None,
    path: str | None,
    cluster: str | None,
    max_age: datetime.timedelta | None,
    require_approvals: int | None,
    allowed_signers: str | None,
    not_author: tuple[str, ...],
    yes: bool,
    require_id: str | None,
    journal: str | None,
    audit: tuple[str, ...],
    operator: str | None,
    lease: bool,
    break_lease: tuple[str, ...],
    moves: MoveOptions,
    planning: PlanOptions,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Apply a plan step by step and verify the result.

    To continue after an interruption, apply the same plan again. Exit 5 if a safety check refuses the plan, and nothing
    was sent; or if it refuses some of the changes, and everything else is done and verified.

    \b
    reconciler apply PLAN PATH              apply a saved plan, connecting as PATH's Cluster says
    reconciler apply PATH --cluster NAME    plan and apply in one step
    With PLAN, --cluster NAME=snapshot:FILE applies it to a snapshot file.
    """
    start_reader(cluster)
    from reconciler.app.apply import ApplyOptions, apply, apply_plan
    from reconciler.app.manifests import load
    from reconciler.app.records import RecordOptions
    from reconciler.cli.planned import info_checks, info_refusals, show_outcome
    from reconciler.cli.terminal import Terminal

    records = RecordOptions(
        journal, **change_options.audit_places(audit), operator=operator, url=change_options.pipeline_url(os.environ)
    )
    request = None if not break_lease and not lease else LeaseRequest(records.who(), break_lease)
    approvals = change_options.approval_rule(require_approvals, allowed_signers, not_author)
    options = ApplyOptions(require_id, records, request, planning.guardrails, max_age, approvals, moves)
    plan, manifests = _forms(first, second, _path_option(first, second, path), on_cluster=cluster is not None)
    manifests = manifests or connection.default_path
    if moves.throttle is not None and plan is None:
        message = "--throttle needs a saved plan: after a kill, only the same plan finds the throttle that it set"
        raise CommandError(message, "plan with --out FILE, then apply FILE", Exit.USAGE)
    if plan is not None:
        _check_saved_form(planning)
    # Without the signatures that it needs, no plan gets as far as the question.
    signed = approvals is not None and not sys.stdin.isatty()
    terminal = Terminal(yes or signed, settings.expand, plan or "")
    try:
        if not (yes or require_id or approvals or sys.stdin.isatty()):
            # Where there is nothing to apply, an agreement to it does not help.
            load(manifests)
            raise CommandError("no terminal to ask on", _CONSENT, Exit.USAGE)
        if plan is None:
            result = apply(manifests, meant_cluster(cluster), planning, connection, options, supervisor=terminal)
        else:
            result = apply_plan(plan, manifests, cluster, connection, options, supervisor=terminal)
    except InvalidManifestsError as failure:
        if plan is not None and second is None and path is None:
            _say_path_is_missing(plan, failure)
        raise
    except PlanRefusedError as refused:
        if not terminal.reviewed:
            info_refusals(refused.refusals)
        raise
    except FailedChecksError as failed:
        info_checks(failed.checks)
        raise
    return show_outcome(result, output)


def _say_path_is_missing(plan: str, failure: InvalidManifestsError) -> None:
    """Without PATH a saved plan needs the manifests to be here: they say how its cluster is reached."""
    if any(problem.code == Code.NO_MANIFESTS for problem in failure.problems):
        raise CommandError(
            "there are no manifests in this directory, and a saved plan is applied as they declare its cluster by now",
            f"give their directory: reconciler apply {shell_quoted(plan)} PATH",
            Exit.USAGE,
        )


def _path_option(first: str | None, second: str | None, path: str | None) -> str | None:
    """``--path``; not where a word is PATH and a variable or the project file only says what it is without one."""
    source = click.get_current_context().get_parameter_source("path")
    a_word = second is not None or (first is not None and Path(first).is_dir())
    return None if a_word and source is not click.ParameterSource.COMMANDLINE else path


def _forms(
    first: str | None, second: str | None, path: str | None, *, on_cluster: bool
) -> tuple[str | None, str | None]:
    """PLAN and PATH of the two forms; one word is PATH if it is a directory, or with --cluster no saved plan."""
    if path is not None and (second is not None or (first is not None and Path(first).is_dir())):
        raise click.UsageError("PATH is given twice, as a word and with --path")
    if second is not None or first is None or path is not None:
        return first, second or path
    if Path(first).is_dir() or (on_cluster and not _is_plan(first)):
        return None, first
    return first, None


def _is_plan(first: str) -> bool:
    """Whether a file that stands alone is a saved plan, perhaps a spoilt one, and no manifests."""
    try:
        text = Path(first).read_bytes()
    except OSError:
        return False
    return text.startswith(b"{") and b'"planId"' in text


def _check_saved_form(planning: PlanOptions) -> None:
    if replace(planning, guardrails=None) != PlanOptions():
        raise CommandError(
            "a saved plan is performed as it was reviewed",
            "options such as --allow-deletes, --accept and --only belong to plan",
            Exit.USAGE,
        )
