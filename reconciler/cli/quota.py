"""``reconciler quota``: why a client is throttled, the quota that Kafka picks for it among all that fit."""

from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.console import out, out_json
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.questions import asked_principal, state_options
from reconciler.workflow.options import ConnectionOptions, StateRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.model import QuotaEntity
    from reconciler.workflow.states import QuotaState


@click.command("quota", short_help="Explain which quotas limit a client")
@click.argument("principal", metavar="[PRINCIPAL]", required=False)
@click.option("--client-id", metavar="ID", default="", help="The client id.  [default: none]")
@click.option("--ip", metavar="ADDRESS", help="Instead of PRINCIPAL: the address that connections come from.")
@state_options
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
    if (principal is None) == (ip is None) or (ip is not None and client_id) or request.plan is not None:
        raise CommandError(
            "say PRINCIPAL, perhaps with --client-id, or --ip; --plan is not supported", status=Exit.USAGE
        )
    from reconciler.cli.notes import info_note
    from reconciler.model import QUOTA_KEYS, levels, levels_of_ip
    from reconciler.report.style import safe
    from reconciler.workflow.states import quota_state

    user = None if principal is None else asked_principal(principal).partition(":")[2]
    candidates = list(levels(user, client_id) if user is not None else levels_of_ip(ip or ""))
    state = quota_state(request, connection, tell=info_note)
    found = [
        (key, _setting(state, candidates, key)) for key, about in QUOTA_KEYS.items() if about.of_ip == (ip is not None)
    ]
    who = f"address {ip}" if ip is not None else f"{principal}{f' with client id {client_id}' if client_id else ''}"
    if output == "json":
        out_json({"cluster": state.cluster, "client": who, "limits": [_document(*item) for item in found]})
    else:
        out([f"{safe(who)} on cluster {state.cluster}{'' if state.live else ' (as declared)'}:", *_lines(found)])
    return Exit.OK


def _setting(state: "QuotaState", candidates: "Sequence[QuotaEntity]", key: str) -> list[tuple[str, float, str | None]]:
    """Entity, value and place of each level that sets a key, the one that wins first."""
    by_entity = {quota.entity: quota for quota in state.quotas}
    fitting = [by_entity[entity] for entity in candidates if entity in by_entity and key in by_entity[entity].values]
    return [(str(one.entity), one.values[key], state.places.get(one.entity)) for one in fitting]


def _document(key: str, found: list[tuple[str, float, str | None]]) -> dict[str, Any]:
    levels = [{"entity": entity, "value": value, "origin": place} for entity, value, place in found]
    return {"key": key, "quota": levels[0] if levels else None, "overrides": levels[1:]}


def _lines(found: list[tuple[str, list[tuple[str, float, str | None]]]]) -> list[str]:
    from reconciler.report.kinds.quota import limit
    from reconciler.report.style import safe

    lines = []
    for key, levels in found:
        if not levels:
            lines.append(f"  {key}: unlimited")
        for number, (entity, value, place) in enumerate(levels):
            lead = f"  {key} = {limit(key, value)} by" if number == 0 else f"    overrides {limit(key, value)} by"
            lines.append(f"{lead} {safe(entity)}{f'  {safe(place)}' if place else ''}")
    return lines
