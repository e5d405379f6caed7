"""The engine on Spark: an RDD of task numbers, or where there are no RDDs (Spark Connect) a DataFrame of them.

What passes through Spark are lines and chunks, no data of a store. Both forms give the same answers; the first query of
a DataFrame costs a session some six seconds of processor time more (``docs/decisions/columnar-engine.md``).

Views of a store are for questions in SQL. ``docs/fleet.md`` describes their columns; codes are shown by name.
"""

import functools
import json
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import IntEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, TypeVar

from py4j.protocol import Py4JError
from pyspark import RDD, Accumulator, AccumulatorParam, Broadcast, StorageLevel, TaskContext, cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from reconciler.app.reasons import WorkflowError
from reconciler.dataclass import dataclass
from reconciler.model.acl import ResourceType
from reconciler.model.frozen import collect_rarely
from reconciler.model.topic import TOPIC_ATTRIBUTES
from reconciler.parts.fleet import tables
from reconciler.parts.fleet.differences import RESULT_SCHEMA
from reconciler.parts.fleet.engine import Engine, Grouping, Groups, Judge, Tally, TaskFailedError, Watch, Work, tallied
from reconciler.parts.fleet.store import FleetStore
from reconciler.results.fleet_drift import FleetDrift, FleetRun, Reading

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql.connect.shell.progress import StageInfo

T = TypeVar("T")
R = TypeVar("R")

#: Where a session does not say how many tasks run at a time.
_UNKNOWN_CORES: Final = 8
#: How often it is looked how far tasks are, in seconds.
_LOOK: Final = 1.0
#: Under which name the units that have ended are counted.
_ENDED: Final = ""
#: Where a worker's own error begins in what Spark says of it.
_TRACEBACK: Final = "Traceback (most recent call last):"


@dataclass(frozen=True, slots=True)
class SparkEngine(Engine):
    """Tasks of a session, whoever made it; with ``frames`` as a DataFrame, which is all that Spark Connect has."""

    spark: SparkSession
    frames: bool = False
    watch: Watch | None = None

    @property
    def session(self) -> SparkSession:
        """The session."""
        return self.spark

    @property
    def cores(self) -> int:
        """Those of the executors that are there now."""
        context = self._context
        return _UNKNOWN_CORES if context is None else int(context.defaultParallelism)

    @property
    def _context(self) -> "SparkContext | None":
        """``None`` for a session of Spark Connect, whose JVM is elsewhere."""
        return self.spark.sparkContext if isinstance(self.spark, SparkSession) else None

    def run(
        self,
        lists: Sequence[Sequence[T]],
        work: Work[T],
        doing: str,
        group: str = "",
        again: Work[T] | None = None,
        tally: Tally | None = None,
    ) -> list[str]:
        """A task that is lost runs again: only the lines of the attempt that ended well come back."""
        if not lists:
            return []
        carried = self._carried((work, again), [list(units) for units in lists])

        context, watch, sizes = self._rdds, None if tally is None else self.watch, [len(units) for units in lists]
        counts = None if context is None or watch is None else context.accumulator(Counter(), _Counts())

        def task(number: int) -> list[str]:
            lines = list(_begun(carried, number))
            if counts is not None and tally is not None:
                counts.add(Counter({_ENDED: sizes[number]}) + tallied(tally, lines))
            return lines

        try:
            with (
                self._described(doing, group),
                _watched(watch, counts, doing, sum(sizes)),
                self._heard(watch, doing, sizes),
            ):
                if context is not None:
                    results = context.parallelize(range(len(lists)), len(lists)).map(task).collect()
                else:
                    rows = self._rows(len(lists), task, "array<string>").collect()
                    results = [row.found for row in sorted(rows)]
        except FAILURES as error:
            raise failed(error) from error
        finally:
            carried.free()
        return [line for lines in results for line in lines]

    def grouped(self, lists: Sequence[Sequence[T]], work: Grouping[T], groups: int, doing: str) -> Groups:
        """One shuffle brings the chunks of a group together."""
        carried = self._carried((work, None), [list(units) for units in lists] or [[]])

        def task(number: int) -> list[tuple[int, bytes]]:
            chunks = list(_begun(carried, number))
            # Every group is asked, also one that no list speaks of.
            return chunks if number else [*chunks, *((part, b"") for part in range(groups))]

        if (context := self._rdds) is not None:
            chunks_of = context.parallelize(range(max(1, len(lists))), max(1, len(lists))).flatMap(task)
            return _SparkGroups(self, chunks_of.groupByKey(groups, int), doing)
        rows = self._rows(max(1, len(lists)), task, "array<struct<part: int, chunk: binary>>")
        chunks = rows.select(f.explode("found").alias("found")).select("found.*")
        frame = chunks.repartition(groups, "part").groupBy("part").agg(f.collect_list("chunk").alias("chunks"))
        return _SparkGroups(self, frame, doing)

    def frame(self, lists: Sequence[Sequence[T]], work: Work[T], schema: str) -> DataFrame:
        """What ``work`` says of each list as rows, a line of JSON each with the columns of ``schema``; lazily."""
        if not lists:
            return self.spark.createDataFrame([], schema)
        carried = self._carried((work, None), [list(units) for units in lists])

        def task(number: int) -> list[tuple[Any, ...]]:
            return [tuple(json.loads(line)) for line in _begun(carried, number)]

        columns = ", ".join(": ".join(column.strip().split(" ", 1)) for column in schema.split(", "))
        rows = self._rows(len(lists), task, f"array<struct<{columns}>>")
        return rows.select(f.explode("found").alias("found")).select("found.*")

    def refuse_copies(self) -> None:
        """A session that was there before has the settings of whoever made it, or of a platform.

        The context's own setting decides: what a session says of it later changes nothing.
        """
        settings: Any = self.spark.conf if self._context is None else self._context.getConf()
        if str(settings.get("spark.speculation", "false")).lower() != "false":
            message = "spark.speculation is on in this Spark session, so two tasks could change one cluster"
            raise WorkflowError(f"{message}: nothing was sent", "begin a session with spark.speculation=false")

    @property
    def _rdds(self) -> "SparkContext | None":
        return None if self.frames else self._context

    @contextmanager
    def ending(self, group: str) -> Iterator[None]:
        """By Spark's tag of the group."""
        try:
            yield
        except BaseException:
            with suppress(Exception):  # the session may have ended, and its jobs with it
                self.spark.interruptTag(group)
            raise

    @contextmanager
    def _described(self, doing: str, group: str = "") -> Iterator[None]:
        """Spark's page says what its job is doing."""
        if self._context is not None:
            self._context.setJobDescription(f"reconciler: {doing}")
        if group:
            self.spark.addTag(group)
        try:
            yield
        finally:
            if group:
                self.spark.removeTag(group)
            if self._context is not None:
                self._context.setJobDescription("")

    @contextmanager
    def _heard(self, watch: Watch | None, doing: str, sizes: Sequence[int]) -> Iterator[None]:
        """``watch`` hears what Spark Connect tells a client, how many tasks have ended: so many units at the least."""
        if watch is None or self._context is not None:
            yield
            return
        least = [0, *accumulate(sorted(sizes))]

        def report(stages: "Iterable[StageInfo] | None", done: bool, **_: Any) -> None:
            ended = sum(stage.num_completed_tasks for stage in stages or ())
            if not done:
                watch(doing, least[min(ended, len(sizes))], least[-1], {})

        hear: Any = report  # PySpark's type wants a subclass of an abstract class, PySpark a function
        self.spark.registerProgressHandler(hear)
        try:
            yield
        finally:
            self.spark.removeProgressHandler(hear)

    def _rows(self, count: int, task: Callable[[int], Any], schema: str) -> DataFrame:
        """A row for each number, in a task of its own: ``id``, and what the task found."""
        # Not by Arrow, which asks for pandas; and never twice for one row.
        call = f.udf(task, schema, useArrow=False).asNondeterministic()
        return self.spark.range(0, count, 1, count).select("id", call("id").alias("found"))

    def _carried(self, works: Sequence[Any], lists: Sequence[Any]) -> "_Carried":
        # One pickle for each list: a task reads its own. (This pickle also knows what a script defines itself.)
        parts = tuple(_pickled(part) for part in (works, *lists))
        # Through a broadcast each worker gets them once, and a task's description stays small.
        return _Carried(parts if self._context is None else self._context.broadcast(parts))


class _Counts(AccumulatorParam["Counter[str]"]):
    """Added up as tasks end."""

    def zero(self, value: "Counter[str]") -> "Counter[str]":
        """Nothing."""
        return Counter()

    def addInPlace(self, value1: "Counter[str]", value2: "Counter[str]") -> "Counter[str]":  # noqa: N802 - Spark's
        """The sum, as a new one: it is read while it is added to."""
        return value1 + value2


@contextmanager
def _watched(watch: Watch | None, counts: "Accumulator[Counter[str]] | None", doing: str, size: int) -> Iterator[None]:
    """For the time of the block ``watch`` hears how far the tasks are."""
    if watch is None or counts is None:
        yield
        return
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK):
            current = Counter(counts.value)
            # A task that ran again was counted twice.
            watch(doing, min(current.pop(_ENDED, 0), size), size, current)

    threading.Thread(target=look, daemon=True).start()
    try:
        yield
    finally:
        over.set()


@dataclass(frozen=True, slots=True)
class _Carried:
    """What tasks do, and the list of each, as they reach a worker."""

    parts: Any

    def __getitem__(self, number: int) -> Any:
        parts = self.parts.value if isinstance(self.parts, Broadcast) else self.parts
        return cloudpickle.loads(parts[number])

    def free(self) -> None:
        """No task needs them any more."""
        if isinstance(self.parts, Broadcast):
            self.parts.unpersist()


def _begun(carried: _Carried, number: int) -> Iterable[Any]:
    """A task, by the name of its attempt."""
    work, again = carried[0]
    here = TaskContext.get()
    if here is None:
        return work(carried[number + 1], f"driver-{number}")  # type: ignore[no-any-return]
    # Spark collects after each task, and what earlier tasks left, as manifests, is for the next ones.
    collect_rarely()
    # A number above 0: Spark lost a worker for reasons that do not count as a failure.
    chosen = again if again is not None and here.attemptNumber() > 0 else work
    return chosen(carried[number + 1], f"{here.stageId()}-{here.taskAttemptId()}")  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _SparkGroups(Groups):
    engine: SparkEngine
    #: The number of each group with its chunks.
    chunks: "RDD[tuple[int, Iterable[bytes]]] | DataFrame"
    doing: str

    def ask(self, judge: Judge[R]) -> list[R]:
        """A task for each group."""
        carried = self.engine._carried((judge,), ())

        def task(part: int, chunks: Iterable[bytes]) -> bytes:
            (asked,) = carried[0]
            return _pickled(asked(part, [bytes(chunk) for chunk in chunks if chunk]))

        try:
            with self.engine._described(self.doing):
                results = self._asked(task)
        except FAILURES as error:
            raise failed(error) from error
        finally:
            carried.free()
        return [cloudpickle.loads(bytes(result)) for _, result in sorted(results)]

    def _asked(self, task: Callable[[int, Iterable[bytes]], bytes]) -> list[tuple[int, bytes]]:
        if isinstance(self.chunks, DataFrame):
            call = f.udf(task, "binary", useArrow=False).asNondeterministic()
            rows = self.chunks.select("part", call("part", "chunks").alias("result")).collect()
            return [(row.part, row.result) for row in rows]
        return self.chunks.map(lambda group: (group[0], task(*group))).collect()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """In memory, and on disk where there is too much."""
        self.chunks.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield
        finally:
            self.chunks.unpersist()


def _pickled(part: Any) -> bytes:
    data: bytes = cloudpickle.dumps(part)  # type: ignore[no-untyped-call]
    return data


#: What PySpark raises where something fails in Spark.
FAILURES: Final = (PySparkException, Py4JError)


def failed(error: Exception) -> TaskFailedError:
    """What Spark says of a failure, as a reason like any other."""
    why = cause(error)
    return TaskFailedError(f"Spark failed: {why}", _cure(why))


def cause(error: Exception) -> str:
    """One line: the error of the worker if it is in a worker, else what Spark says first.

    py4j puts what was called before it, which tells nobody anything.
    """
    text = str(error)
    if _TRACEBACK in text:
        # Places are indented, and the error is not.
        after = (line for line in text.rpartition(_TRACEBACK)[2].splitlines() if line.strip())
        if (error_line := next((line for line in after if not line[0].isspace()), None)) is not None:
            return error_line.strip()
    lines = [line.strip(": ") for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    return lines[0] if lines else type(error).__name__


def _cure(why: str) -> str:
    """What helps against a cause."""
    module = re.match(r"ModuleNotFoundError: No module named '(\w+)", why)
    if module is None:
        return "nothing was kept of the run; correct the cause, then start again"
    if module[1] == "reconciler":
        return (
            "the Python of the executors does not find this package: hand it over, as `reconciler fleet pack` packs it"
        )
    has = "say by PYSPARK_PYTHON which one has them, or hand over what `reconciler fleet pack` packs"
    return f"the Python of the executors needs the packages of the extra fleet: {has}"


_NAMED: Final[Mapping[str, type[IntEnum]]] = {**tables.CODES, "whose": tables.ScopeMembership}
#: What of a topic may move; a new id is a topic that was made again.
_OF_A_TOPIC: Final = (*(tables.TOPIC_COLUMNS[name] for name in TOPIC_ATTRIBUTES.values()), "topic_id")
_TYPES: Final = {"int8": "tinyint", "int32": "int", "bool": "boolean"}
_CLUSTERS: Final = {
    **dict.fromkeys(("cluster", "cluster_id", "taken"), "string"),
    **dict.fromkeys(("bindings", "topics", "opaque", "unreadable_topics"), "long"),
    "failure": "string",
    "labels": "map<string,string>",
}


def register(session: SparkSession, store: FleetStore, run: FleetRun, labels: Mapping[str, Mapping[str, str]]) -> None:
    """The views ``clusters``, ``bindings``, ``topics`` and ``configs`` of one run."""
    files = {
        "bindings": [bucket.file for reading in run.readings for bucket in reading.buckets],
        "topics": [reading.topics for reading in run.readings if reading.topics],
        "configs": [reading.configs for reading in run.readings if reading.configs],
    }
    schemas = {"bindings": tables.LIVE_SCHEMA, "topics": tables.TOPIC_SCHEMA, "configs": tables.CONFIG_SCHEMA}
    for name, schema in schemas.items():
        by_name(_frame(session, store, name, files[name], schema)).createOrReplaceTempView(name)
    columns = ", ".join(f"{name} {kind}" for name, kind in _CLUSTERS.items())
    session.createDataFrame(_clusters(run, labels), columns).createOrReplaceTempView("clusters")


def register_changes(session: SparkSession, store: FleetStore, drift: FleetDrift) -> None:
    """The view ``changes``: what the last comparison found to differ."""
    files = sorted({name for item in drift.clusters for name in item.files})
    by_name(_frame(session, store, "results", files, RESULT_SCHEMA)).createOrReplaceTempView("changes")


def moved(session: SparkSession, store: FleetStore, before: FleetRun, after: FleetRun) -> DataFrame:
    """What appeared, went or changed between two runs, on the clusters that are in both: bindings, topics, configs.

    What is equal by digest is not read. Topics and configs have ``detail``, and of a binding's fields only its name.
    """
    both = {reading.cluster for reading in before.readings} & {reading.cluster for reading in after.readings}
    sides = [
        replace(run, readings=tuple(item for item in run.readings if item.cluster in both)) for run in (before, after)
    ]
    changes = _moved_bindings(session, store, *sides)
    for part in (_moved_topics(session, store, *sides), _moved_configs(session, store, *sides)):
        changes = changes.unionByName(part, allowMissingColumns=True)
    return by_name(changes)


def _moved_bindings(session: SparkSession, store: FleetStore, before: FleetRun, after: FleetRun) -> DataFrame:
    old, new = _digests(before), _digests(after)
    sides = [
        _frame(
            session,
            store,
            "bindings",
            [file for file, digest in item.items() if digest not in seen],
            tables.LIVE_SCHEMA,
        )
        for item, seen in ((old, set(new.values())), (new, set(old.values())))
    ]
    was, now = (side.select("cluster", *tables.COLUMNS) for side in sides)
    appeared = now.exceptAll(was).withColumns({"detail": f.lit(""), "what": f.lit("appeared")})
    return appeared.unionAll(was.exceptAll(now).withColumns({"detail": f.lit(""), "what": f.lit("went")}))


def _moved_topics(session: SparkSession, store: FleetStore, before: FleetRun, after: FleetRun) -> DataFrame:
    was, now = _both_sides(session, store, "topics", [run.readings for run in (before, after)], tables.TOPIC_SCHEMA)
    same = [f.col(f"was.{name}").eqNullSafe(f.col(f"now.{name}")) for name in _OF_A_TOPIC]
    # Only where it is on both sides: of a topic that went, all would be said to have changed.
    texts = [
        f.when(
            f.isnotnull("was.there") & f.isnotnull("now.there") & ~equal,
            f.concat_ws(" ", f.lit(name), f"was.{name}", f.lit("→"), f"now.{name}"),
        )
        for name, equal in zip(_OF_A_TOPIC, same, strict=True)
    ]
    return _joined(was, now, ["cluster", "name"], f.array_join(f.array_compact(f.array(*texts)), ", "), _all(same))


def _moved_configs(session: SparkSession, store: FleetStore, before: FleetRun, after: FleetRun) -> DataFrame:
    was, now = _both_sides(session, store, "configs", [run.readings for run in (before, after)], tables.CONFIG_SCHEMA)
    was, now = (side.withColumnRenamed("topic", "name") for side in (was, now))
    detail = f.concat(f.col("key"), f.lit(" "), f.concat_ws(" → ", "was.value", "now.value"))
    same = f.col("was.value").eqNullSafe(f.col("now.value"))
    return _joined(was, now, ["cluster", "name", "key"], detail, same)


def _all(conditions: Sequence[Column]) -> Column:
    return functools.reduce(Column.__and__, conditions)


def _both_sides(
    session: SparkSession, store: FleetStore, kind: str, sides: Sequence[Sequence[Reading]], schema: Any
) -> list[DataFrame]:
    """The files of one kind that are not on both sides."""
    files = [{getattr(item, kind) for item in side} - {""} for side in sides]
    return [_frame(session, store, kind, sorted(own - other), schema) for own, other in (files, files[::-1])]


def _joined(was: DataFrame, now: DataFrame, on: list[str], detail: Column, same: Column) -> DataFrame:
    """Rows that only one side has, or that differ."""
    missing, added = (f.col(f"{side}.there").isNull() for side in ("now", "was"))
    what = f.when(added, "appeared").when(missing, "went").otherwise("changed")
    marked = [side.withColumn("there", f.lit(True)).alias(name) for name, side in (("was", was), ("now", now))]
    rows = marked[0].join(marked[1], on, "full_outer").where(missing | added | ~same)
    kind = f.lit(int(ResourceType.TOPIC)).cast("tinyint").alias("resource_type")
    return rows.select("cluster", kind, "name", detail.alias("detail"), what.alias("what"))


def by_name(frame: DataFrame) -> DataFrame:
    """Codes as Kafka names them."""
    for column, names in _NAMED.items():
        if column in frame.columns:
            pairs = [item for member in names for item in (f.lit(int(member)), f.lit(member.name))]
            frame = frame.withColumn(column, f.create_map(*pairs)[f.col(column).cast("int")])
    return frame


def _digests(run: FleetRun) -> dict[str, str]:
    """StoreFiles by what is in them: the same rows of the same cluster need not be read."""
    return {
        bucket.file: f"{reading.cluster}/{len(reading.buckets)}/{number}/{bucket.digest}"
        for reading in run.readings
        for number, bucket in enumerate(reading.buckets)
    }


def _frame(session: SparkSession, store: FleetStore, kind: str, files: Sequence[str], schema: Any) -> DataFrame:
    """StoreFiles as one frame; ``cluster`` is in their path, or in the rows of results."""
    columns = ", ".join(f"{field.name} {_spark_type(str(field.type))}" for field in schema)
    if not files:
        return session.createDataFrame([], columns if kind == "results" else f"{columns}, cluster string")
    if kind != "results":
        # Spark reads the files by itself, and knows nothing of digests.
        with ThreadPoolExecutor(8) as threads:
            deque(threads.map(store.files.read, files), maxlen=0)
    reader = session.read.schema(columns if kind == "results" else f"{columns}, cluster string")
    frame = reader.option("basePath", store.files.address(kind)).parquet(*map(store.files.address, files))
    return frame.drop("taken", "run")


def _spark_type(arrow: str) -> str:
    return "array<array<int>>" if arrow.startswith("list") else _TYPES.get(arrow, "string")


def _clusters(run: FleetRun, labels: Mapping[str, Mapping[str, str]]) -> list[tuple[Any, ...]]:
    read = [
        (
            item.cluster,
            item.cluster_id,
            item.taken,
            item.rows,
            item.topic_count,
            len(item.opaque),
            len(item.unreadable_topics),
            None,
            dict(labels.get(item.cluster, {})),
        )
        for item in run.readings
    ]
    failed = [
        (item.cluster, None, None, None, None, None, None, item.code, dict(labels.get(item.cluster, {})))
        for item in run.failures
    ]
    return [*read, *failed]
