"""``reconciler unlock``: end a lock, which gives access."""

import sys

import click

from reconciler.app.access_checks import checks_of
from reconciler.app.apply import ApplyOptions
from reconciler.app.lock import LockTerms, plan_unlock, unlock
from reconciler.app.options import ConnectionOptions
from reconciler.app.planning import Planned
from reconciler.app.records import RecordOptions
from reconciler.cli.console import CommandError, Exit, error, out, out_json, style_for
from reconciler.cli.options import (
    accept_option,
    cluster_option,
    connection_options,
    output_option,
    path_option,
    record_options,
    yes_option,
)
from reconciler.cli.planned import print_plan, save, verdict
from reconciler.cli.terminal import Terminal
from reconciler.plan.refusal import AcceptedGuard
from reconciler.results.output import OutputKind
from reconciler.show.claims import Checks
from reconciler.show.result import result_document, result_lines


@click.command("unlock", short_help="End a lock")
@click.argument("principal", metavar="PRINCIPAL")
@path_option
@click.option("--reason", metavar="TEXT", required=True, help="Why; kept in the audit log.")
@click.option("--ticket", metavar="ID", help="Where it was agreed.")
@click.option(
    "--out", "save_as", metavar="PLAN", help="Only save the plan, for people to sign; “reconciler apply” performs it."
)
@cluster_option()
@accept_option
@yes_option
@record_options
@connection_options
@output_option
def command(
    *,
    principal: str,
    path: str | None,
    reason: str,
    ticket: str | None,
    save_as: str | None,
    cluster: str | None,
    accept: tuple[AcceptedGuard, ...],
    yes: bool,
    records: RecordOptions,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Delete the DENYs of the lock of PRINCIPAL: it may do again what its other ACLs permit.

    That is a plan: you see who gains which access, and safety checks and access tests judge it. Where the operator's
    file asks for approvals of an unlock, save the plan with --out and have it signed.
    """
    given = LockTerms(principal, reason, ticket, accept=accept)
    terminal = Terminal(yes, expand=False)
    if save_as is not None:
        return _save(plan_unlock(path, cluster, given, connection, terminal.tell), save_as, output)
    if not yes and not sys.stdin.isatty():
        raise CommandError("no terminal to ask on", "pass --yes", Exit.USAGE)
    result = unlock(path, cluster, given, connection, ApplyOptions(records=records), attendant=terminal)
    if output == "json":
        out_json(OutputKind.UNLOCK, {"principal": principal, "applied": result_document(result)})
    else:
        out(result_lines(result, style_for(sys.stdout)))
    if not result.succeeded:
        error(result.stopped or "not all of the lock could be ended: run the same command again")
        return Exit.ERROR
    return Exit.OK


def _save(planned: Planned, file: str, output: str) -> Exit:

    checks = checks_of(planned) if planned.manifests.clusters else Checks()
    print_plan(planned.plan, checks, expand=False, output=output, kind=OutputKind.UNLOCK, servers=planned.servers)
    status = verdict(planned.plan, checks, saved=True)
    if status is Exit.OK:
        save(planned.plan, file)
    return status
