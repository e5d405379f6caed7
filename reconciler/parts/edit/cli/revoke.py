"""``reconciler revoke``: less access as an edit of the manifests."""

import datetime
from typing import TYPE_CHECKING, Any

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.console import Exit, out_json, progress
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
    principal_argument,
)
from reconciler.model.acl import ResourcePattern
from reconciler.parts.edit.app.grant import AskedAccess, revoke
from reconciler.parts.edit.cli.grant import asked_access, cluster_of_edit, said
from reconciler.parts.edit.cli.options import keep
from reconciler.results.output import OutputKind

if TYPE_CHECKING:
    from reconciler.parts.edit.app.editing import ManifestEdit


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
@click.argument("operation", metavar="[OPERATION]", required=False)
@click.argument("pattern", metavar="[RESOURCE]", required=False, type=ResourceArgument())
@click.option("--host", metavar="ADDRESS", help="Revoke only what is for this client address.")
@path_option
@cluster_of_edit
@edit_options
@connection_options
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
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Take from a principal what the manifests grant it: one operation, or with PRINCIPAL alone everything.

    Only rules for exactly these names go; what else grants the same is named. You see what the edit does to access, and
    get a patch; --write writes it. No cluster is contacted; break-glass revoke ends break-glass access at once.
    """
    asked = asked_access(principal, operation, pattern, host)
    found = revoke(path or project_path(), cluster, asked, as_of, connection)
    said(found.notes)
    return hand_over_revocation(found.edit, asked, keeping, output=output)
