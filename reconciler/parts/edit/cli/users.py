"""``reconciler users``: the logins of people and services, as edits of the manifests."""

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.change_options import Keeping, edit_options
from reconciler.cli.console import write
from reconciler.cli.options import connection_options, output_option, path_option, project_path
from reconciler.cli.questions import asked_principal, principal_argument
from reconciler.model.characters import shell_quoted
from reconciler.parts.edit.app import users
from reconciler.parts.edit.app.grant import GrantTerms
from reconciler.parts.edit.app.users import disable as disabled
from reconciler.parts.edit.cli.grant import cluster_of_edit, note_edit
from reconciler.parts.edit.cli.options import keep
from reconciler.results import OutputKind

_reason = click.option("--reason", metavar="TEXT", help="Why; written next to the user.")
_ticket = click.option("--ticket", metavar="ID", help="Where it was agreed; written next to the user.")


@click.group("users", short_help="Make passwords of SCRAM users, disable users")
def command() -> None:
    """SCRAM users: edits of the Users documents, which plan and apply send to the cluster."""


@command.command("disable", short_help="Let nobody log in as a user, by an edit of the manifests")
@principal_argument
@_reason
@_ticket
@path_option
@cluster_of_edit
@edit_options
@connection_options
@output_option
def disable(
    *,
    principal: str,
    reason: str | None,
    ticket: str | None,
    path: str | None,
    cluster: str | None,
    keeping: Keeping,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Declare that PRINCIPAL is disabled: apply gives each of its credentials a random password that nobody knows.

    Without --cluster, wherever PRINCIPAL is declared. The references to its passwords stay in the file. You get a
    patch; --write writes it. No cluster is contacted: plan and apply the edit.
    """
    terms = GrantTerms(None, reason, ticket)
    edited = disabled(path or project_path(), cluster, asked_principal(principal), terms, connection)
    note_edit((*edited.notes, _to_send(principal, path, cluster)) if edited.edit.files else ())
    return keep(
        OutputKind.USERS_DISABLE,
        edited.edit,
        keeping,
        message=f"Disable {principal}",
        output=output,
        nothing="It is disabled already.",
    )


@command.command("generate", short_help="Make a password, and refer to it in the manifests")
@principal_argument
@click.option(
    "--out",
    "file",
    metavar="FILE",
    required=True,
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the password to FILE, mode 0600; - prints it, without a line break, for a secret manager to read, and "
    "needs --reference.",
)
@click.option(
    "--reference",
    metavar="REFERENCE",
    help="What the manifests say: ${env:NAME}, ${file:PATH:KEY} or ${dir:DIR:FILE}.  [default: FILE's]",
)
@click.option("--overwrite", is_flag=True, help="Replace the password in FILE.")
@click.option(
    "--mechanism",
    type=click.Choice(("SCRAM-SHA-256", "SCRAM-SHA-512")),
    help="Only this one.  [default: those declared; of a new user SCRAM-SHA-512]",
)
@_reason
@_ticket
@path_option
@cluster_of_edit
@edit_options
@connection_options
def generate(
    *,
    principal: str,
    file: str,
    reference: str | None,
    overwrite: bool,
    mechanism: str | None,
    reason: str | None,
    ticket: str | None,
    path: str | None,
    cluster: str | None,
    keeping: Keeping,
    connection: ConnectionOptions,
) -> int:
    """Make a password for PRINCIPAL, store it, and declare the reference to it with the next version.

    Without --write or --branch you get the patch, and no password is made. No cluster is contacted: plan and apply the
    edit, and the password is set.
    """
    to_stdout = file == "-"
    place, terms = users.PasswordPlace(None if to_stdout else file, reference), GrantTerms(None, reason, ticket)
    where = path or project_path()
    edited = users.generate(where, cluster, asked_principal(principal), place, terms, connection, mechanism=mechanism)
    note_edit((*edited.notes, _to_send(principal, path, cluster)))
    message = f"New password of {principal}"
    if not keeping.write and not keeping.branch:
        return keep(None, edited.edit, keeping, message=message)
    password = users.new_password()
    with users.kept_password(password, place, overwrite=overwrite) as publish:
        status = keep(None, edited.edit, keeping, message=message)
        publish()
    if to_stdout:
        write(password)
    return status


def _to_send(principal: str, path: str | None, cluster: str | None) -> str:
    """How the edit of one user gets to the cluster, alone."""
    words = ["reconciler", "apply", *(["--path", path] if path else []), *(["--cluster", cluster] if cluster else [])]
    return f"to send it: {' '.join(map(shell_quoted, (*words, '--only', f'principals={principal}')))}"
