"""``reconciler history``: since when and until when something held on a cluster, and by whose doing."""

import datetime
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import click

from reconciler.cli.console import Exit, info, out, out_json
from reconciler.cli.options import Since, listing_option
from reconciler.cli.questions import one_topic_and_principal
from reconciler.model.acl import AclBinding
from reconciler.model.characters import safe
from reconciler.parts.history.app import (
    HELD,
    Doing,
    HeldFact,
    HistoryQuestion,
    PastSources,
    Turn,
    ask_history,
    since_when,
)
from reconciler.results import OutputKind


def held_lines(held: Sequence[HeldFact]) -> Iterator[str]:
    """Each fact with its begin and its end, a line each; then how many there are."""
    for fact in held:
        yield safe(fact.what + (f"  [{fact.ticket}]" if fact.ticket else ""))
        yield safe(f"    since {_words(fact.began)}" if fact.began else "    since before the first reading")
        if fact.ended is not None:
            dated = fact.ended.exactly or fact.ended.after or fact.ended.before
            yield safe(f"    ended {_words(fact.ended)}" if dated else "    perhaps ended since")
        if fact.use_known:
            yield f"    last used {fact.last_used}" if fact.last_used else "    not used, as far as the logs go"
    yield f"{len(held)} {'interval' if len(held) == 1 else 'intervals'}."


def _words(turn: Turn) -> str:
    if turn.exactly is not None:
        when = turn.exactly
    elif turn.before is None:
        when = f"after {turn.after}, or not yet"
    elif turn.after is None:
        when = f"before {turn.before}"
    else:
        when = f"between {turn.after} and {turn.before}"
    return ", ".join([when, *_whose(turn)])


def _whose(turn: Turn) -> Iterator[str]:
    if turn.run is None:
        yield "by hand: no run has a record"
        if turn.altered_by:
            yield f"brokers' logs of these days show ALTER on the cluster by {', '.join(turn.altered_by)}"
        return
    yield f"{'' if turn.sure else 'perhaps '}by run {turn.run}" + (f" of {turn.operator}" if turn.operator else "")
    if turn.proposer is not None:
        yield f"proposed by {turn.proposer}"
    if turn.approved_by:
        yield f"approved by {', '.join(turn.approved_by)}"
    if turn.break_glass is not None:
        over = f" over {', '.join(f'“{name}”' for name in turn.overrode)}" if turn.overrode else ""
        yield f"as break-glass access until {turn.break_glass}{over}"
    yield from (f"{word} {value}" for word, value in (("commit", turn.commit), ("see", turn.url)) if value)


def since_lines(held: Sequence[HeldFact], undeclared: Collection[str]) -> Iterator[str]:
    """Since when differences are there, for a report of drift; of the facts, those ``undeclared`` are there now."""
    yield "Since when"
    for fact in held:
        if fact.what not in undeclared:
            gone = fact.ended is not None and (fact.ended.exactly or fact.ended.after or fact.ended.before)
            when = f"gone since {_words(fact.ended)}" if fact.ended and gone else "gone since the last reading"
        elif fact.ended is not None and (fact.ended.exactly or fact.ended.before):
            when = "there again since the last reading"
        else:
            when = f"there since {_words(fact.began)}" if fact.began else "there since before the first reading"
        yield safe(f"  {fact.what}: {when}")


def drift_since(
    sources: PastSources, cluster: str, undeclared: Collection[AclBinding], missing: Collection[AclBinding]
) -> tuple[list[str], list[Any]]:
    """The lines, and the same for programs."""
    differing = {*undeclared, *missing}
    held = since_when(sources, cluster, differing).held
    unseen = len(differing) - len(held)
    more = [f"  {unseen} of the ACLs that differ are in no reading yet"] if unseen else []
    return [*since_lines(held, set(map(str, undeclared))), *more], [HELD.write(fact) for fact in held]


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
    held, basis, notes = ask_history(PastSources(store, audit, logs), cluster, question)
    if output == "json":
        out_json(
            OutputKind.HISTORY, {"basis": basis, "notes": list(notes), "held": [HELD.write(fact) for fact in held]}
        )
    else:
        out([basis, *held_lines(held)])
    for note in notes:
        info(f"note: {note}")
    return Exit.OK
