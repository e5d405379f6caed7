"""``grant --now`` and ``revoke --now``: the runs that give access and end it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, TypeAlias

from reconciler.app.access_checks import checks_of
from reconciler.app.apply import ApplyOptions
from reconciler.app.options import ConnectionOptions
from reconciler.app.planning import Planned
from reconciler.app.reasons import FailedChecksError
from reconciler.app.records import RecordOptions, save_plan
from reconciler.apply.environment import LeasePatience, LeaseRequest, Result
from reconciler.cli.console import CommandError, Exit, error, info, info_lines, out, style_for
from reconciler.cli.terminal import Terminal
from reconciler.model.characters import safe
from reconciler.parts.edit.app.break_glass import break_glass, end_break_glass, plan_break_glass
from reconciler.parts.edit.app.grant import AskedAccess, GrantTerms
from reconciler.parts.edit.cli.options import AtOnce
from reconciler.plan.kinds.acl import deleted_bindings
from reconciler.show.claims import checks_lines
from reconciler.show.result import result_document, result_lines

#: An exit status, and what JSON has besides the edit.
Done: TypeAlias = tuple[Exit, dict[str, Any] | None]
#: Seconds to wait for somebody else's lease: a server that revokes holds one for a second or two. What only takes away
#: goes on then.
_GIVING: Final = 15.0
_ENDING: Final = 3.0


def give_now(
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
    _check_consent(at_once)
    with _shown_checks():
        result = break_glass(path, cluster, asked, terms, connection, _apply_options(at_once), attendant=terminal)
    document = _said(result, output)
    if not result.succeeded:
        error(result.stopped or "not all of it was given: nothing was written to the manifests")
        return Exit.ERROR, document
    info(f"break-glass access until {terms.expires}: “reconciler serve --act” ends it then, merged or not")
    return Exit.OK, document


def end_now(
    path: str, cluster: str | None, asked: AskedAccess, connection: ConnectionOptions, at_once: AtOnce, *, output: str
) -> tuple[Done, AskedAccess]:
    """End break-glass access on the cluster: the exit status, what JSON has of it, and the access that ended."""
    _check_consent(at_once)
    options = replace(_apply_options(at_once), patience=LeasePatience(_ENDING, goes_on=True))
    result = end_break_glass(path, cluster, asked, None, connection, options, attendant=_terminal(at_once))
    document = _said(result, output)
    if not result.succeeded:
        error(result.stopped or "not all of it was ended: its end stays as it was")
        return (Exit.ERROR, document), asked
    ended = frozenset(deleted_bindings(step.change for step in result.plan.steps))
    return (Exit.OK, document), replace(asked, only=ended)


def _terminal(at_once: AtOnce) -> Terminal:
    return Terminal(at_once.yes, expand=False)


def _check_consent(at_once: AtOnce) -> None:
    if not at_once.yes and not sys.stdin.isatty():
        raise CommandError("no terminal to ask on", "pass --yes", Exit.USAGE)


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


def _said(result: Result, output: str) -> dict[str, Any]:
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
