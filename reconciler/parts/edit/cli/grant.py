"""``reconciler grant``, ``revoke`` and ``rename``: a principal's access as an edit of the manifests."""

import datetime
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.change_options import Keeping, edit_options
from reconciler.cli.console import CommandError, Exit, info, out_json, progress
from reconciler.cli.options import (
    Until,
    as_of_option,
    connection_options,
    from_project,
    output_option,
    path_option,
    project_path,
)
from reconciler.cli.questions import (
    ResourceArgument,
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
from reconciler.parts.edit.app.grant import AskedAccess, GrantTerms, grant, rename, revoke
from reconciler.parts.edit.cli.options import keep
from reconciler.results.output import OutputKind

if TYPE_CHECKING:
    from reconciler.parts.edit.app.editing import ManifestEdit


# Options of the commands that edit who may do what.

until_option = click.option(
    "--until",
    metavar="DATE",
    type=Until(),
    help="Until when it holds: through a day (YYYY-MM-DD, or 14d, 2w from today), or until an instant "
    "(2027-01-31T18:00:00Z, or 30m, 2h from now).",
)

ticket_option = click.option("--ticket", metavar="ID", help="Where it was agreed; written next to the rule.")

any_operation = click.argument("operation", metavar="[OPERATION]", required=False)

any_resource = click.argument("pattern", metavar="[RESOURCE]", required=False, type=ResourceArgument())

cluster_of_edit = click.option(
    "-c",
    "--cluster",
    metavar="NAME",
    callback=lambda _, __, value: value or from_project("cluster", None)(),
    help="The declared cluster that it is for.  [default: the only one declared]",
)


def note_edit(notes: Iterable[str]) -> None:
    """What else there is to know about an edit."""
    for note in notes:
        info(safe(note))


def asked_access(
    principal: str, operation: str | None, pattern: ResourcePattern | None, host: str | None
) -> AskedAccess:
    """What a command line asks for; ends the command where it is wrong. ``operation`` may be several."""
    if operation is not None and pattern is None:
        raise CommandError(f"{operation} on what?", "give RESOURCE, as in READ topic/orders", Exit.USAGE)
    operations = tuple(asked_operation(word, pattern) for word in (operation or "").split(",")) if pattern else ()
    return AskedAccess(asked_principal(principal), operations, pattern, asked_host(host))


def hand_over_grant(
    edit: "ManifestEdit", asked: AskedAccess, keeping: Keeping, *, output: str, extra: dict[str, Any] | None = None
) -> int:
    """Print, write or commit a grant; JSON has ``extra`` besides."""
    words = f"Grant {asked.principal} {','.join(operation.name for operation in asked.operations)} on {asked.pattern}"
    return keep(
        OutputKind.GRANT, edit, keeping, message=words, output=output, nothing="Nothing to change.", extra=extra
    )


@click.command("grant", short_help="Grant access by an edit of the manifests")
@principal_argument
@operation_argument
@resource_argument
@click.option("--host", metavar="ADDRESS", help="Grant it to this client address only.  [default: every host]")
@until_option
@click.option("--reason", metavar="TEXT", help="Why; written next to the rule.")
@ticket_option
@path_option
@cluster_of_edit
@edit_options
@connection_options
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
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Grant a principal an operation, such as READ topic/orders, where the manifests speak of that principal.

    OPERATION may be several, as in READ,WRITE. The rule goes into a document of the principal, a file of the team that
    Ownership names, or a file of its own. You see what the edit does to access, and get a patch; --write writes it. No
    cluster is contacted; in an emergency, see break-glass.
    """
    asked = asked_access(principal, operation, pattern, host)
    found = grant(path or project_path(), cluster, asked, GrantTerms(until, reason, ticket), as_of, connection)
    note_edit(found.notes)
    return hand_over_grant(found.edit, asked, keeping, output=output)


def hand_over_revocation(
    edit: "ManifestEdit | None",
    asked: AskedAccess,
    keeping: Keeping,
    *,
    output: str,
    extra: dict[str, Any] | None = None,
) -> int:
    """Print, write or commit a revocation; JSON has ``extra`` besides. ``None``: no manifest declares the access."""
    if edit is None:
        progress("No manifest declares it: nothing else to revoke.")
        if output == "json":
            out_json(OutputKind.REVOKE, {**(extra or {}), "patch": "", "files": {}})
        return Exit.OK
    operations = ",".join(operation.name for operation in asked.operations)
    words = f"Revoke {operations} on {asked.pattern}" if operations else "Revoke everything"
    return keep(OutputKind.REVOKE, edit, keeping, message=f"{words} of {asked.principal}", output=output, extra=extra)


@click.command("revoke", short_help="Revoke access by an edit of the manifests")
@principal_argument
@any_operation
@any_resource
@click.option("--host", metavar="ADDRESS", help="Revoke only what is for this client address.")
@path_option
@cluster_of_edit
@edit_options
@connection_options
@as_of_option
@output_option
def revoke_command(
    *,
    principal: str,
    operation: str | None,
    pattern: ResourcePattern | None,
    host: str | None,
    path: str | None,
    cluster: str | None,
    keeping: Keeping,
    connection: ConnectionOptions,
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Take from a principal what the manifests grant it: one operation, or with PRINCIPAL alone everything.

    Only rules for exactly these names go; what else grants the same is named. You see what the edit does to access, and
    get a patch; --write writes it. No cluster is contacted; break-glass revoke ends break-glass access at once.
    """
    asked = asked_access(principal, operation, pattern, host)
    found = revoke(path or project_path(), cluster, asked, as_of, connection)
    note_edit(found.notes)
    return hand_over_revocation(found.edit, asked, keeping, output=output)


@click.command("rename", short_help="Rename a principal in two edits, without an outage")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--finish", is_flag=True, help="Second edit: take everything from OLD, which NEW has by now.")
@path_option
@edit_options
@connection_options
@as_of_option
@output_option
def rename_command(
    *,
    old: str,
    new: str,
    finish: bool,
    path: str | None,
    keeping: Keeping,
    connection: ConnectionOptions,
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Give NEW everything that the manifests grant OLD; with --finish, take it from OLD.

    Apply the first edit, move the clients to the new name, then make and apply the second: nobody is interrupted.
    The scope of a cluster gets NEW beside OLD. Places in Ownership, access tests and the like are listed. No cluster is
    contacted.
    """
    found = rename(
        path or project_path(),
        asked_principal(old),
        asked_principal(new),
        finish=finish,
        as_of=as_of,
        connection=connection,
    )
    note_edit(found.notes)
    if not finish:
        note_edit(
            [f"apply this, move the clients to {new}, then take the old name away: the same command with --finish"]
        )
    words = f"Take everything from {old}, now {new}" if finish else f"Grant {new} what {old} has"
    return keep(OutputKind.RENAME, found.edit, keeping, message=words, output=output)
