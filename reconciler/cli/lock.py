"""``reconciler lock``: deny a principal everything, until ``unlock``, which gives access; ``locks``: who is locked."""

import sys
from typing import Any

import click

from reconciler.app.access_checks import checks_of
from reconciler.app.apply import ApplyOptions
from reconciler.app.lock import Locked, LockTerms, list_locks, lockable, plan_unlock, unlock
from reconciler.app.options import ConnectionOptions
from reconciler.app.planning import Planned
from reconciler.app.records import RecordOptions
from reconciler.cli import options
from reconciler.cli.change_options import accept_option, record_options, yes_option
from reconciler.cli.console import CommandError, Exit, ask, check_terminal, error, out, out_json, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.planned import print_plan, save, verdict
from reconciler.cli.terminal import Terminal
from reconciler.model.characters import as_name, safe
from reconciler.model.desired import Expiry, moment_text
from reconciler.model.locks import Lock
from reconciler.plan.refusal import AcceptedGuard
from reconciler.results import OutputKind
from reconciler.show.claims import Checks
from reconciler.show.result import result_document, result_lines

_ticket_option = click.option("--ticket", metavar="ID", help="Where it was agreed.")

#: Whom to lock, and why; :func:`lock_terms` makes one value of them.
lock_terms_options = options.with_options(
    (
        click.argument("principal", metavar="PRINCIPAL"),
        click.option("--reason", metavar="TEXT", required=True, help="Why. Every plan shows it until the unlock."),
        _ticket_option,
        click.option(
            "--until",
            metavar="TIME",
            type=options.Until(),
            help="When it is to end: 24h, 2d, or an instant. A server ends it only where the operator's file has "
            "locksEnd: true.  [default: at the unlock]",
        ),
        click.option("--host", hidden=True, help="Refused: a lock counts from every host."),
        accept_option,
    )
)


def lock_terms(
    *,
    principal: str,
    reason: str,
    ticket: str | None,
    until: Expiry | None,
    host: str | None,
    accept: tuple[AcceptedGuard, ...],
) -> LockTerms:
    """One value of these options; ends the command where a host is named."""
    if host is not None:
        raise CommandError(
            "a lock counts from every host",
            "leave out --host; to deny some hosts, declare a DENY with hosts in the manifests",
            Exit.USAGE,
        )
    return LockTerms(principal, reason, ticket, None if until is None else until.end, accept)


@click.command("lock", short_help="Deny a principal everything, until unlock")
@lock_terms_options
@options.path_option
@options.cluster_option()
@yes_option
@record_options
@options.connection_options
@options.output_option
def command(
    *,
    path: str | None,
    cluster: str | None,
    yes: bool,
    records: RecordOptions,
    connection: ConnectionOptions,
    output: str,
    **terms: Any,
) -> int:
    """Deny PRINCIPAL every operation on every resource from every host, on the cluster and at once.

    The lock is on the cluster, not in the manifests: neither plan, apply, undo, adopt nor cleanup ends it, with or
    without --allow-deletes; only `reconciler unlock` does. Ownership and access tests are not asked. Open connections
    stay, and each request on them is refused.
    """
    given = lock_terms(**terms)
    with lockable(path, cluster, given, connection, info_note) as opened:
        ask(safe(f"Deny {given.principal} everything on cluster {opened.target.name}?"), yes=yes)
        locked = opened.lock(records)
    if output == "json":
        out_json(OutputKind.LOCK, locked_document(locked))
    else:
        out(locked_lines(locked))
    if locked.doubt:
        error(locked.doubt)
    return Exit.OK if locked.succeeded else Exit.ERROR


def locked_lines(locked: Locked) -> list[str]:
    """What the cluster shows after it."""
    lock = locked.lock
    brokers = f", enforced by {locked.brokers} of {locked.brokers} brokers" if locked.brokers else ""
    name = as_name(lock.principal)
    if lock.whole:
        first = f"{name} is locked on {locked.cluster}{brokers} after {locked.seconds:.1f} s: no operation, on no name"
    else:
        first = f"{name} is locked only in part on {locked.cluster}"
    lines = [f"{first}, from no host" if lock.whole else first, f"  {lock.marks[-1].words}"]
    lines += [f"  not denied: {text}" for text in locked.gaps]
    lines += [f"  {note}" for note in locked.notes]
    lines += other_lines(locked)
    lines.append(f"Only this ends it: reconciler unlock {lock.principal}")
    if locked.audit_head:
        lines.append(f"Audit log: head {locked.audit_head}")
    return [safe(line) for line in lines]


def other_lines(locked: Locked) -> list[str]:
    """Who may be the same and is not locked: a person decides."""
    return [
        f"  perhaps the same, and not locked: {as_name(other.principal)} ({', '.join(other.signs)})"
        for other in locked.others
    ]


def locked_document(locked: Locked) -> dict[str, Any]:
    """The same for programs."""
    return {
        **lock_document(locked.lock),
        "cluster": locked.cluster,
        "seconds": round(locked.seconds, 3),
        "brokers": locked.brokers or None,
        "gaps": list(locked.gaps),
        "notes": list(locked.notes),
        "others": [{"principal": other.principal, "signs": list(other.signs)} for other in locked.others],
        "doubt": locked.doubt or None,
        "auditHead": locked.audit_head or None,
    }


def lock_document(lock: Lock) -> dict[str, Any]:
    """A lock in JSON; of several marks the newest speaks."""
    mark = lock.marks[-1]
    return {
        "principal": lock.principal,
        "whole": lock.whole,
        "missing": [str(denial) for denial in lock.missing],
        "since": moment_text(mark.since),
        "until": None if lock.until is None else moment_text(lock.until),
        "operator": mark.operator or None,
        "ticket": mark.ticket or None,
        "reason": mark.reason or None,
    }


@click.command("unlock", short_help="End a lock")
@click.argument("principal", metavar="PRINCIPAL")
@options.path_option
@click.option("--reason", metavar="TEXT", required=True, help="Why; kept in the audit log.")
@_ticket_option
@click.option(
    "--out", "save_as", metavar="PLAN", help="Only save the plan, for people to sign; “reconciler apply” performs it."
)
@options.cluster_option()
@accept_option
@yes_option
@record_options
@options.connection_options
@options.output_option
def unlock_command(
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
    check_terminal(yes=yes)
    result = unlock(path, cluster, given, connection, ApplyOptions(records=records), supervisor=terminal)
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


@click.command("locks", short_help="List locked principals")
@options.optional_path_argument
@options.cluster_option()
@options.connection_options
@options.output_option
def locks_command(*, path: str | None, cluster: str | None, connection: ConnectionOptions, output: str) -> int:
    """List the principals that are denied everything until `reconciler unlock`, with since when and why.

    Exit 1 if a lock denies only a part, or one that the operator's file demands is not on the cluster.
    """
    listed = list_locks(path, cluster, connection)
    if output == "json":
        locks = [lock_document(lock) for lock in listed.locks]
        out_json(OutputKind.LOCKS, {"cluster": listed.cluster, "locks": locks, "demanded": list(listed.demanded)})
        return Exit.OK if listed.whole else Exit.ERROR
    lines = [] if listed.locks else [f"No principal is locked on {listed.cluster}."]
    for lock in listed.locks:
        missing = ", ".join(denial.pattern.resource_type.name for denial in lock.missing)
        lines.append(f"{as_name(lock.principal)} {lock.marks[-1].words}{f'; not denied: {missing}' if missing else ''}")
    lines += [
        f"{as_name(name)} is to be locked by the operator's file, and is not: reconciler lock {name}"
        for name in listed.demanded
    ]
    out([safe(line) for line in lines])
    return Exit.OK if listed.whole else Exit.ERROR
