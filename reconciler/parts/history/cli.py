"""``reconciler history``: since when and until when something held on a cluster, and by whose doing."""

import datetime

import click

from reconciler.cli.console import Exit, info, out, out_json
from reconciler.cli.options import Since, listing_option
from reconciler.cli.questions import one_topic_and_principal
from reconciler.parts.history.app import HELD, Doing, HistoryQuestion, PastSources, ask_history
from reconciler.parts.history.show import held_lines
from reconciler.results.output import OutputKind


@click.command("history", short_help="Show since when access has been there, and by whose doing")
@click.argument("subjects", metavar="[topic/NAME|PRINCIPAL]...", nargs=-1)
@click.option("-c", "--cluster", metavar="NAME", required=True, help="The cluster, as the store names it.")
@click.option("--store", metavar="PLACE", required=True, help="The readings that serve --store or fleet snapshot keep.")
@click.option("--audit", metavar="FILE", multiple=True, help="An audit log of runs on the cluster; repeatable.")
@click.option(
    "--logs",
    metavar="PLACE",
    multiple=True,
    help="Authorizer logs, as of usage: who altered the cluster, last use.",
)
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
        "LAST USED": "lastUsed",
        "TICKET": "ticket",
    },
)
def command(
    *,
    subjects: tuple[str, ...],
    cluster: str,
    store: str,
    audit: tuple[str, ...],
    logs: tuple[str, ...],
    since: datetime.datetime | None,
    by: str | None,
    output: str,
) -> int:
    """Show when access, topics, quotas and users of a cluster began and ended, and by whose doing.

    With topic/NAME or PRINCIPAL, only what is about them, and ACLs whose pattern covers the topic. Readings show what
    was there; audit logs show which run changed it, who proposed and who approved it. Where no run has a record, it was
    by hand, or by a run whose log is not given.
    """
    topic, principal = one_topic_and_principal(subjects)
    question = HistoryQuestion(topic, principal, since, Doing(by) if by is not None else None)
    found, basis, notes = ask_history(PastSources(store, audit, logs), cluster, question)
    if output == "json":
        out_json(OutputKind.HISTORY, {"basis": basis, "notes": list(notes), "held": [HELD.write(one) for one in found]})
    else:
        out([basis, *held_lines(found)])
    for note in notes:
        info(f"note: {note}")
    return Exit.OK
