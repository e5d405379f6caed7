"""``reconciler grant``: access as an edit of the manifests."""

import datetime
from typing import TYPE_CHECKING

import click

from reconciler.cli.edit_options import Keeping, edit_options, keep
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.grant_options import cluster_of_edit, resource_argument, said, until_option
from reconciler.cli.now_options import AtOnce, give_now, now_options
from reconciler.cli.options import as_of_option, connection_options, output_option, path_option
from reconciler.cli.questions import (
    asked_host,
    asked_operation,
    asked_pattern,
    asked_principal,
    name_argument,
    name_options,
    operation_argument,
    principal_argument,
)
from reconciler.workflow.options import ConnectionOptions

if TYPE_CHECKING:
    from reconciler.model import Expiry


@click.command("grant", short_help="Grant access by an edit of the manifests")
@principal_argument
@operation_argument
@resource_argument
@name_argument
@name_options
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
    resource_type: str,
    name: str | None,
    prefix: bool,
    any_name: bool,
    host: str | None,
    until: "Expiry | None",
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
    """Grant a principal an operation, such as READ topic orders, where the manifests speak of that principal.

    OPERATION may be several, as in READ,WRITE. The rule goes into a document of the principal, a file of the team that
    Ownership names, or a file of its own. You see what the edit does to access, and get a patch; --write writes it. No
    cluster is contacted, except with --now: break-glass access is on the cluster at once, and ends by itself.
    """
    from reconciler.cli.defaults import project_path
    from reconciler.workflow.editing import EditRefusedError
    from reconciler.workflow.granting import AskedAccess, GrantTerms, grant

    pattern = asked_pattern(resource_type, name, prefix=prefix, any_name=any_name)
    operations = tuple(asked_operation(one, pattern) for one in operation.split(","))
    asked = AskedAccess(asked_principal(principal), operations, pattern, asked_host(host))
    terms = GrantTerms(until, reason, ticket)
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
        status, extra = give_now(path or project_path(), cluster, asked, terms, connection, at_once, output=output)
        if status != Exit.OK:
            return status
    if unwritten is not None:
        raise unwritten
    words = f"Grant {principal} {operation.upper()} on {pattern}"
    return keep(found.edit, keeping, message=words, output=output, nothing="Nothing to change.", extra=extra)
