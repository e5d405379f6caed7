"""``reconciler grant``, ``revoke``, ``rename`` and ``adopt``: access or drift as an edit of the manifests."""

import datetime
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli import options, questions
from reconciler.cli.change_options import Keeping, edit_options
from reconciler.cli.console import CommandError, Exit, info, out_json, progress
from reconciler.cli.notes import info_note
from reconciler.cli.questions import ResourceArgument
from reconciler.model.acl import ResourcePattern
from reconciler.model.characters import counted, safe
from reconciler.model.desired import Expiry
from reconciler.parts.edit.app.adopt import AdoptOptions, Difference, adopt
from reconciler.parts.edit.app.grant import AskedAccess, GrantTerms, grant, rename, revoke
from reconciler.parts.edit.cli.options import keep
from reconciler.results import OutputKind

if TYPE_CHECKING:
    from reconciler.parts.edit.app.editing import ManifestEdit


# Options of the commands that edit who may do what.

until_option = click.option(
    "--until",
    metavar="DATE",
    type=options.Until(),
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
    callback=lambda _, __, value: value or options.from_project("cluster", None)(),
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
    operations = (
        tuple(questions.asked_operation(word, pattern) for word in (operation or "").split(",")) if pattern else ()
    )
    return AskedAccess(questions.asked_principal(principal), operations, pattern, questions.asked_host(host))


def hand_over_grant(
    edit: "ManifestEdit", asked: AskedAccess, keeping: Keeping, *, output: str, extra: dict[str, Any] | None = None
) -> int:
    """Print, write or commit a grant; JSON has ``extra`` besides."""
    words = f"Grant {asked.principal} {','.join(operation.name for operation in asked.operations)} on {asked.pattern}"
    return keep(
        OutputKind.GRANT, edit, keeping, message=words, output=output, nothing="Nothing to change.", extra=extra
    )


@click.command("grant", short_help="Grant access by an edit of the manifests")
@questions.principal_argument
@questions.operation_argument
@questions.resource_argument
@click.option("--host", metavar="ADDRESS", help="Grant it to this client address only.  [default: every host]")
@until_option
@click.option("--reason", metavar="TEXT", help="Why; written next to the rule.")
@ticket_option
@options.path_option
@cluster_of_edit
@edit_options
@options.connection_options
@options.as_of_option
@options.output_option
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
    granted = grant(
        path or options.project_path(), cluster, asked, GrantTerms(until, reason, ticket), as_of, connection
    )
    note_edit(granted.notes)
    return hand_over_grant(granted.edit, asked, keeping, output=output)


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
@questions.principal_argument
@any_operation
@any_resource
@click.option("--host", metavar="ADDRESS", help="Revoke only what is for this client address.")
@options.path_option
@cluster_of_edit
@edit_options
@options.connection_options
@options.as_of_option
@options.output_option
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
    revoked = revoke(path or options.project_path(), cluster, asked, as_of, connection)
    note_edit(revoked.notes)
    return hand_over_revocation(revoked.edit, asked, keeping, output=output)


@click.command("rename", short_help="Rename a principal in two edits, without an outage")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--finish", is_flag=True, help="Second edit: take everything from OLD, which NEW has by now.")
@options.path_option
@edit_options
@options.connection_options
@options.as_of_option
@options.output_option
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
    renamed = rename(
        path or options.project_path(),
        questions.asked_principal(old),
        questions.asked_principal(new),
        finish=finish,
        as_of=as_of,
        connection=connection,
    )
    note_edit(renamed.notes)
    if not finish:
        note_edit(
            [f"apply this, move the clients to {new}, then take the old name away: the same command with --finish"]
        )
    words = f"Take everything from {old}, now {new}" if finish else f"Grant {new} what {old} has"
    return keep(OutputKind.RENAME, renamed.edit, keeping, message=words, output=output)


@click.command("adopt", short_help="Turn drift into an edit of the manifests")
@options.path_argument
@options.cluster_option()
@click.option("--all", "everything", is_flag=True, help="Keep every difference.  [default: ask about each]")
@click.option(
    "--only",
    multiple=True,
    metavar="FIELD=NAME",
    help="Keep only these, as in principals=User:svc-* or topics=payments.orders; leave those of FIELD!=NAME.",
)
@click.option("--reason", metavar="TEXT", help="Why; written next to what is new.  [default: adopted from …]")
@click.option("--ticket", metavar="ID", help="Where it was agreed; written next to what is new.")
@edit_options
@options.connection_options
@options.as_of_option
@options.output_option
def adopt_command(
    *,
    path: str,
    cluster: str | None,
    everything: bool,
    only: tuple[str, ...],
    reason: str | None,
    ticket: str | None,
    keeping: Keeping,
    connection: ConnectionOptions,
    as_of: datetime.date | None,
    output: str,
) -> int:
    """Make the manifests below PATH declare what a cluster has, for each difference that you keep.

    What you leave, the next apply reverts. Where you keep everything, plan then says "Nothing to do". You see what the
    edit does to declared access, and get a patch; --write writes it. Nothing is written to the cluster. Exit 2 if
    something that you keep cannot be declared.
    """
    selected = everything or bool(only)
    if not selected and not sys.stdin.isatty():
        advice = "give --all, or --only FIELD=NAME"
        raise CommandError("there is no terminal to ask on which differences to keep", advice, Exit.USAGE)
    adoption = adopt(
        path,
        cluster,
        _all if selected else _asked,
        AdoptOptions(only, reason, ticket, as_of),
        connection,
        tell=info_note,
    )
    for refused in adoption.refused:
        info(f"not adopted: {safe(refused.subject)}: {safe(refused.reason)}")
    if adoption.differences:
        differences = counted(adoption.differences, "difference")
        progress(f"{differences}, {adoption.kept:,} kept; a plan then finds {adoption.remaining or 'none'}")
    words = f"Adopt {counted(adoption.kept, 'difference')} of {cluster or 'the cluster'}"
    status = keep(OutputKind.ADOPT, adoption.edit, keeping, message=words, output=output, nothing="Nothing to adopt.")
    return Exit.DIFFERENT if adoption.refused else status


def _all(differences: Sequence[Difference]) -> Sequence[Difference]:
    return differences


def _asked(differences: Sequence[Difference]) -> Sequence[Difference]:
    """Those that a person keeps, one by one or from here on."""
    kept: list[Difference] = []
    for number, difference in enumerate(differences, 1):
        what = "only on the cluster" if difference.keeps else "only in the manifests"
        place = "" if difference.origin is None else f"  {safe(str(difference.origin))}"
        info(f"{number:,} of {len(differences):,}  {safe(str(difference))}  ({what}){place}")
        answer = click.prompt("Keep as the cluster has it?", type=click.Choice(["y", "n", "a", "q"]), err=True)
        if answer in ("a", "q"):
            return [*kept, *(differences[number - 1 :] if answer == "a" else ())]
        kept += [difference] if answer == "y" else []
    return kept
