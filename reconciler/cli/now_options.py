"""``grant --now``: its options, and the run that gives the access."""

import sys
from typing import TYPE_CHECKING, Final

import click

from reconciler.cli.console import error, info, out, style_for
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import gathered, guardrails_option, with_options, yes_option
from reconciler.dataclass import dataclass
from reconciler.workflow.options import ConnectionOptions

if TYPE_CHECKING:
    from reconciler.workflow.granting import AskedAccess, GrantTerms


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Whether access is given at once, and how the run of it is agreed to, written down and kept apart from others."""

    now: bool = False
    yes: bool = False
    require_approvals: int | None = None
    guardrails: str | None = None
    journal: str | None = None
    audit: str | None = None
    audit_topic: str | None = None
    operator: str | None = None
    lease: bool = False


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
            "--require-approvals",
            metavar="N",
            type=click.IntRange(min=1),
            help="Refuse --now: people approve saved plans only.",
        ),
        guardrails_option,
        click.option("--journal", metavar="FILE", help="With --now: journal file.  [default: none]"),
        click.option("--audit", metavar="FILE", help="With --now: append a JSON audit record for each step."),
        click.option("--audit-topic", metavar="TOPIC", help="With --now: send the audit records to a topic."),
        click.option(
            "--operator", metavar="NAME", help="With --now: operator name in the records.  [default: USER@HOST]"
        ),
        click.option("--lease", is_flag=True, help="With --now: hold the cluster's lease meanwhile."),
    )
)


def give_now(
    path: str,
    cluster: str | None,
    asked: "AskedAccess",
    terms: "GrantTerms",
    connection: ConnectionOptions,
    at_once: AtOnce,
) -> int:
    """Give the access on the cluster; the exit status."""
    from reconciler import workflow
    from reconciler.apply import LeaseRequest
    from reconciler.cli.terminal import Terminal
    from reconciler.report.checks import checks_lines
    from reconciler.report.result_text import result_lines
    from reconciler.workflow.break_glass import break_glass
    from reconciler.workflow.reasons import FailedChecksError

    if at_once.require_approvals is not None:
        raise CommandError("people approve saved plans, and --now makes none", "merge the grant, plan, sign, apply")
    if not at_once.yes and not sys.stdin.isatty():
        raise CommandError("no terminal to ask on", "pass --yes", Exit.USAGE)
    records = workflow.RecordOptions(at_once.journal, at_once.audit, at_once.audit_topic, at_once.operator)
    lease = LeaseRequest(records.who()) if at_once.lease else None
    options = workflow.ApplyOptions(records=records, lease=lease, guardrails=at_once.guardrails)
    try:
        result = break_glass(
            path, cluster, asked, terms, connection, options, attendant=Terminal(at_once.yes, expand=False)
        )
    except FailedChecksError as failed:
        info("\n".join(checks_lines(failed.checks, style_for(sys.stderr))))
        raise
    out(result_lines(result, style_for(sys.stdout)))
    if not result.succeeded:
        error(result.stopped or "not all of it was given: nothing was written to the manifests")
        return Exit.ERROR
    info(f"break-glass access until {terms.expires}: “reconciler serve --act” ends it then, merged or not")
    return Exit.OK
