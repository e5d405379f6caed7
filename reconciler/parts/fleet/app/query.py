"""Questions about a whole fleet, answered from a stored run: ready-made ones, and SQL over its views."""

import datetime
import json
import math
import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession, types

from reconciler.app.options import now
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.parts.fleet.app.access import WhoCan, access_lists, access_of_units, blast_radius, holders
from reconciler.parts.fleet.app.runs import stored_run
from reconciler.parts.fleet.engine import Engine
from reconciler.parts.fleet.membership import fleet_of
from reconciler.parts.fleet.spark.engine import SparkEngine, by_name, moved, register, register_changes
from reconciler.parts.fleet.store import UNDECLARED, FleetStore, NoRunError
from reconciler.parts.fleet.tasks.comparing import OUTLIER_COLUMNS, OutlierQuestion, outliers
from reconciler.parts.history.table import INTERVALS, TableError
from reconciler.parts.history.update import history_of
from reconciler.results.fleet_drift import DriftCounts, Failure, FleetDrift, FleetRun, HeaderError


@dataclass(frozen=True, slots=True)
class FleetQuestion:
    """What is asked: exactly one of these, or ``sql`` over what moved ``since`` a run.

    ``by_label`` and ``rare`` (percent) belong to ``outliers``; at most ``limit`` rows are answered.
    """

    sql: str | None = None
    who_can: WhoCan | None = None
    outliers: bool = False
    furthest: bool = False
    undeclared: bool = False
    since: str | None = None
    blast_radius: bool = False
    by_label: str | None = None
    rare: int = 2
    limit: int = 1000

    @property
    def of_drift(self) -> bool:
        """Whether the answer comes from a comparison."""
        return self.furthest or self.undeclared or self._speaks_of("changes")

    @property
    def of_access(self) -> bool:
        """Whether the answer comes from what principals may do."""
        return self.blast_radius or self._speaks_of("access")

    @property
    def of_the_past(self) -> bool:
        """Whether the answer comes from the intervals of the past."""
        return self._speaks_of("intervals")

    def _speaks_of(self, view: str) -> bool:
        return re.search(rf"\b{view}\b", self.sql or "", re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class FleetBasis:
    """What an answer rests on: a run with every declared cluster in it, and the last comparison if that is asked."""

    run: FleetRun
    drift: FleetDrift | None = None

    @property
    def unread(self) -> frozenset[str]:
        """The clusters of which nothing is known, so that no answer has them."""
        failed = () if self.drift is None else (item.cluster for item in self.drift.failed)
        return frozenset({item.cluster for item in self.run.failures}.union(failed))


@dataclass(frozen=True, slots=True)
class FleetAnswer:
    """Rows under their columns; ``more`` if the limit cut some off.

    ``unjudged`` are clusters that are in no row because nobody can tell what their ACLs mean, each with the reason;
    ``read_once`` those that only one of two runs knows.
    """

    columns: list[str]
    rows: list[list[object]]
    more: bool = False
    unjudged: Mapping[str, str] = field(default_factory=dict)
    read_once: tuple[str, ...] = ()


def basis_of(store: FleetStore, run_id: str | None, manifests: Manifests, asked: FleetQuestion) -> FleetBasis:
    """The run that is asked about, or the last one; raises a :class:`WorkflowError` if there is none."""
    run = stored_run(store, run_id)
    if not asked.of_drift:
        return FleetBasis(_with_absent(run, manifests))
    try:
        # Only the ranking is about the last comparison whatever run it was of; rows are read from the run itself.
        drift = store.drift(run_id if asked.furthest else run.id)
    except NoRunError as error:
        raise WorkflowError(str(error)) from error
    return FleetBasis(_with_absent(stored_run(store, drift.run), manifests), drift)


def _with_absent(run: FleetRun, manifests: Manifests) -> FleetRun:
    """The run, with a failure for each cluster of a fleet that it does not speak of: nothing is known of it either."""
    names: list[str | None] = [*manifests.fleets] or [None]
    fleets = [fleet_of(manifests, name) for name in names]
    present = {item.cluster for item in run.readings} | {item.cluster for item in run.failures}
    absent = sorted({name for fleet in fleets for name in fleet.clusters} - present)
    failures = (Failure(name, "not_read", "the cluster is not in this run", attempts=0) for name in absent)
    return replace(run, failures=(*run.failures, *failures))


def furthest(drift: FleetDrift, limit: int) -> FleetAnswer:
    """Clusters by their differences as a share of what both sides have together, most first.

    A small cluster with ten differences is further from what is declared than a large one with twenty.
    """
    shares = []
    for item in drift.differing:
        counts = item.counts or DriftCounts()
        differences = counts.changes + counts.left
        shares.append((differences / max(1, counts.desired + counts.owned), differences, item.cluster))
    shares.sort(key=lambda row: (-row[0], -row[1], row[2]))
    rows: list[list[object]] = [[name, count, round(100 * share, 2)] for share, count, name in shares]
    return _limited(["cluster", "differences", "percent"], rows, limit)


def ask_fleet(
    engine: Engine, store: FleetStore, basis: FleetBasis, manifests: Manifests, asked: FleetQuestion
) -> FleetAnswer:
    """The answer; raises a :class:`RequestError` for SQL that cannot be run, or not on this engine."""
    run = basis.run
    if asked.furthest and basis.drift is not None:
        return furthest(basis.drift, asked.limit)
    if asked.who_can is not None:
        return _limited(*holders(engine, store, run, manifests, asked.who_can), asked.limit)
    if asked.outliers:
        groups = {reading.cluster: _group(reading.cluster, manifests, asked.by_label) for reading in run.readings}
        rows = outliers(engine, store.files, run, OutlierQuestion(groups, asked.rare, asked.limit + 1))
        return _limited([*OUTLIER_COLUMNS], rows, asked.limit)
    if asked.blast_radius:
        reached, unjudged = blast_radius(engine, store, run, manifests)
        return replace(_limited(*reached, asked.limit), unjudged=unjudged)
    # Spark's own classes take half a second to import, and the other questions need none.
    answer = answered(engine, store, basis, manifests, asked, _text(asked))
    return replace(answer, rows=answer.rows[: asked.limit], more=len(answer.rows) > asked.limit)


def _text(asked: FleetQuestion) -> str:
    if asked.sql is not None:
        return asked.sql
    if asked.since is not None:
        return "select * from moved order by all"
    return UNDECLARED


def _group(cluster: str, manifests: Manifests, label: str | None) -> str:
    """The clusters with one value of a label, or the whole fleet."""
    if label is None:
        return "fleet"
    declaration = manifests.clusters.get(cluster)
    return declaration.labels.get(label, "") if declaration else ""


def _limited(columns: list[str], rows: list[list[object]], limit: int) -> FleetAnswer:
    return FleetAnswer(columns, rows[:limit], more=len(rows) > limit)


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
    frame = _as_json(_sql(session, sql))
    # One more than is shown says whether there are more.
    rows = [[_plain(value) for value in row] for row in frame.limit(asked.limit + 1).collect()]
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


# Values of any SQL type as JSON has them: what has no type there is a text.


def _as_json(frame: DataFrame) -> DataFrame:
    """The same columns, with texts for what Python cannot take or would round."""
    wanted = [_readable(item.dataType) for item in frame.schema]
    if wanted == [item.dataType for item in frame.schema]:
        return frame
    names = frame.columns
    # By position: two columns of a question may have one name.
    frame = frame.toDF(*(str(number) for number in range(len(names))))
    return frame.select([frame[f"`{number}`"].cast(kind) for number, kind in enumerate(wanted)]).toDF(*names)


def _readable(kind: types.DataType) -> types.DataType:
    match kind:
        case types.ArrayType():
            return types.ArrayType(_readable(kind.elementType), kind.containsNull)
        case types.MapType():
            return types.MapType(_readable(kind.keyType), _readable(kind.valueType), kind.valueContainsNull)
        case types.StructType():
            return types.StructType(
                [types.StructField(item.name, _readable(item.dataType), item.nullable) for item in kind]
            )
        case types.DecimalType() | types.TimestampNTZType():
            return types.StringType()
        case _:
            # Of a month and more, whose length in days nobody knows, Python has no type.
            return types.StringType() if "interval" in kind.simpleString() else kind


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Row():
            return {name: _plain(item) for name, item in zip(value.__fields__, value, strict=True)}
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {str(_plain(key)): _plain(item) for key, item in value.items()}
        case bytes() | bytearray():
            return value.hex()
        case datetime.datetime():
            # Spark gives an instant as the local time of this process.
            return value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
        case datetime.date() | datetime.time():
            return value.isoformat()
        case types.VariantVal():
            return json.loads(value.toJson())
        case _:
            return str(value)


def _sql(session: SparkSession, sql: str) -> DataFrame:
    try:
        return session.sql(sql)
    except PySparkException as error:
        raise RequestError(f"the question cannot be answered: {str(error).splitlines()[0]}") from error
