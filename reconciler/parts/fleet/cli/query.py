"""``reconciler fleet query``: questions about a whole fleet, ready-made or in SQL.

Most is imported while Spark starts.
"""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import click

from reconciler.app.connections import as_operator_says
from reconciler.app.manifests import load
from reconciler.app.options import ConnectionOptions
from reconciler.cli.console import Exit, error, out, out_json
from reconciler.cli.options import gathered, listing_option, path_option, project_path, with_options
from reconciler.cli.questions import asked_operation, operation_argument, resource_argument
from reconciler.dataclass import dataclass
from reconciler.model.acl import ResourcePattern
from reconciler.parts.fleet.cli import fleet
from reconciler.parts.fleet.engine import EVALUATED_IN_A_TASK, ROWS_IN_A_TASK
from reconciler.results import OutputKind
from reconciler.show.fleet_report import table_lines

if TYPE_CHECKING:
    from reconciler.parts.fleet.app.query import FleetAnswer, FleetBasis


@dataclass(frozen=True, slots=True)
class _Asked:
    """Of which run is asked, by whose word, and how much is answered."""

    path: str | None = None
    store: str = ""
    run_id: str | None = None
    limit: int = 1000
    connections: str | None = None


_ASKED: Final = with_options(
    (
        *gathered(
            "asked",
            _Asked,
            path_option,
            fleet.store_option,
            fleet.run_option,
            click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="Maximum rows."),
            fleet.facts_option,
        ),
        fleet.spark_options,
        listing_option("rows"),
    )
)


@click.group("query", short_help="Query the whole fleet")
def command() -> None:
    """Answer one question from a snapshot of the fleet. Clusters that could not be read are always named.

    The Cluster documents of the manifests supply labels, super users and allowEveryoneIfNoAclFound. Access that rests
    on what only they say is not certain; with --connections, the operator's word counts.
    """


@command.command("who-can", short_help="Who may do something, on which cluster")
@operation_argument
@resource_argument
@_ASKED
def _who_can(*, operation: str, pattern: ResourcePattern, **how: Any) -> int:
    """List who may do OPERATION on RESOURCE, such as topic/payments.orders, on any cluster, by Kafka's own rules."""
    wanted = asked_operation(operation, pattern)
    return _answer({"who_can": (wanted, pattern)}, **how)


@command.command("outliers", short_help="ACLs that few clusters have, or few lack")
@click.option("--by", metavar="LABEL", help="Compare clusters with the same value of this label.")
@click.argument("rare", metavar="[PERCENT]", type=click.IntRange(0, 49), default=2)
@_ASKED
def _outliers(*, by: str | None, rare: int, **how: Any) -> int:
    """List the ACLs that at most PERCENT (2) of a group's clusters have, or lack, and always those of a single one."""
    return _answer({"outliers": True, "by_label": by, "rare": rare}, **how)


@command.command("furthest", short_help="Clusters with the largest share of differences")
@_ASKED
def _furthest(**how: Any) -> int:
    """Rank the clusters by their share of differences, from the last fleet drift."""
    return _answer({"furthest": True}, **how)


@command.command("undeclared", short_help="Access that no manifest declares")
@_ASKED
def _undeclared(**how: Any) -> int:
    """List the access that no manifest declares, from the last fleet drift."""
    return _answer({"undeclared": True}, **how)


@command.command("blast-radius", short_help="Principals by how far they reach")
@_ASKED
def _blast_radius(**how: Any) -> int:
    """Rank principals by effective access over all clusters, DENYs included, super users too."""
    return _answer({"blast_radius": True}, **how)


_since_option = click.option(
    "--since", metavar="RUN", help="What changed since that run.  [default: previous, the run before]"
)


@command.command("moved", short_help="What changed since a run")
@_since_option
@_ASKED
def _moved(*, since: str | None, **how: Any) -> int:
    """List the ACLs, topics and configs that appeared, disappeared or changed since a run."""
    return _answer({"since": since or "previous"}, **how)


@command.command("sql", short_help="SQL over the views of a run")
@click.argument("text", metavar="TEXT")
@_since_option
@_ASKED
def _sql(*, text: str, since: str | None, **how: Any) -> int:
    """Run a SQL query over clusters, bindings, topics, configs, changes, access, intervals and, with --since, moved."""
    return _answer({"sql": text, "since": since}, **how)


def _answer(question: dict[str, Any], *, asked: _Asked, spark: fleet.SparkOptions, output: str) -> int:
    """Ask, print, and name what the answer lacks."""
    # A ranking of what was compared is read from the store.
    of_access = not {"who_can", "blast_radius"}.isdisjoint(question)
    alone = "furthest" in question
    with nullcontext() if alone else fleet.engine_for(spark, asked.store, workers=of_access) as engine:
        if engine is not None and not {"sql", "undeclared", "since"}.isdisjoint(question):
            engine.needs_sql()
        from reconciler.parts.fleet.app.access import WhoCan
        from reconciler.parts.fleet.app.query import FleetQuestion, ask_fleet, basis_of, furthest
        from reconciler.parts.fleet.tables import store_at

        if "who_can" in question:
            question["who_can"] = WhoCan(*question["who_can"])
        wanted = FleetQuestion(**question, limit=asked.limit)
        path = asked.path or project_path()
        place = store_at(asked.store)
        manifests = as_operator_says(load(path), path, ConnectionOptions(asked.connections))
        basis = basis_of(place, asked.run_id, manifests, wanted)
        if engine is not None:
            engine.sized(basis.run.rows, EVALUATED_IN_A_TASK if of_access else ROWS_IN_A_TASK)
            answer = ask_fleet(engine(), place, basis, manifests, wanted)
        elif basis.drift is not None:
            answer = furthest(basis.drift, wanted.limit)
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
