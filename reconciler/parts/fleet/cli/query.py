"""``reconciler fleet query``: questions about a whole fleet, ready-made or in SQL.

Most is imported while Spark starts.
"""

import shlex
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import click

from reconciler.app.connections import as_operator_says
from reconciler.app.manifests import load
from reconciler.app.options import ConnectionOptions
from reconciler.cli.console import CommandError, Exit, error, out, out_json
from reconciler.cli.options import listing_option, path_argument
from reconciler.cli.questions import asked_operation, asked_pattern
from reconciler.parts.fleet.cli.fleet import (
    SparkOptions,
    facts_option,
    run_option,
    session_for,
    spark_options,
    store_option,
)
from reconciler.results.output import OutputKind
from reconciler.show.fleet import table_lines

if TYPE_CHECKING:
    from reconciler.parts.fleet.app.access import WhoCan
    from reconciler.parts.fleet.app.query import FleetAnswer, FleetBasis

#: The options that are a question each.
_QUESTIONS: Final = ("sql", "who_can", "outliers", "furthest", "undeclared", "since", "blast_radius")


@click.command("query", short_help="Query the whole fleet")
@path_argument
@store_option
@run_option
@click.option(
    "--sql",
    metavar="TEXT",
    help="SQL over clusters, bindings, topics, configs, changes, access and, with --since, moved.",
)
@click.option(
    "--who-can", metavar="'OPERATION TYPE NAME'", help="Who may do this on any cluster, as in 'WRITE topic orders'."
)
@click.option("--outliers", is_flag=True, help="Bindings that few clusters have, or few lack.")
@click.option(
    "--by-label", metavar="LABEL", help="With --outliers: compare clusters with the same value of this label."
)
@click.option(
    "--rare",
    type=click.IntRange(0, 49),
    default=2,
    show_default=True,
    help="With --outliers: what counts as few, in percent.",
)
@click.option("--furthest", is_flag=True, help="Clusters with the largest share of differences, from the last drift.")
@click.option("--undeclared", is_flag=True, help="Access that no manifest declares, from the last drift.")
@click.option("--since", metavar="RUN", help="What changed since that run ('previous' for the run before).")
@click.option("--blast-radius", is_flag=True, help="Principals by how far they reach, DENYs included.")
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="Maximum number of rows.")
@facts_option
@spark_options
@listing_option("rows")
def command(
    *,
    path: str,
    store: str,
    run_id: str | None,
    connections: str | None,
    spark: SparkOptions,
    output: str,
    **asked: Any,
) -> int:
    """Answer one question from a snapshot of the fleet. Clusters that could not be read are always named.

    PATH's Cluster documents supply labels, super users and allowEveryoneIfNoAclFound. Access that rests on what only
    they say is not certain; with --connections, the operator's word counts.
    """
    given = {name for name in _QUESTIONS if asked[name]}
    if len(given) != 1 and given != {"sql", "since"}:
        raise CommandError("ask one question", "give one of --sql, --who-can, --outliers and so on", Exit.USAGE)
    # A ranking of what was compared needs no Spark, which takes seconds to start.
    of_access = asked["who_can"] is not None or asked["blast_radius"]
    with nullcontext() if asked["furthest"] else session_for(spark, store, workers=of_access) as session:
        from reconciler.parts.fleet.app.query import FleetQuestion, ask_fleet, basis_of, furthest
        from reconciler.parts.fleet.spark.tables import store_at

        who_can = None if asked["who_can"] is None else _who_can(asked["who_can"])
        question = FleetQuestion(**{**asked, "who_can": who_can})
        place, manifests = store_at(store), as_operator_says(load(path), path, ConnectionOptions(connections))
        basis = basis_of(place, run_id, manifests, question)
        if session is not None:
            answer = ask_fleet(session(), place, basis, manifests, question)
        elif basis.drift is not None:
            answer = furthest(basis.drift, question.limit)
    if output == "json":
        out_json(OutputKind.FLEET_QUERY, _document(basis, answer))
    else:
        out(table_lines(answer.columns, answer.rows), whole=True)
    _tell_gaps(basis, answer)
    return Exit.OK


def _document(basis: "FleetBasis", answer: "FleetAnswer") -> dict[str, Any]:
    return {
        "run": basis.run.id,
        "columns": answer.columns,
        "rows": answer.rows,
        "more": answer.more,
        "unread": sorted(basis.unread.union(answer.unjudged)),
    }


def _tell_gaps(basis: "FleetBasis", answer: "FleetAnswer") -> None:
    """Everything that the answer lacks: an absent row must never look like an absent ACL."""
    for cluster, reason in answer.unjudged.items():
        error(f"without {cluster}: its access is not known: {reason}")
    if answer.read_once:
        error(f"without {', '.join(answer.read_once)}: read in one of the two runs only")
    if answer.more:
        error(f"there are more rows than these {len(answer.rows):,}", "--limit shows more")
    if basis.unread:
        error(f"without {', '.join(sorted(basis.unread))}: not known in run {basis.run.id}")
    for item in basis.run.readings:
        if item.acl_gap:
            error(f"{item.cluster}: the ACL listing may not be whole: {item.acl_gap}")


def _who_can(text: str) -> "WhoCan":
    """``OPERATION TYPE NAME`` as a question; a name that ends with ``*`` is a prefix."""
    from reconciler.parts.fleet.app.access import WhoCan

    words = shlex.split(text)
    if len(words) < 2:
        raise CommandError(
            f"--who-can {text!r}: write 'OPERATION TYPE NAME', as in 'WRITE topic orders'", status=Exit.USAGE
        )
    name = words[2] if len(words) > 2 else None
    prefix = name is not None and name.endswith("*") and name != "*"
    pattern = asked_pattern(words[1], name.rstrip("*") if name and prefix else name, prefix=prefix, any_name=False)
    return WhoCan(asked_operation(words[0], pattern), pattern)
