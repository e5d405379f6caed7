"""``reconciler adopt``: drift becomes manifests."""

import datetime
import sys
from collections.abc import Sequence

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.change_options import Keeping, edit_options
from reconciler.cli.console import CommandError, Exit, info, progress
from reconciler.cli.notes import info_note
from reconciler.cli.options import as_of_option, cluster_option, connection_options, output_option, path_argument
from reconciler.model.characters import counted, safe
from reconciler.parts.edit.app.adopt import AdoptOptions, Difference, adopt
from reconciler.parts.edit.cli.options import keep
from reconciler.results.output import OutputKind


@click.command("adopt", short_help="Turn drift into an edit of the manifests")
@path_argument
@cluster_option()
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
@connection_options
@as_of_option
@output_option
def command(
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
    found = adopt(
        path,
        cluster,
        _all if selected else _asked,
        AdoptOptions(only, reason, ticket, as_of),
        connection,
        tell=info_note,
    )
    for refused in found.refused:
        info(f"not adopted: {safe(refused.subject)}: {safe(refused.reason)}")
    if found.found:
        progress(f"{counted(found.found, 'difference')}, {found.kept:,} kept; a plan then finds {found.left or 'none'}")
    words = f"Adopt {counted(found.kept, 'difference')} of {cluster or 'the cluster'}"
    status = keep(OutputKind.ADOPT, found.edit, keeping, message=words, output=output, nothing="Nothing to adopt.")
    return Exit.DIFFERENT if found.refused and status == Exit.OK else status


def _all(differences: Sequence[Difference]) -> Sequence[Difference]:
    return differences


def _asked(differences: Sequence[Difference]) -> Sequence[Difference]:
    """Those that a person keeps, one by one or from here on."""
    kept: list[Difference] = []
    for number, one in enumerate(differences, 1):
        what = "only on the cluster" if one.keeps else "only in the manifests"
        place = "" if one.origin is None else f"  {safe(str(one.origin))}"
        info(f"{number:,} of {len(differences):,}  {safe(str(one))}  ({what}){place}")
        answer = click.prompt("Keep as the cluster has it?", type=click.Choice(["y", "n", "a", "q"]), err=True)
        if answer in ("a", "q"):
            return [*kept, *(differences[number - 1 :] if answer == "a" else ())]
        kept += [one] if answer == "y" else []
    return kept
