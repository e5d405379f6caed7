"""``reconciler fleet query``: questions about a whole fleet, ready-made or in SQL."""

import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from reconciler.adapters.spark.views import moved, register, register_changes
from reconciler.cli.console import error, out, out_json
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_options import (
    SparkOptions,
    run_option,
    session_for,
    spark_options,
    store_option,
)
from reconciler.cli.options import output_option, path_argument
from reconciler.fleet import Failure, FleetDrift, FleetRun, fleet_of
from reconciler.fleet.queries import BLAST_RADIUS, UNDECLARED, outliers
from reconciler.fleet.store import FleetStore, NoRunError
from reconciler.report.fleet_table import table_lines
from reconciler.workflow.fleet import store_at, stored_run
from reconciler.workflow.fleet.access import Answer, WhoCan, access_frame, holders
from reconciler.workflow.manifests import load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from reconciler.manifest import Manifests


@dataclass(frozen=True, slots=True)
class FleetQuestion:
    """What the command line asks; exactly one of these is given, or SQL over what moved since a run."""

    sql: str | None = None
    who_can: str | None = None
    outliers: bool = False
    furthest: bool = False
    undeclared: bool = False
    since: str | None = None
    blast_radius: bool = False

    @property
    def of_drift(self) -> bool:
        """Whether the answer comes from a comparison."""
        return self.furthest or self.undeclared or self._speaks_of("changes")

    @property
    def of_access(self) -> bool:
        """Whether the answer comes from what principals may do."""
        return self.blast_radius or self._speaks_of("access")

    def _speaks_of(self, view: str) -> bool:
        return re.search(rf"\b{view}\b", self.sql or "", re.IGNORECASE) is not None


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
@spark_options
@output_option
def command(
    *,
    path: str,
    store: str,
    run_id: str | None,
    by_label: str | None,
    rare: int,
    limit: int,
    spark: SparkOptions,
    output: str,
    **questions: Any,
) -> int:
    """Answer one question from a snapshot of the fleet. Clusters that could not be read are always named.

    PATH's Cluster documents supply labels, super users and allowEveryoneIfNoAclFound.
    """
    asked = FleetQuestion(**questions)
    given = {name for name in FleetQuestion.__slots__ if getattr(asked, name)}
    if len(given) != 1 and given != {"sql", "since"}:
        raise CommandError("ask one question", "give one of --sql, --who-can, --outliers and so on", Exit.USAGE)
    place = store_at(store)
    run = stored_run(place, run_id)
    manifests = load(path)
    drift = _last_drift(place, run_id if asked.furthest else run.id) if asked.of_drift else None
    run = _with_absent(run if drift is None else stored_run(place, drift.run), manifests)
    unread = {item.cluster for item in run.failures}
    if drift is not None:
        unread |= {item.cluster for item in drift.failed}
    unjudged: frozenset[str] = frozenset()
    if asked.furthest and drift is not None:
        columns, rows = _furthest(drift)
    else:
        with session_for(spark) as session:
            sql = outliers(by_label, rare)
            (columns, rows), unjudged = _answer(session, place, run, manifests, asked, sql, limit, drift)
    more = len(rows) > limit
    if output == "json":
        out_json(
            {"run": run.id, "columns": columns, "rows": rows[:limit], "more": more, "unread": sorted(unread | unjudged)}
        )
    else:
        out(table_lines(columns, rows[:limit]))
    if more:
        error(f"there are more rows than these {limit:,}", "--limit shows more")
    if unread:
        error(f"without {', '.join(sorted(unread))}: not known in run {run.id}")
    for item in run.readings:
        if item.acl_gap:
            error(f"{item.cluster}: the ACL listing may not be whole: {item.acl_gap}")
    return Exit.OK


def _with_absent(run: FleetRun, manifests: "Manifests") -> FleetRun:
    """The run, with a failure for each cluster of a fleet that it does not speak of: nothing is known of it either."""
    names: list[str | None] = [*manifests.fleets] or [None]
    fleets = [fleet_of(manifests, name) for name in names]
    known = {item.cluster for item in run.readings} | {item.cluster for item in run.failures}
    absent = sorted({name for fleet in fleets for name in fleet.clusters} - known)
    failures = (Failure(name, "not_read", "the cluster is not in this run", attempts=0) for name in absent)
    return replace(run, failures=(*run.failures, *failures))


def _answer(  # noqa: PLR0917 - all of it is the question
    session: "SparkSession",
    store: FleetStore,
    run: FleetRun,
    manifests: "Manifests",
    asked: FleetQuestion,
    outliers_sql: str,
    limit: int,
    drift: FleetDrift | None,
) -> tuple[Answer, frozenset[str]]:
    """The answer, and the clusters that are not in it because nobody can tell what their ACLs mean."""
    if asked.who_can is not None:
        return holders(session, store, run, manifests, _who_can(asked.who_can)), frozenset()
    if not asked.blast_radius:
        labels = {name: dict(cluster.labels) for name, cluster in manifests.clusters.items()}
        register(session, store, run, labels)
    sql = asked.sql or (outliers_sql if asked.outliers else BLAST_RADIUS if asked.blast_radius else UNDECLARED)
    if asked.since is not None:
        _register_moved(session, store, run, asked.since)
        sql = asked.sql or "select * from moved order by all"
    if drift is not None:
        register_changes(session, store, drift)
    if not asked.of_access:
        return _rows(_sql(session, sql), limit), frozenset()
    frame = access_frame(session, store, run, manifests).persist()
    frame.createOrReplaceTempView("access")
    answer = _rows(_sql(session, sql), limit)
    unjudged = frame.where("principal is null").collect()
    for row in unjudged:
        error(f"without {row['cluster']}: its access is not known: {row['names'][0]}")
    return answer, frozenset(row["cluster"] for row in unjudged)


def _register_moved(session: "SparkSession", store: FleetStore, run: FleetRun, since: str) -> None:
    earlier = store.before(run.id) if since == "previous" else since
    if earlier is None:
        raise CommandError(f"there is no run before {run.id}", status=Exit.USAGE)
    before = stored_run(store, earlier)
    moved(session, store, before, run).createOrReplaceTempView("moved")
    once = {item.cluster for item in before.readings} ^ {item.cluster for item in run.readings}
    if once:
        error(f"without {', '.join(sorted(once))}: read in one of the two runs only")


def _sql(session: "SparkSession", sql: str) -> "DataFrame":
    from pyspark.errors import PySparkException

    try:
        return session.sql(sql)
    except PySparkException as error:
        raise CommandError(
            f"the question cannot be answered: {str(error).splitlines()[0]}", status=Exit.USAGE
        ) from error


def _rows(frame: "DataFrame", limit: int) -> Answer:
    return list(frame.columns), [list(row) for row in frame.limit(limit + 1).collect()]


def _last_drift(store: FleetStore, run_id: str | None) -> FleetDrift:
    try:
        return store.drift(run_id)
    except NoRunError as error:
        raise CommandError(str(error)) from error


def _furthest(drift: FleetDrift) -> Answer:
    found = []
    for item in drift.differing:
        counts = item.counts
        differences = counts.changes + counts.left
        # As a share of what both sides have together: a small cluster with ten differences is further than a large one.
        found.append((differences / max(1, counts.desired + counts.owned), differences, item.cluster))
    found.sort(key=lambda row: (-row[0], -row[1], row[2]))
    rows: list[list[Any]] = [[name, count, round(100 * share, 2)] for share, count, name in found]
    return ["cluster", "differences", "percent"], rows


def _who_can(text: str) -> WhoCan:
    """``OPERATION TYPE NAME`` as a question; a name that ends with ``*`` is a prefix."""
    from reconciler.cli.questions import asked_operation, asked_pattern

    words = shlex.split(text)
    if len(words) < 2:
        raise CommandError(
            f"--who-can {text!r}: write 'OPERATION TYPE NAME', as in 'WRITE topic orders'", status=Exit.USAGE
        )
    name = words[2] if len(words) > 2 else None
    prefix = name is not None and name.endswith("*") and name != "*"
    pattern = asked_pattern(words[1], name.rstrip("*") if name and prefix else name, prefix=prefix, any_name=False)
    return WhoCan(asked_operation(words[0], pattern), pattern)
