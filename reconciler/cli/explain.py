"""``reconciler explain``: why one request is allowed or denied, with everything that bears on it."""

import sys

import click

from reconciler.cli.console import out, out_json, style_for
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.questions import (
    asked_host,
    asked_operation,
    asked_pattern,
    asked_principal,
    name_argument,
    operation_argument,
    principal_argument,
    state_options,
    type_argument,
)
from reconciler.workflow.options import ConnectionOptions, StateRequest


@click.command("explain", short_help="Explain why a request is allowed or denied")
@principal_argument
@operation_argument
@type_argument
@name_argument
@click.option("--host", metavar="ADDRESS", help="Client address.  [default: an address that no ACL names]")
@state_options
def command(
    *,
    principal: str,
    operation: str,
    resource_type: str,
    name: str | None,
    host: str | None,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Explain why PRINCIPAL may or may not do OPERATION on the TYPE called NAME.

    Shows the rule, the deciding ACL and its line, and every ACL on the name with its effect on this request. Without
    --cluster, the answer is about what is declared. “reconciler quota PRINCIPAL” explains why a client is throttled.
    """
    pattern = asked_pattern(resource_type, name)
    wanted = asked_operation(operation, pattern)
    who, address = asked_principal(principal), asked_host(host)
    if who == "User:*":
        raise CommandError(
            "User:* is not a principal: a request comes from one principal", "ask can-i User:*", Exit.USAGE
        )
    from reconciler.cli.notes import info_note
    from reconciler.report.questions_text import explain_document, explain_lines, explained
    from reconciler.workflow import access_views

    found = [
        (view, explained(view.authorizer, who, wanted, pattern, address))
        for view in access_views(request, connection, tell=info_note)
    ]
    if output == "json":
        out_json(explain_document(found))
    else:
        out(explain_lines(found, style_for(sys.stdout)))
    return Exit.OK
