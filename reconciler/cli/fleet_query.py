"""``reconciler fleet query``: questions about a whole fleet, ready-made or in SQL."""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from reconciler.adapters.spark.readings import read_live
from reconciler.adapters.spark.store import FleetStore, NoRunError
from reconciler.adapters.spark.tasks import reason, run_tasks, task_count
from reconciler.adapters.spark.views import moved, register, register_changes
from reconciler.cli.console import complain, say, say_json
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_options import (
    SparkOptions,
    run_option,
    session_for,
    spark_options,
    store_option,
    stored_run,
)
from reconciler.cli.options import output_option, path_argument
from reconciler.cli.wiring import load
from reconciler.fleet import Reading, Run, share_out
from reconciler.fleet.questions import BLAST_RADIUS, UNDECLARED, outliers
from reconciler.report.fleet_table import table_lines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from reconciler.manifest import ClusterDeclaration, Manifests
    from reconciler.model import AclOperation, ResourcePattern

Answer = tuple[list[str], list[list[Any]]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks; exactly one of these is given."""

    sql: str | None = None
    who_can: str | None = None
    outliers: bool = False
    furthest: bool = False
    undeclared: bool = False
    since: str | None = None
    blast_radius: bool = False


@click.command("query", short_help="Ask a question about the whole fleet")
@path_argument
@store_option
@run_option
@click.option("--sql", metavar="TEXT", help="SQL over clusters, bindings, topics, configs and changes.")
@click.option(
    "--who-can", metavar="'OPERATION TYPE NAME'", help="Who may do this anywhere, as in 'WRITE topic orders'."
)
@click.option("--outliers", is_flag=True, help="Bindings that few clusters have, or few lack.")
@click.option("--by-label", metavar="LABEL", help="With --outliers: among the clusters with the same value.")
@click.option(
    "--rare", type=click.IntRange(0, 49), default=2, show_default=True, help="With --outliers: few, in percent."
)
@click.option("--furthest", is_flag=True, help="Clusters furthest from what is desired, by the last drift.")
@click.option("--undeclared", is_flag=True, help="Access that nobody declared, by the last drift.")
@click.option("--since", metavar="RUN", help="What changed since that run ('previous': the one before).")
@click.option("--blast-radius", is_flag=True, help="Principals by how much they could touch.")
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="Rows shown at most.")
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
    """Answer one question from a snapshot of the fleet. Clusters that could not be read are named, never left out.

    PATH's Clusters give labels, super users and allowEveryoneIfNoAclFound.
    """
    asked = Asked(**questions)
    if sum(bool(getattr(asked, name)) for name in Asked.__slots__) != 1:
        raise CommandError("ask one question", "give one of --sql, --who-can, --outliers and so on", Exit.USAGE)
    place = FleetStore.at(store)
    run = stored_run(place, run_id)
    manifests = load(path)
    if asked.furthest:
        columns, rows = _furthest(place, limit)
    else:
        with session_for(spark) as session:
            columns, rows = _answer(session, place, run, manifests, asked, outliers(by_label, rare), limit)
    if output == "json":
        say_json({"run": run.id, "columns": columns, "rows": rows, "unread": [item.cluster for item in run.failures]})
    else:
        say(table_lines(columns, rows))
    if run.failures:
        complain(f"without {', '.join(item.cluster for item in run.failures)}: not read in run {run.id}")
    return Exit.OK


def _answer(  # noqa: PLR0917 - all of it is the question
    session: "SparkSession",
    store: FleetStore,
    run: Run,
    manifests: "Manifests",
    asked: Asked,
    outliers_sql: str,
    limit: int,
) -> Answer:
    if asked.who_can is not None:
        return _who_can(session, store, run, manifests, asked.who_can)
    if asked.since is not None:
        earlier = store.before(run.id) if asked.since == "previous" else asked.since
        if earlier is None:
            raise CommandError(f"there is no run before {run.id}", status=Exit.USAGE)
        frame = moved(session, store, stored_run(store, earlier), run)
        return _rows(frame.orderBy(*frame.columns), limit)
    labels = {name: dict(cluster.labels) for name, cluster in manifests.clusters.items()}
    register(session, store, run, labels)
    sql = asked.sql or (outliers_sql if asked.outliers else BLAST_RADIUS if asked.blast_radius else UNDECLARED)
    if asked.undeclared or (asked.sql and "changes" in asked.sql.lower()):
        try:
            register_changes(session, store, store.drift(run.id))
        except NoRunError as error:
            raise CommandError(str(error)) from error
    return _rows(_sql(session, sql), limit)


def _sql(session: "SparkSession", sql: str) -> "DataFrame":
    from pyspark.errors import PySparkException

    try:
        return session.sql(sql)
    except PySparkException as error:
        raise CommandError(
            f"the question cannot be answered: {str(error).splitlines()[0]}", status=Exit.USAGE
        ) from error


def _rows(frame: "DataFrame", limit: int) -> Answer:
    return list(frame.columns), [list(row) for row in frame.limit(limit).collect()]


def _furthest(store: FleetStore, limit: int) -> Answer:
    try:
        drift = store.drift()
    except NoRunError as error:
        raise CommandError(str(error)) from error
    found = []
    for item in drift.differing:
        counts = item.counts
        differences = counts.changes + counts.left
        # As a share of what both sides have together: a small cluster with ten differences is further than a large one.
        found.append((differences / max(1, counts.desired + counts.owned), differences, item.cluster))
    found.sort(key=lambda row: (-row[0], -row[1], row[2]))
    rows: list[list[Any]] = [[name, count, round(100 * share, 2)] for share, count, name in found[:limit]]
    return ["cluster", "differences", "percent"], rows


@dataclass(frozen=True, slots=True)
class _Question:
    operation: "AclOperation"
    pattern: "ResourcePattern"


def _who_can(session: "SparkSession", store: FleetStore, run: Run, manifests: "Manifests", text: str) -> Answer:
    from reconciler.cli.questions import asked_operation, asked_pattern

    words = shlex.split(text)
    if len(words) < 2:
        raise CommandError(
            f"--who-can {text!r}: write 'OPERATION TYPE NAME', as in 'WRITE topic orders'", status=Exit.USAGE
        )
    name = words[2] if len(words) > 2 else None
    prefix = name is not None and name.endswith("*") and name != "*"
    pattern = asked_pattern(words[1], name.rstrip("*") if name and prefix else name, prefix=prefix, any_name=False)
    question = _Question(asked_operation(words[0], pattern), pattern)
    units = [(reading, manifests.clusters.get(reading.cluster)) for reading in run.readings]
    lists = share_out(units, [reading.rows for reading, _ in units], task_count(session))
    lines = run_tasks(session, lists, partial(_holders, store=store, question=question))
    return ["cluster", "principal", "names", "hosts", "certain"], sorted(json.loads(line) for line in lines)


def _holders(
    units: Sequence[tuple[Reading, "ClusterDeclaration | None"]],
    attempt: str,
    *,
    store: FleetStore,
    question: _Question,
) -> Iterator[str]:
    """Rows of each cluster; a super user and whoever may ALTER the cluster are told apart by their names column."""
    from reconciler.access import Authorizer, who_can

    for reading, declaration in units:
        try:
            state = read_live(store.files, reading)
            authorizer = Authorizer(
                state.bindings,
                declaration.super_users if declaration else (),
                declaration.allow_everyone_if_no_acl_found if declaration else None,
                opaque=state.opaque,
            )
            found = who_can(authorizer, question.operation, question.pattern)
        except Exception as error:  # one cluster's trouble must not hide the others
            yield json.dumps([reading.cluster, "", f"not known: {reason(error)}", "", False])
            continue
        for row in found.rows:
            names = [reading.cluster, row.principal or "everybody else", str(row.region), str(row.hosts), row.certain]
            yield json.dumps(names, ensure_ascii=False)
        for row in found.cluster_admins:
            admin = [reading.cluster, row.principal or "everybody else", "(may ALTER the cluster)", str(row.hosts)]
            yield json.dumps([*admin, row.certain], ensure_ascii=False)
        for name in sorted(found.super_users):
            yield json.dumps([reading.cluster, name, "(super user)", "*", True], ensure_ascii=False)
