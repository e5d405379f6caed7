"""``reconciler quota``: why a client is throttled, the quota that Kafka picks for it among all that fit."""

import sys

import click

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.app.quota import quota_views
from reconciler.cli.console import CommandError, Exit, out, out_json, settings, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.questions import asked_principal, state_options
from reconciler.results.output import OutputKind
from reconciler.show.quota import Client, quota_document, quota_lines, quota_table


@click.command("quota", short_help="Explain which quotas limit a client")
@click.argument("principal", metavar="[PRINCIPAL]", required=False)
@click.option("--client-id", metavar="ID", default="", help="The client id.  [default: none]")
@click.option("--host", "ip", metavar="ADDRESS", help="Instead of PRINCIPAL: the address that connections come from.")
@state_options("answers.limits", past=False)
def command(
    *,
    principal: str | None,
    client_id: str,
    ip: str | None,
    request: StateRequest,
    connection: ConnectionOptions,
    output: str,
) -> int:
    """Explain which quotas limit the clients of PRINCIPAL, or the connections from an address.

    For each key, Kafka takes the first level that sets it (KIP-55): the quota that wins comes first, then those that it
    overrides. Without --cluster, the answer is about what is declared.
    """
    if (principal is None) == (ip is None) or (ip is not None and client_id):
        raise CommandError("say PRINCIPAL, perhaps with --client-id, or --host", status=Exit.USAGE)
    client = Client(None if principal is None else asked_principal(principal), client_id, ip)
    views = quota_views(request, connection, tell=info_note)
    if output == "json":
        out_json(OutputKind.QUOTA, (quota_table if settings.table else quota_document)(views, client))
    else:
        out(quota_lines(views, client, style_for(sys.stdout)))
    return Exit.OK
