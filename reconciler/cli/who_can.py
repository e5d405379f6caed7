"""``reconciler who-can``: everybody who may do something, on which names and from where."""

import sys

import click

from reconciler.access.effective import who_can
from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.app.states import access_views
from reconciler.cli.console import Exit, out, out_json, settings, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.questions import (
    asked_operation,
    operation_argument,
    resource_argument,
    state_options,
)
from reconciler.model.acl import AclOperation, ResourcePattern, ResourceType
from reconciler.results.output import OutputKind
from reconciler.show.access import holders_document, holders_lines, holders_table
from reconciler.show.words import with_condition


@click.command("who-can", short_help="List who may do something")
@operation_argument
@resource_argument
@state_options("states.holders", "states.lacking", "states.clusterAdmins", "states.superUsers=principal")
def command(
    *,
    operation: str,
    pattern: ResourcePattern,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """List who may do OPERATION on RESOURCE, such as topic/payments.orders.

    With topic/payments.* or topic/*, on some of these names, and on which: whoever is not listed gets a no from can-i.
    Principals that may ALTER the cluster, or its configs, could get it by themselves and are listed separately. Without
    --cluster, the answer is about what is declared.
    """
    wanted = asked_operation(operation, pattern)
    groups = wanted is AclOperation.READ and pattern.resource_type in (ResourceType.TOPIC, ResourceType.GROUP)
    found = [
        with_condition(view, lambda one: who_can(one.authorizer, wanted, pattern))
        for view in access_views(request, connection, groups=groups, tell=info_note)
    ]
    if output == "json":
        made = holders_table if settings.table else holders_document
        out_json(OutputKind.WHO_CAN, made(wanted, pattern, found))
    else:
        out(holders_lines(wanted, pattern, found, style_for(sys.stdout)))
    return Exit.OK
