"""``reconciler history``: since when and until when something held on a cluster, and by whose doing."""

import datetime

import click

from reconciler.cli.console import CommandError, Exit, info, out, out_json
from reconciler.cli.options import Since, listing_option
from reconciler.parts.history.app import HELD, Doing, HistoryQuestion, PastSources, ask_history
from reconciler.parts.history.show import held_lines
from reconciler.results.output import OutputKind


@click.command("history", short_help="Show since when access has been there, and by whose doing")
@click.argument("kind", metavar="[topic|principal]", required=False, type=click.Choice(["topic", "principal"]))
@click.argument("name", metavar="[NAME]", required=False)
@click.option("-c", "--cluster", metavar="NAME", required=True, help="The cluster, as the store names it.")
@click.option("--store", metavar="PLACE", required=True, help="The readings that serve --store or fleet snapshot keep.")
@click.option("--audit", metavar="FILE", multiple=True, help="An audit log of runs on the cluster; repeatable.")
@click.option("--logs", metavar="PLACE", multiple=True, help="Authorizer logs, as of usage: who altered the cluster.")
@click.option("--topic", metavar="NAME", help="Only what is about this topic, and ACLs whose pattern covers it.")
@click.option("--principal", metavar="PRINCIPAL", help="Only what is about this principal.")
@click.option(
    "--since", metavar="TIME", type=Since(), help="Only what still held at this day, instant, or time ago (90d)."
)
@click.option(
    "--by",
    type=click.Choice(["run", "hand"]),
    help="Only what began or ended by a run of an audit log, or by none: by hand, or by a run whose log is not given.",
)
@listing_option(
    "held",
    columns={
        "WHAT": "what",
        "SINCE": "began.exactly",
        "EARLIEST": "began.after",
        "LATEST": "began.before",
        "UNTIL": "ended.exactly",
        "ENDED EARLIEST": "ended.after",
        "ENDED LATEST": "ended.before",
        "BEGAN BY": "began.run began.operator",
        "APPROVED BY": "began.approvedBy",
        "ENDED BY": "ended.run ended.operator",
        "TICKET": "ticket",
    },
)
def command(
    *,
    kind: str | None,
    name: str | None,
    cluster: str,
    store: str,
    audit: tuple[str, ...],
    logs: tuple[str, ...],
    topic: str | None,
    principal: str | None,
    since: datetime.datetime | None,
    by: str | None,
    output: str,
) -> int:
    """Show when access, topics, quotas and users of a cluster began and ended, and by whose doing.

    As in: history topic payments.orders --cluster prod --store readings --audit audit.jsonl. Readings show what was
    there; audit logs show which run changed it, who proposed and who approved it. Where no run has a record, it was by
    hand, or by a run whose log is not given.
    """
    if (kind is None) is not (name is None):
        raise CommandError("history topic NAME, or history principal NAME", "", Exit.USAGE)
    if (kind == "topic" and topic) or (kind == "principal" and principal):
        raise CommandError(f"the {kind} is named twice", "", Exit.USAGE)
    question = HistoryQuestion(
        name if kind == "topic" else topic,
        name if kind == "principal" else principal,
        since,
        Doing(by) if by is not None else None,
    )
    found, basis, notes = ask_history(PastSources(store, audit, logs), cluster, question)
    if output == "json":
        out_json(OutputKind.HISTORY, {"basis": basis, "notes": list(notes), "held": [HELD.write(one) for one in found]})
    else:
        out([basis, *held_lines(found)])
    for note in notes:
        info(f"note: {note}")
    return Exit.OK
