"""``reconciler break-glass``: access that an operator gives on the cluster at once, and ends."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, TypeAlias

import click

from reconciler.app.access_checks import checks_of
from reconciler.app.apply import ApplyOptions
from reconciler.app.options import ConnectionOptions
from reconciler.app.planning import Planned
from reconciler.app.reasons import FailedChecksError
from reconciler.app.records import RecordOptions, save_plan
from reconciler.apply.environment import LeasePatience, LeaseRequest, Result
from reconciler.cli import change_options
from reconciler.cli.console import CommandError, Exit, check_terminal, error, info, info_lines, out, style_for
from reconciler.cli.options import connection_options, gathered, output_option, path_option, project_path, with_options
from reconciler.cli.questions import operation_argument, principal_argument, resource_argument
from reconciler.cli.terminal import Terminal
from reconciler.dataclass import dataclass
from reconciler.model.acl import ResourcePattern
from reconciler.model.characters import safe
from reconciler.model.desired import Expiry
from reconciler.parts.edit.app.break_glass import break_glass, end_break_glass, plan_break_glass
from reconciler.parts.edit.app.editing import EditRefusedError
from reconciler.parts.edit.app.grant import AskedAccess, GrantTerms, NotDeclaredError, grant, revoke
from reconciler.parts.edit.cli.grant import (
    any_operation,
    any_resource,
    asked_access,
    cluster_of_edit,
    hand_over_grant,
    hand_over_revocation,
    note_edit,
    ticket_option,
    until_option,
)
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.show.claims import checks_lines
from reconciler.show.result import result_document, result_lines


@dataclass(frozen=True, slots=True)
class AtOnce:
    """How a run that changes a cluster at once is agreed to, written down and kept apart from others.

    ``out`` is the file of a plan that is only saved.
    """

    yes: bool = False
    out: str | None = None
    require_approvals: int | None = None
    guardrails: str | None = None
    journal: str | None = None
    audit: str | None = None
    audit_topic: str | None = None
    operator: str | None = None
    lease: bool = False
    break_lease: tuple[str, ...] = ()
    override: tuple[str, ...] = ()


_RECORDED: Final = (
    change_options.guardrails_option,
    click.option("--journal", metavar="FILE", help="Journal file.  [default: none]"),
    change_options.audit_option,
    click.option("--operator", metavar="NAME", help="Operator name in the records.  [default: USER@HOST]"),
)
#: Handed over as ``at_once``.
_giving_options: Final = with_options(
    gathered(
        "at_once",
        AtOnce,
        change_options.yes_option,
        click.option(
            "--out",
            metavar="PLAN",
            help="Only save the plan, for people to sign; “reconciler apply PLAN” performs it.",
        ),
        click.option(
            "--override",
            metavar="TEST",
            multiple=True,
            help="With --out: give it although this access test fails, as far as the operator's file permits; "
            "repeatable.",
        ),
        click.option(
            "--require-approvals",
            metavar="N",
            type=click.IntRange(min=1),
            help="Refuse it without --out: people approve saved plans.",
        ),
        *_RECORDED,
        click.option("--lease", is_flag=True, help="Hold the cluster's lease meanwhile."),
        click.option(
            "--break-lease",
            metavar="HOLDER",
            multiple=True,
            help="Take over the lease of HOLDER. Use it only if that run is known to be dead; repeatable.",
        ),
        spread={"audit": change_options.audit_places},
    )
)
_ending_options: Final = with_options(
    gathered(
        "at_once",
        AtOnce,
        change_options.yes_option,
        *_RECORDED,
        spread={"audit": change_options.audit_places},
    )
)


#: An exit status, and what JSON has besides the edit.
Done: TypeAlias = tuple[Exit, dict[str, Any] | None]
#: Seconds to wait for somebody else's lease: a server that revokes holds one for a second or two. What only takes away
#: goes on then.
_GIVING: Final = 15.0
_ENDING: Final = 3.0


def _give(
    path: str,
    cluster: str | None,
    asked: AskedAccess,
    terms: GrantTerms,
    connection: ConnectionOptions,
    at_once: AtOnce,
    *,
    output: str,
) -> Done:
    """Give the access on the cluster, or save the plan of it; the exit status, and what JSON has of it."""
    terminal = _terminal(at_once)
    if at_once.out is not None:
        planned = plan_break_glass(
            path, cluster, asked, terms, connection, guardrails=at_once.guardrails, tell=terminal.tell
        )
        return _saved(planned, at_once.out, terminal), None
    if at_once.require_approvals is not None:
        raise CommandError("people approve saved plans", "save it with --out PLAN, have it signed, apply it")
    check_terminal(yes=at_once.yes)
    try:
        with _shown_checks():
            result = break_glass(path, cluster, asked, terms, connection, _apply_options(at_once), supervisor=terminal)
    except FailedChecksError as failed:
        over = "over an access test: --override TEST --out PLAN, if the operator's file permits it (breakGlass)"
        raise CommandError(failed.message, over, Exit.FAILED_CHECK) from failed
    document = _shown(result, output)
    if not result.succeeded:
        error(result.stopped or "not all of it was given: nothing was written to the manifests")
        return Exit.ERROR, document
    info(f"break-glass access until {terms.expires}: “reconciler serve --act” ends it then, merged or not")
    return Exit.OK, document


def _end(
    path: str, cluster: str | None, asked: AskedAccess, connection: ConnectionOptions, at_once: AtOnce, *, output: str
) -> tuple[Done, AskedAccess]:
    """End break-glass access on the cluster: the exit status, what JSON has of it, and the access that ended."""
    check_terminal(yes=at_once.yes)
    options = replace(_apply_options(at_once), patience=LeasePatience(_ENDING, goes_on=True))
    result = end_break_glass(path, cluster, asked, connection, options, supervisor=_terminal(at_once))
    document = _shown(result, output)
    if not result.succeeded:
        error(result.stopped or "not all of it was ended: its end stays as it was")
        return (Exit.ERROR, document), asked
    ended = frozenset(deleted_bindings(step.change for step in result.plan.steps))
    return (Exit.OK, document), replace(asked, only=ended)


def _terminal(at_once: AtOnce) -> Terminal:
    return Terminal(at_once.yes, expand=False)


def _saved(planned: Planned, file: str, terminal: Terminal) -> Exit:
    checks = checks_of(planned)
    terminal.review(planned.plan)
    if planned.plan.refusals:
        error("a safety check refuses this plan: it was not saved")
        return Exit.REFUSED
    if checks.stops:
        info("\n".join(checks_lines(checks, style_for(sys.stderr))))
        error("policy checks failed: the plan was not saved")
        return Exit.FAILED_CHECK
    digest = save_plan(planned.plan, file)
    info(f"saved {safe(file)} ({digest}): have it signed with “reconciler approve”, then apply it with")
    info("--require-approvals, or with --require-id and this id. Nothing was sent.")
    return Exit.OK


def _shown(result: Result, output: str) -> dict[str, Any]:
    """Print what was done, and return it for programs, whose JSON is to be all of stdout."""
    if output == "text":
        out(result_lines(result, style_for(sys.stdout)))
    else:
        info_lines(result_lines(result, style_for(sys.stderr)))
    return {"applied": result_document(result)}


@contextmanager
def _shown_checks() -> Iterator[None]:
    try:
        yield
    except FailedChecksError as failed:
        info("\n".join(checks_lines(failed.checks, style_for(sys.stderr))))
        raise


def _apply_options(at_once: AtOnce) -> ApplyOptions:
    """How the run is written down and kept apart."""
    records = RecordOptions(at_once.journal, at_once.audit, at_once.audit_topic, at_once.operator)
    wanted = at_once.lease or at_once.break_lease
    lease = LeaseRequest(records.who(), at_once.break_lease) if wanted else None
    patience = LeasePatience(_GIVING)
    return ApplyOptions(records=records, lease=lease, guardrails=at_once.guardrails, patience=patience)


@click.group("break-glass", short_help="Give access on the cluster at once, until a near end")
def command() -> None:
    """Give access on the cluster at once, for an emergency, and end it.

    Each makes the same edit of the manifests besides, for a pull request, and prints it as a patch; --write writes it.
    """


@command.command("grant", short_help="Give access at once; it ends by itself")
@principal_argument
@operation_argument
@resource_argument
@click.option("--host", metavar="ADDRESS", help="Give it to this client address only.  [default: every host]")
@until_option
@click.option("--reason", metavar="TEXT", help="Why; recorded, and written next to the rule.")
@ticket_option
@path_option
@cluster_of_edit
@change_options.edit_options
@connection_options
@_giving_options
@output_option
def grant_(
    *,
    principal: str,
    operation: str,
    pattern: ResourcePattern,
    host: str | None,
    until: Expiry | None,
    reason: str | None,
    ticket: str | None,
    path: str | None,
    cluster: str | None,
    keeping: change_options.Keeping,
    connection: ConnectionOptions,
    at_once: AtOnce,
    output: str,
) -> int:
    """Give PRINCIPAL access at once, until --until (24h at most) and for --reason, as grant would declare it.

    With --out, only the plan is saved, for people to sign.
    """
    asked = asked_access(principal, operation, pattern, host)
    terms = GrantTerms(until, reason, ticket, at_once.override)
    if at_once.override and at_once.out is None:
        raise CommandError("over a failed test, people approve a saved plan", "add --out PLAN", Exit.USAGE)
    where, unwritten = path or project_path(), None
    try:
        edit = grant(where, cluster, asked, terms, None, connection)
        note_edit(edit.notes)
    except EditRefusedError as refused:
        # An emergency does not wait for manifests that somebody has to edit by hand.
        unwritten = refused
    status, extra = _give(where, cluster, asked, terms, connection, at_once, output=output)
    if status != Exit.OK:
        return status
    if unwritten is not None:
        raise unwritten
    return hand_over_grant(edit.edit, asked, keeping, output=output, extra=extra)


@command.command("revoke", short_help="End break-glass access at once")
@principal_argument
@any_operation
@any_resource
@click.option("--host", metavar="ADDRESS", help="End only what is for this client address.")
@path_option
@cluster_of_edit
@change_options.edit_options
@connection_options
@_ending_options
@output_option
def revoke_(
    *,
    principal: str,
    operation: str | None,
    pattern: ResourcePattern | None,
    host: str | None,
    path: str | None,
    cluster: str | None,
    keeping: change_options.Keeping,
    connection: ConnectionOptions,
    at_once: AtOnce,
    output: str,
) -> int:
    """End break-glass access of PRINCIPAL on the cluster at once, or one operation of it; no other access."""
    where = path or project_path()
    asked = asked_access(principal, operation, pattern, host)
    (status, extra), asked = _end(where, cluster, asked, connection, at_once, output=output)
    if status != Exit.OK:
        return status
    # The edit takes back what was ended just now, and no grant of the principal that somebody reviewed.
    try:
        edit = revoke(where, cluster, asked, None, connection)
        note_edit(edit.notes)
    except NotDeclaredError:
        return hand_over_revocation(None, asked, keeping, output=output, extra=extra)
    return hand_over_revocation(edit.edit, asked, keeping, output=output, extra=extra)
