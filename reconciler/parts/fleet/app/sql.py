"""Questions in SQL over the views of a run: on Spark only."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from reconciler.app.options import now
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.manifest.manifests import Manifests
from reconciler.parts.fleet.app.access import access_lists, access_of_units
from reconciler.parts.fleet.app.query import FleetAnswer, FleetBasis, FleetQuestion
from reconciler.parts.fleet.app.runs import stored_run
from reconciler.parts.fleet.engine import Engine
from reconciler.parts.fleet.spark.engine import SparkEngine
from reconciler.parts.fleet.spark.views import by_name, moved, register, register_changes
from reconciler.parts.fleet.store import FleetStore
from reconciler.parts.history.table import INTERVALS, TableError
from reconciler.parts.history.update import history_of
from reconciler.results.fleet_drift import FleetRun, HeaderError

#: The view ``access``. Where a cluster cannot be judged, ``principal`` is null and ``names`` says why.
_ACCESS = (
    "cluster string, principal string, resource_type string, operation string, names array<string>, topics long, "
    "every_name boolean, certain boolean"
)


def answered(
    engine: Engine, store: FleetStore, basis: FleetBasis, manifests: Manifests, asked: FleetQuestion, sql: str
) -> FleetAnswer:
    """The rows of ``sql``, one more than the limit if there are more."""
    session, run = engine.session, basis.run
    register(session, store, run, {name: dict(cluster.labels) for name, cluster in manifests.clusters.items()})
    once = () if asked.since is None else _register_moved(session, store, run, asked.since)
    if basis.drift is not None:
        register_changes(session, store, basis.drift)
    if asked.of_the_past:
        _register_intervals(session, store, run)
    unjudged = {}
    if asked.of_access:
        # Persisted: the view is evaluated for its rows and again for the clusters that could not be judged.
        access = access_frame(engine, store, run, manifests).persist()
        access.createOrReplaceTempView("access")
        unjudged = {row["cluster"]: row["names"][0] for row in access.where("principal is null").collect()}
    frame = _sql(session, sql)
    # One more than is shown says whether there are more.
    rows = [list(row) for row in frame.limit(asked.limit + 1).collect()]
    return FleetAnswer(list(frame.columns), rows, unjudged=unjudged, read_once=once)


def access_frame(engine: Engine, store: FleetStore, run: FleetRun, manifests: Manifests) -> DataFrame:
    """Effective access on every cluster, a row for each operation of each principal."""
    spark = SparkEngine(engine.session)
    return spark.frame(access_lists(engine, run, manifests), access_of_units(store), _ACCESS)


def _register_moved(session: SparkSession, store: FleetStore, run: FleetRun, since: str) -> tuple[str, ...]:
    """The clusters of which only one of the two runs knows."""
    earlier = store.before(run.id) if since == "previous" else since
    if earlier is None:
        raise RequestError(f"there is no run before {run.id}")
    before = stored_run(store, earlier)
    moved(session, store, before, run).createOrReplaceTempView("moved")
    return tuple(sorted({item.cluster for item in before.readings} ^ {item.cluster for item in run.readings}))


def _register_intervals(session: SparkSession, store: FleetStore, run: FleetRun) -> None:
    """The view ``intervals``: when what each cluster has and had was there, with what is new in its readings."""
    tables = [_times_as_text(INTERVALS.empty_table()).append_column("cluster", pa.array([], pa.string()))]
    try:
        for reading in run.readings:
            past = history_of(store, reading.cluster, {}, int(now().timestamp()))
            if past.unwritten is not None:
                raise WorkflowError(f"what is new of {reading.cluster} cannot be written to the store")
            rows = _times_as_text(past.table.table())
            tables.append(rows.append_column("cluster", pa.array([reading.cluster] * len(rows), pa.string())))
    except (TableError, HeaderError, OSError) as error:
        raise WorkflowError(f"the past cannot be read: {error}") from error
    # Of a table in several chunks Spark would take the first one with rows only.
    by_name(session.createDataFrame(pa.concat_tables(tables).combine_chunks())).createOrReplaceTempView("intervals")


def _times_as_text(table: Any) -> Any:
    """Times as everything else here writes them: they sort as texts."""
    for number, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type):
            texts = pc.strftime(table[column.name].cast(pa.timestamp("s", "UTC")), "%Y-%m-%dT%H:%M:%SZ")
            table = table.set_column(number, column.name, texts)
    return table


def _sql(session: SparkSession, sql: str) -> DataFrame:
    try:
        return session.sql(sql)
    except PySparkException as error:
        raise RequestError(f"the question cannot be answered: {str(error).splitlines()[0]}") from error
