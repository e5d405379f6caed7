"""``reconciler access``: everything that principals may do, as a list or as a matrix of principals and resources."""

import sys

import click

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.app.states import access_views
from reconciler.cli.console import CommandError, Exit, out, out_json, settings, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.questions import TYPES, asked_principal, state_options
from reconciler.model.acl import ResourceType
from reconciler.results.output import OutputKind
from reconciler.show.access import access_documents, access_lines, access_table, holdings
from reconciler.show.matrix import matrix_document, matrix_lines, matrix_of, matrix_table
from reconciler.show.words import with_condition


@click.command("access", short_help="List everything that principals may do")
@click.argument("principals", metavar="[PRINCIPAL]...", nargs=-1)
@click.option("--matrix", is_flag=True, help="Print a table: resources down, principals across.")
@click.option(
    "--type",
    "resource_type",
    type=click.Choice(TYPES, case_sensitive=False),
    help="Only resources of this type.  [default: all; with --matrix: topic]",
)
@state_options("states.principals.access")
def command(
    *,
    principals: tuple[str, ...],
    matrix: bool,
    resource_type: str | None,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """List everything that each PRINCIPAL may do; without one, every known principal and everybody else.

    Access through User:* and the default is included. Without --cluster, the answer is about what is declared.
    """
    who = tuple(asked_principal(principal) for principal in principals)
    if "User:*" in who:
        raise CommandError("User:* is nobody", "omit PRINCIPAL: everybody else has a section", Exit.USAGE)
    kind = ResourceType[resource_type.upper().replace("-", "_")] if resource_type else None
    names = matrix and kind in (None, ResourceType.TOPIC)
    found = access_views(request, connection, topic_names=names, beside=not matrix, groups=not matrix, tell=info_note)
    style = style_for(sys.stdout)
    if matrix:
        tables = [with_condition(view, lambda one: matrix_of(one, kind or ResourceType.TOPIC, who)) for view in found]
        if output == "json":
            out_json(OutputKind.ACCESS_MATRIX, matrix_table(tables) if settings.table else matrix_document(tables))
        else:
            out(matrix_lines(tables, style), whole=True)
        return Exit.OK
    held = [with_condition(view, lambda one: holdings(one, who, kind)) for view in found]
    if output == "json":
        out_json(OutputKind.ACCESS, access_table(held) if settings.table else access_documents(held))
    else:
        out(access_lines(held, style))
    return Exit.OK
