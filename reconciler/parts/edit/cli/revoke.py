"""``reconciler revoke``: less access as an edit of the manifests."""

import datetime

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.console import CommandError, Exit, out_json, progress
from reconciler.cli.options import (
    Keeping,
    as_of_option,
    connection_options,
    edit_options,
    output_option,
    path_option,
    project_path,
)
from reconciler.cli.questions import (
    ResourceArgument,
    asked_host,
    asked_operation,
    asked_principal,
    principal_argument,
)
from reconciler.model.acl import ResourcePattern
from reconciler.parts.edit.app.grant import AskedAccess, NotDeclaredError, revoke
from reconciler.parts.edit.cli.grant import cluster_of_edit, said
from reconciler.parts.edit.cli.options import AtOnce, end_now_options, keep
from reconciler.results.output import OutputKind


@click.command("revoke", short_help="Revoke access by an edit of the manifests")
@principal_argument
@click.argument("operation", metavar="[OPERATION]", required=False)
@click.argument("pattern", metavar="[RESOURCE]", required=False, type=ResourceArgument())
@click.option("--host", metavar="ADDRESS", help="Revoke only what is for this client address.")
@path_option
@cluster_of_edit
@edit_options
@connection_options
@end_now_options
@as_of_option
@output_option
def command(
    *,
    principal: str,
    operation: str | None,
    pattern: ResourcePattern | None,
    host: str | None,
    path: str | None,
    cluster: str | None,
    keeping: Keeping,
    connection: ConnectionOptions,
    at_once: AtOnce,
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Take from a principal what the manifests grant it: one operation, or with PRINCIPAL alone everything.

    Only rules for exactly these names go; what else grants the same is named. You see what the edit does to access, and
    get a patch; --write writes it. No cluster is contacted, except with --now: it ends break-glass access at once, and
    the edit is of that access only.
    """
    if operation is not None and pattern is None:
        raise CommandError(f"{operation} on what?", "give RESOURCE, as in READ topic/orders", Exit.USAGE)
    operations = tuple(asked_operation(one, pattern) for one in (operation or "").split(",")) if pattern else ()
    asked = AskedAccess(asked_principal(principal), operations, pattern, asked_host(host))
    extra = None
    if at_once.now:
        # The edit takes back what was ended just now, and no grant of the principal that somebody reviewed.
        where = path or project_path()
        from reconciler.parts.edit.cli.now import end_now  # what performs is loaded for that alone

        (status, extra), asked = end_now(where, cluster, asked, connection, at_once, output=output)
        if status != Exit.OK:
            return status
    try:
        found = revoke(path or project_path(), cluster, asked, as_of, connection)
    except NotDeclaredError:
        if not at_once.now:
            raise
        progress("No manifest declares it: nothing else to revoke.")
        if output == "json":
            out_json(OutputKind.REVOKE, {**(extra or {}), "patch": "", "files": {}})
        return Exit.OK
    said(found.notes)
    words = f"Revoke {operation.upper()} on {pattern}" if operation else "Revoke everything"
    return keep(OutputKind.REVOKE, found.edit, keeping, message=f"{words} of {principal}", output=output, extra=extra)
