"""``reconciler rename``: a principal's new name, in two edits of the manifests."""

import datetime

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.options import (
    Keeping,
    as_of_option,
    connection_options,
    edit_options,
    output_option,
    path_option,
    project_path,
)
from reconciler.cli.questions import asked_principal
from reconciler.parts.edit.app.grant import rename
from reconciler.parts.edit.cli.grant import said
from reconciler.parts.edit.cli.options import keep
from reconciler.results.output import OutputKind


@click.command("rename", short_help="Rename a principal in two edits, without an outage")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--finish", is_flag=True, help="Second edit: take everything from OLD, which NEW has by now.")
@path_option
@edit_options
@connection_options
@as_of_option
@output_option
def command(
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
    said(found.notes)
    if not finish:
        said([f"apply this, move the clients to {new}, then take the old name away: the same command with --finish"])
    words = f"Take everything from {old}, now {new}" if finish else f"Grant {new} what {old} has"
    return keep(OutputKind.RENAME, found.edit, keeping, message=words, output=output)
