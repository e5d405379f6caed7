"""``reconciler grant``: access as an edit of the manifests."""

import datetime
from collections.abc import Iterable

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.console import CommandError, Exit, info
from reconciler.cli.options import (
    Keeping,
    Until,
    as_of_option,
    connection_options,
    edit_options,
    from_project,
    output_option,
    path_option,
    project_path,
)
from reconciler.cli.questions import (
    asked_host,
    asked_operation,
    asked_principal,
    operation_argument,
    principal_argument,
    resource_argument,
)
from reconciler.model.acl import ResourcePattern
from reconciler.model.characters import safe
from reconciler.model.desired import Expiry
from reconciler.parts.edit.app.editing import EditRefusedError
from reconciler.parts.edit.app.grant import AskedAccess, GrantTerms, grant
from reconciler.parts.edit.cli.options import AtOnce, keep, now_options
from reconciler.results.output import OutputKind

# Options of the commands that edit who may do what.

until_option = click.option(
    "--until",
    metavar="DATE",
    type=Until(),
    help="Until when it holds: through a day (YYYY-MM-DD, or 14d, 2w from today), or until an instant "
    "(2027-01-31T18:00:00Z, or 30m, 2h from now).",
)

cluster_of_edit = click.option(
    "-c",
    "--cluster",
    metavar="NAME",
    callback=lambda _, __, value: value or from_project("cluster", None)(),
    help="The declared cluster that it is for.  [default: the only one declared]",
)


def said(notes: Iterable[str]) -> None:
    """What else there is to know about an edit."""
    for note in notes:
        info(safe(note))


@click.command("grant", short_help="Grant access by an edit of the manifests")
@principal_argument
@operation_argument
@resource_argument
@click.option("--host", metavar="ADDRESS", help="Grant it to this client address only.  [default: every host]")
@until_option
@click.option("--reason", metavar="TEXT", help="Why; written next to the rule.")
@click.option("--ticket", metavar="ID", help="Where it was agreed; written next to the rule.")
@path_option
@cluster_of_edit
@edit_options
@connection_options
@now_options
@as_of_option
@output_option
def command(
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
    keeping: Keeping,
    connection: ConnectionOptions,
    at_once: AtOnce,
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Grant a principal an operation, such as READ topic/orders, where the manifests speak of that principal.

    OPERATION may be several, as in READ,WRITE. The rule goes into a document of the principal, a file of the team that
    Ownership names, or a file of its own. You see what the edit does to access, and get a patch; --write writes it. No
    cluster is contacted, except with --now: break-glass access is on the cluster at once, and ends by itself.
    """
    operations = tuple(asked_operation(one, pattern) for one in operation.split(","))
    asked = AskedAccess(asked_principal(principal), operations, pattern, asked_host(host))
    terms = GrantTerms(until, reason, ticket, at_once.override)
    if at_once.override and (not at_once.now or at_once.out is None):
        raise CommandError("over a failed test, people approve a saved plan", "add --now --out PLAN", Exit.USAGE)
    if at_once.out is not None and not at_once.now:
        raise CommandError("--out saves the plan of --now", "add --now", Exit.USAGE)
    unwritten: EditRefusedError | None = None
    try:
        found = grant(path or project_path(), cluster, asked, terms, as_of, connection)
        said(found.notes)
    except EditRefusedError as error:
        # An emergency does not wait for manifests that somebody has to edit by hand.
        if not at_once.now:
            raise
        unwritten = error
    extra = None
    if at_once.now:
        from reconciler.parts.edit.cli.now import give_now  # what performs is loaded for that alone

        status, extra = give_now(path or project_path(), cluster, asked, terms, connection, at_once, output=output)
        if status != Exit.OK:
            return status
    if unwritten is not None:
        raise unwritten
    words = f"Grant {principal} {operation.upper()} on {pattern}"
    return keep(
        OutputKind.GRANT, found.edit, keeping, message=words, output=output, nothing="Nothing to change.", extra=extra
    )
