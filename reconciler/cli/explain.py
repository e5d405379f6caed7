"""``reconciler explain``: why one request is allowed or denied, with everything that bears on it."""

import sys
from dataclasses import replace

import click

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.app.quota import quota_views
from reconciler.app.states import access_views
from reconciler.cli.console import CommandError, Exit, out, out_json, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.questions import (
    asked_host,
    asked_operation,
    asked_principal,
    host_option,
    operation_argument,
    principal_argument,
    resource_argument,
    state_options,
)
from reconciler.model.acl import WILDCARD, PatternType, ResourcePattern
from reconciler.results.output import OutputKind
from reconciler.show.questions import ask, explain_document, explain_lines
from reconciler.show.quota import Client, ClientLimits


@click.command("explain", short_help="Explain why a request is allowed or denied")
@principal_argument
@operation_argument
@resource_argument
@host_option
@click.option("--client-id", metavar="ID", help="Also explain which quotas limit PRINCIPAL with this client id.")
@state_options()
def command(
    *,
    principal: str,
    operation: str,
    pattern: ResourcePattern,
    host: str | None,
    client_id: str | None,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Explain why PRINCIPAL may or may not do OPERATION on RESOURCE, such as topic/payments.orders.

    The answer is that of can-i, with the rule, the deciding ACL and its line, and every ACL on the name. Without
    --cluster, it is about what is declared. With --client-id, also why this client is throttled: the quota that
    Kafka picks for each limit, and those that it overrides ("" for a client without an id).
    """
    _check_one_name(pattern)
    wanted = asked_operation(operation, pattern)
    who, address = asked_principal(principal), asked_host(host)
    if who == "User:*":
        raise CommandError(
            "User:* is not a principal: a request comes from one principal", "ask can-i User:*", Exit.USAGE
        )
    views = access_views(request, connection, beside=True, tell=info_note)
    found = [ask(view, who, wanted, pattern, address) for view in views]
    if client_id is not None:
        client = Client(who, client_id)
        states = quota_views(request, connection)  # what there is to note was noted with the first reading
        found = [replace(one, limits=ClientLimits(view, client)) for one, view in zip(found, states, strict=True)]
    if output == "json":
        out_json(OutputKind.EXPLAIN, explain_document(found))
    else:
        out(explain_lines(found, style_for(sys.stdout)))
    return Exit.OK


def _check_one_name(pattern: ResourcePattern) -> None:
    if pattern.name == WILDCARD or pattern.pattern_type is PatternType.PREFIXED:
        raise CommandError("a request is about one name", "give its name, or ask can-i", Exit.USAGE)
