"""``reconciler reach``: as whom a principal could act, by which rights, and what it gets so."""

import sys

import click

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.app.reach import reach
from reconciler.cli.console import CommandError, Exit, out, out_json, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.questions import asked_principal, principal_argument, state_options
from reconciler.model.acl import WILDCARD_PRINCIPAL
from reconciler.results.output import OutputKind
from reconciler.show.questions import reach_document, reach_lines


@click.command("reach", short_help="List as whom a principal could act, and what it gets so")
@principal_argument
@click.option("--hops", type=click.IntRange(0), metavar="N", help="Follow at most N hops.  [default: all]")
@state_options()
def command(
    *, principal: str, hops: int | None, request: StateRequest, connection: ConnectionOptions, output: str
) -> int:
    """List as whom PRINCIPAL could act, by which rights, and what each of these principals may do.

    This is what a stolen credential is worth. A hop is a right to act as somebody else: CREATE_TOKENS or
    DESCRIBE_TOKENS on a user, ALTER, ALTER_CONFIGS or CLUSTER_ACTION on the cluster, and WRITE on a control topic that
    AccessTests declare. Records could be moved where others may READ one topic and WRITE another; nobody says that they
    are. Without --cluster, the answer is about what is declared.
    """
    who = asked_principal(principal)
    if who == WILDCARD_PRINCIPAL:
        raise CommandError("User:* is nobody", "name a principal", Exit.USAGE)
    answers = reach(request, who, hops, connection, tell=info_note)
    if output == "json":
        out_json(OutputKind.REACH, reach_document(answers))
    else:
        out(reach_lines(answers, style_for(sys.stdout)))
    return Exit.OK
