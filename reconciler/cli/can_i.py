"""``reconciler can-i``: whether a principal may do something, on one name or on all that begin so."""

import sys

import click

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.app.states import access_views
from reconciler.cli.console import Exit, out, out_json, style_for
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
from reconciler.model.acl import ResourcePattern
from reconciler.results.output import OutputKind
from reconciler.show.questions import Answered, ask, can_i_document, can_i_lines


@click.command("can-i", short_help="Check whether a principal may do something")
@principal_argument
@operation_argument
@resource_argument
@host_option
@state_options()
def command(
    *,
    principal: str,
    operation: str,
    pattern: ResourcePattern,
    host: str | None,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Check whether PRINCIPAL may do OPERATION on RESOURCE.

    RESOURCE is topic/NAME, group/NAME and so on, or cluster; topic/payments.* is every name that begins so, topic/*
    every name. Yes means on every such name, and from every host without --host; no means on none.
    PRINCIPAL User:* is everybody. Without --cluster, the answer is about what is declared. Exit 3 unless it is yes.
    """
    wanted = asked_operation(operation, pattern)
    who, address = asked_principal(principal), asked_host(host)
    answers: list[Answered] = [
        ask(view, who, wanted, pattern, address) for view in access_views(request, connection, tell=info_note)
    ]
    if output == "json":
        out_json(OutputKind.CAN_I, can_i_document(answers))
    else:
        out(can_i_lines(answers, style_for(sys.stdout)))
    return Exit.OK if answers[-1].allowed else Exit.FAILED_CHECK
