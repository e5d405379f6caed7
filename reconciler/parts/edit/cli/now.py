"""``grant --now`` and ``revoke --now``: their options, and the runs that give access and end it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.console import CommandError, Exit, error, info, info_lines, out, style_for
from reconciler.cli.options import gathered, guardrails_option, with_options, yes_option
from reconciler.dataclass import dataclass
from reconciler.model.characters import safe

if TYPE_CHECKING:
    from reconciler.app.apply import ApplyOptions
    from reconciler.app.planning import Planned
    from reconciler.apply.environment import Result
    from reconciler.cli.terminal import Terminal
    from reconciler.parts.edit.app.grant import AskedAccess, GrantTerms


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Whether a cluster is changed at once, and how the run is agreed to, written down and kept apart from others.

    ``out`` is the file of a plan that is only saved.
    """

    now: bool = False
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

    @property
    def apply_options(self) -> "ApplyOptions":
        """How the run is written down and kept apart."""
        from reconciler.app.apply import ApplyOptions
        from reconciler.app.records import RecordOptions
        from reconciler.apply.environment import LeasePatience, LeaseRequest

        records = RecordOptions(self.journal, self.audit, self.audit_topic, self.operator)
        wanted = self.lease or self.break_lease
        lease = LeaseRequest(records.who(), self.break_lease) if wanted else None
        patience = LeasePatience(_GIVING)
        return ApplyOptions(records=records, lease=lease, guardrails=self.guardrails, patience=patience)


#: An exit status, and what JSON has besides the edit.
Done: TypeAlias = tuple[Exit, dict[str, Any] | None]
_RECORDED: Final = (
    guardrails_option,
    click.option("--journal", metavar="FILE", help="With --now: journal file.  [default: none]"),
    click.option("--audit", metavar="FILE", help="With --now: append a JSON audit record for each step."),
    click.option("--audit-topic", metavar="TOPIC", help="With --now: send the audit records to a topic."),
    click.option("--operator", metavar="NAME", help="With --now: operator name in the records.  [default: USER@HOST]"),
)
#: Seconds to wait for somebody else's lease: a server that revokes holds one for a second or two. What only takes away
#: goes on then.
_GIVING: Final = 15.0
_ENDING: Final = 3.0


#: ``--now`` and what belongs to it, handed over as ``at_once``.
now_options: Final = with_options(
    gathered(
        "at_once",
        AtOnce,
        click.option(
            "--now",
            is_flag=True,
            help="Break-glass: create the ACLs on the cluster at once, too, until --until (24h at most), for --reason.",
        ),
        yes_option,
        click.option(
            "--out",
            metavar="PLAN",
            help="With --now: only save the plan, for people to sign; “reconciler apply PLAN” performs it.",
        ),
        click.option(
            "--require-approvals",
            metavar="N",
            type=click.IntRange(min=1),
            help="Refuse --now without --out: people approve saved plans.",
        ),
        *_RECORDED,
        click.option("--lease", is_flag=True, help="With --now: hold the cluster's lease meanwhile."),
        click.option(
            "--break-lease",
            metavar="HOLDER",
            multiple=True,
            help="With --now: take over the lease of HOLDER. Use it only if that run is known to be dead; repeatable.",
        ),
    )
)
#: The same for access that ends at once.
end_now_options: Final = with_options(
    gathered(
        "at_once",
        AtOnce,
        click.option(
            "--now", is_flag=True, help="End break-glass access on the cluster at once, too; no other access."
        ),
        yes_option,
        *_RECORDED,
    )
)


def give_now(
    path: str,
    cluster: str | None,
    asked: "AskedAccess",
    terms: "GrantTerms",
    connection: ConnectionOptions,
    at_once: AtOnce,
    *,
    output: str,
) -> "Done":
    """Give the access on the cluster, or save the plan of it; the exit status, and what JSON has of it."""
    from reconciler.parts.edit.app.break_glass import break_glass, plan_break_glass

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
        result = break_glass(path, cluster, asked, terms, connection, at_once.apply_options, attendant=terminal)
    document = _said(result, output)
    if not result.succeeded:
        error(result.stopped or "not all of it was given: nothing was written to the manifests")
        return Exit.ERROR, document
    info(f"break-glass access until {terms.expires}: “reconciler serve --act” ends it then, merged or not")
    return Exit.OK, document


def end_now(
    path: str, cluster: str | None, asked: "AskedAccess", connection: ConnectionOptions, at_once: AtOnce, *, output: str
) -> "tuple[Done, AskedAccess]":
    """End break-glass access on the cluster: the exit status, what JSON has of it, and the access that ended."""
    from reconciler.apply.environment import LeasePatience
    from reconciler.parts.edit.app.break_glass import end_break_glass
    from reconciler.plan.kinds.acl import deleted_bindings

    _check_consent(at_once)
    options = replace(at_once.apply_options, patience=LeasePatience(_ENDING, goes_on=True))
    result = end_break_glass(path, cluster, asked, None, connection, options, attendant=_terminal(at_once))
    document = _said(result, output)
    if not result.succeeded:
        error(result.stopped or "not all of it was ended: its end stays as it was")
        return (Exit.ERROR, document), asked
    ended = frozenset(deleted_bindings(step.change for step in result.plan.steps))
    return (Exit.OK, document), replace(asked, only=ended)


def _terminal(at_once: AtOnce) -> "Terminal":
    from reconciler.cli.terminal import Terminal

    return Terminal(at_once.yes, expand=False)


def _check_consent(at_once: AtOnce) -> None:
    if not at_once.yes and not sys.stdin.isatty():
        raise CommandError("no terminal to ask on", "pass --yes", Exit.USAGE)


def _saved(planned: "Planned", file: str, terminal: "Terminal") -> Exit:
    from reconciler.app.access_tests import checks_of
    from reconciler.app.records import save_plan
    from reconciler.show.claims import checks_lines

    checks = checks_of(planned)
    terminal.review(planned.plan)
    if planned.plan.refusals:
        error("a guard refuses this plan: it was not saved")
        return Exit.REFUSED
    if checks.stops:
        info("\n".join(checks_lines(checks, style_for(sys.stderr))))
        error("policy checks failed: the plan was not saved")
        return Exit.FAILED_CHECK
    digest = save_plan(planned.plan, file)
    info(f"saved {safe(file)} ({digest}): have it signed with “reconciler approve”, then apply it with")
    info("--require-approvals, or with --require-id and this id. Nothing was sent.")
    return Exit.OK


def _said(result: "Result", output: str) -> dict[str, Any]:
    """Print what was done, and return it for programs, whose JSON is to be all of stdout."""
    from reconciler.show.result import result_document, result_lines

    if output == "text":
        out(result_lines(result, style_for(sys.stdout)))
    else:
        info_lines(result_lines(result, style_for(sys.stderr)))
    return {"applied": result_document(result)}


@contextmanager
def _shown_checks() -> Iterator[None]:
    from reconciler.app.reasons import FailedChecksError
    from reconciler.show.claims import checks_lines

    try:
        yield
    except FailedChecksError as failed:
        info("\n".join(checks_lines(failed.checks, style_for(sys.stderr))))
        raise
