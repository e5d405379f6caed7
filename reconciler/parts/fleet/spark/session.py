"""The Spark session: local by default, quiet, bound to loopback, without its UI unless somebody asks."""

import datetime
import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from pyspark import TaskContext, cloudpickle
from pyspark.sql import DataFrame, SparkSession

from reconciler.app.reasons import WorkflowError
from reconciler.apply.cleanup import going_on, without_live_bridges
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Delete
from reconciler.model.locks import denials_of_locks, lock_marks, locks, unlock_marks
from reconciler.model.markers import BreakGlass, break_glass_marks, running_break_glass, standing_bridges
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.spark.jvm import Jvm, operator_settings
from reconciler.plan.difference import Skipped, SkipReason
from reconciler.plan.kinds import describe
from reconciler.plan.leftovers import left_behind, not_yet, partial_locks
from reconciler.results.fleet_drift import Reading
from reconciler.system.process import child_environment

if TYPE_CHECKING:
    from pyspark import SparkContext

#: Waits until the session is there.
Session: TypeAlias = "Callable[[], SparkSession]"

LOCAL: Final = "local[*]"
#: More would be busy with starting while a task could run.
_EARLY_WORKERS: Final = 4
#: What configures Spark, Java and Hadoop, and the engines in Spark's tasks.
_OF_SPARK: Final = (
    *("SPARK_", "PYSPARK_", "_PYSPARK_", "JAVA_", "JDK_", "HADOOP_", "YARN_", "KRB5", "KUBE"),
    *("CLASSPATH", "ARROW_", "POLARS_", "OMP_"),
)


@contextmanager
def spark_session(
    master: str | None = None, *, ui: bool = False, secrets: Mapping[str, str] = FrozenMap()
) -> Iterator[SparkSession]:
    """A session that ends with the block; one that is there already is used as it is and stays.

    Without ``master`` what spark-submit says counts, and without that all cores of this machine. Of our environment
    the JVM and its workers get what they need to run, and ``secrets``: what tasks have to know to log in somewhere.
    """
    with starting_session(master, ui=ui, secrets=secrets) as session:
        yield session()


@contextmanager
def starting_session(
    master: str | None = None,
    *,
    ui: bool = False,
    secrets: Mapping[str, str] = FrozenMap(),
    workers: bool = False,
    once: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Session]:
    """As :func:`spark_session`, with a JVM that starts meanwhile, until the session is asked for.

    With ``workers``, Python workers of this machine start as soon as they can. With ``once``, tasks change clusters:
    Spark begins each of them once, and so many at a time on this machine, where they wait for brokers rather than
    compute. What the operator sets for Spark counts before what is usual here, but not before that on which results
    rest; which settings do not count is said by ``tell``. Imports nothing of PySpark.
    """
    active = _active()
    if active is not None:
        yield lambda: active
        return
    # Workers would run whatever "python3" is; an operator's word for a cluster goes first.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Workers are started as modules: else whatever a directory calls json.py would be run by who works in it.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    # Each task has one core: engines that bring threads of their own are told so before they start.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    with tempfile.TemporaryDirectory(prefix="reconciler-spark-") as scratch:
        # Of a JVM that spark-submit began, only itself knows what the operator said.
        given = None if submitted else operator_settings(os.environ)
        settings, fixed = dict(_USUAL), {**_FIXED, **(_ONCE if once else {})}
        if given is not None:
            settings["spark.master"] = f"local[{once}]" if once else LOCAL
        if master:
            fixed["spark.master"] = master
        local = {**settings, **(given or {}), **fixed}.get("spark.master", "").startswith("local")
        if ui:
            fixed["spark.ui.enabled"] = "true"
        if local:
            # Else Spark asks what this machine is called, and does not start if that is unknown.
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            settings |= _local_settings(scratch)
        environment = {**child_environment(*_OF_SPARK), **secrets}
        own = _Settings(settings, fixed, tell)
        jvm = None if given is None or _has_jvm() else Jvm(own.beside(given), environment, Path(scratch))
        started: list[SparkSession] = []

        def session() -> SparkSession:
            if not started:
                with jvm.gateway() if jvm is not None else nullcontext():
                    started.append(_started(own, given, workers=workers and local))
            return started[0]

        try:
            yield session
        finally:
            for each in started:
                each.stop()
            if jvm is not None and not started:
                jvm.end()


@dataclass(frozen=True, slots=True)
class _Settings:
    """What we set for Spark: ``usual`` where the operator sets nothing else, ``fixed`` whatever the operator sets."""

    usual: Mapping[str, str]
    fixed: Mapping[str, str]
    tell: Callable[[str], None]

    def beside(self, given: Mapping[str, str]) -> dict[str, str]:
        """What is left to set beside what is ``given``."""
        return {**{name: value for name, value in self.usual.items() if name not in given}, **self.fixed}

    def tell_overridden(self, given: Mapping[str, str]) -> None:
        """Say which settings of the operator do not count."""
        for name, value in self.fixed.items():
            if given.get(name, value) != value:
                self.tell(f"Spark's setting {name} is {value} here, not {given[name]} as it is configured")


def is_running() -> bool:
    """Whether this process has a session, or what is left of one: the next starts at once."""
    return _active() is not None or _has_jvm()


def _active() -> SparkSession | None:
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _has_jvm() -> bool:
    """Whether an earlier session of this process left its JVM, which PySpark uses again."""
    if "pyspark" not in sys.modules:
        return False
    from pyspark import SparkContext

    return SparkContext._gateway is not None


def _started(own: _Settings, given: Mapping[str, str] | None, *, workers: bool) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    # Says a second time, as JSON on stderr, what the exception says.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    # Tells of an interruption at length.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # A wheel is a zip too, by another name than those that PySpark hands to its workers.
    SparkContext.PACKAGE_EXTENSIONS = sorted({*SparkContext.PACKAGE_EXTENSIONS, ".whl"})
    if given is None:
        given = _submitted()
    own.tell_overridden(given)
    settings = own.beside(given)
    context = SparkContext.getOrCreate(SparkConf().setAll(list(settings.items())))
    if threading.current_thread() is threading.main_thread():
        # PySpark's own handler asks the JVM in the middle of another answer, and tells of it at length.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if workers:
        threading.Thread(target=_start_workers, args=(context,), daemon=True).start()
    builder: Any = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    return session


def _submitted() -> dict[str, str]:
    """What the operator told spark-submit, which has a name for every application: that of its file."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    given = dict(SparkConf(_jvm=SparkContext._jvm).getAll())
    if given.get("spark.app.name") == os.path.basename(sys.argv[0]):
        del given["spark.app.name"]
    return given


def _start_workers(context: "SparkContext") -> None:
    """Some workers begin to load what tasks need; those that are too late load it with their first task."""
    count = min(_EARLY_WORKERS, context.defaultParallelism)
    with suppress(Exception):  # the session may have ended already; a real task meets the same trouble, and says so
        context.parallelize(range(count), count).foreach(_load)


def _load(_: int) -> None:
    import reconciler.parts.fleet.spark.comparing  # noqa: F401


#: What an operator may set otherwise.
_USUAL: Final = {
    "spark.app.name": "reconciler fleet",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",
    "spark.python.worker.reuse": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.shuffle.partitions": "8",
}
#: What results rest on, and that no file where a worker happens to be is run.
_FIXED: Final = {
    "spark.executorEnv.PYTHONSAFEPATH": "1",
    # A name such as 007 stays a text.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
}


def _local_settings(scratch: str) -> dict[str, str]:
    """What holds for a session whose tasks run on this machine, beside the JVM that is the driver."""
    return {
        "spark.local.dir": scratch,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.python.daemon.module": "reconciler.parts.fleet.spark.daemon",
        # Workers run the code that we run, wherever it is.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }


# What runs of this tool have on a cluster of a fleet, by what a reading holds of it: judged as a single drift does.


def apart_of(reading: Reading, default_allow: bool | None) -> frozenset[AclBinding]:
    """The DENYs of locks, and the bridges where default-allow is declared on: nobody's wish, and not undeclared."""
    own = frozenset(reading.leftovers)
    held = denials_of_locks(own) if own else own
    return held | standing_bridges(own) if default_allow is True else held


def emergency_of(reading: Reading) -> Mapping[AclBinding, BreakGlass]:
    """The break-glass access that was running when the cluster was read: a plan leaves it until its end."""
    return running_break_glass(frozenset(reading.leftovers), _taken(reading)) if reading.leftovers else {}


def kept_emergency(emergency: Iterable[BreakGlass]) -> Iterator[Skipped]:
    """What a drift report says of it."""
    known = {item.binding: item for item in emergency}
    for binding in sorted(known):
        change = Delete(binding)
        yield Skipped(SkipReason.BREAK_GLASS, describe(change), not_yet(change, known) or "", change)


def left_over(reading: Reading, default_allow: bool | None) -> tuple[Skipped, ...]:
    """What was there without a run that could have been going on when the cluster was read."""
    if not reading.leftovers:
        return ()
    live = ClusterState(reading.cluster_id, frozenset(reading.leftovers))
    taken = _taken(reading)
    runs = going_on(live, taken)
    theirs = frozenset(binding for run in runs for binding in run.bindings)
    theirs |= break_glass_marks(live.bindings, taken) | lock_marks(live.bindings) | unlock_marks(live.bindings, taken)
    left = left_behind(without_live_bridges(live, runs, default_allow=default_allow), default_allow, theirs)
    return (*partial_locks(locks(live.bindings)), *left)


def _taken(reading: Reading) -> datetime.datetime:
    return datetime.datetime.fromisoformat(reading.taken)


# Lists of units over Spark's tasks, without a shuffle: task *n* gets list *n*, and returns lines of text.
#
# A task that is lost is run again by Spark, and only the lines of the attempt that ended well come back: nothing is
# lost and nothing doubled, as long as what a task does may be done twice.

T = TypeVar("T")
R = TypeVar("R")
#: What runs in a task: the units of one list and the attempt's name in; lines out.
Work = Callable[[Sequence[T], str], Iterable[str]]

#: Starting a task takes some 40 ms, in which a core compares 100,000 rows: a task has to be worth that.
ROWS_IN_A_TASK: Final = 500_000
#: To evaluate access takes so much longer than to compare rows.
EVALUATED_IN_A_TASK: Final = 50_000
#: As many bytes of logs are counted in some seconds.
BYTES_IN_A_TASK: Final = 64 * 1024**2
#: Clusters for whose sake a task reads the manifests: some milliseconds each, once it has read them.
CLUSTERS_IN_A_TASK: Final = 16


def task_count(session: SparkSession, size: int, in_a_task: int) -> int:
    """Into how many lists so much work is worth being shared out, ``in_a_task`` of it in each.

    By the work, whatever number of executors is there now: more may come (dynamic allocation begins with none). Every
    core that is there gets something all the same.
    """
    return max(int(session.sparkContext.defaultParallelism), -(-size // in_a_task))


def run_tasks(
    session: SparkSession, lists: Sequence[Sequence[T]], work: Work[T], doing: str, group: str = ""
) -> list[str]:
    """Run ``work`` on each list in a task of its own; all lines, in the order of the lists.

    Spark's page says what the job is ``doing``; :func:`ended_jobs` ends those of a ``group``.
    """
    if not lists:
        return []
    context = session.sparkContext
    context.setLocalProperty("spark.jobGroup.id", group)
    context.setJobDescription(f"reconciler: {doing}")
    # Through a broadcast each worker gets the lists once, and a task's description stays small.
    # (Broadcasts use plain pickle, which does not know what a script defines itself; this one does.)
    shared = context.broadcast([_pickled(part) for part in lists])

    def task(number: int, _: Iterable[int]) -> Iterator[str]:
        here = TaskContext.get()
        attempt = f"{here.stageId()}-{here.taskAttemptId()}" if here else "driver"
        yield from work(cloudpickle.loads(shared.value[number]), attempt)

    try:
        # Not mapInArrow, which wants pandas: what passes through Spark here is a line for each unit, no data.
        lines: list[str] = context.parallelize(range(len(lists)), len(lists)).mapPartitionsWithIndex(task).collect()
    finally:
        shared.unpersist()
        context.setJobDescription("")
    return lines


# Jobs whose tasks change something outside of Spark, which may run them only once.

#: Spark begins no task twice: neither beside one that is slow, nor after one that failed.
_ONCE: Final = {"spark.speculation": "false", "spark.task.maxFailures": "1"}


def refuse_copies(session: SparkSession) -> None:
    """Raise :class:`WorkflowError` where Spark begins slow tasks a second time, and kills the one that is later.

    A session that was there before has the settings of whoever made it, or of a platform.
    """
    if session.sparkContext.getConf().get("spark.speculation", "false").lower() != "false":
        message = "spark.speculation is on in this Spark session, so two tasks could change one cluster"
        raise WorkflowError(f"{message}: nothing was sent", "begin a session with spark.speculation=false")


def begun_before() -> bool:
    """Whether Spark has begun this task before: it lost a worker for reasons that do not count as a failure."""
    here = TaskContext.get()
    return here is not None and here.attemptNumber() > 0


@contextmanager
def ended_jobs(session: SparkSession, group: str) -> Iterator[None]:
    """Where the block ends by an error, the jobs of ``group`` that are left in other threads end too."""
    try:
        yield
    except BaseException:
        with suppress(Exception):  # the session may have ended, and its jobs with it
            session.sparkContext.cancelJobGroup(group)
        raise


def task_frame(session: SparkSession, lists: Sequence[Sequence[T]], work: Work[T], schema: str) -> DataFrame:
    """What ``work`` says of each list as rows, a line of JSON each with the columns of ``schema``; done when asked."""
    if not lists:
        return session.createDataFrame([], schema)
    context = session.sparkContext
    shared = context.broadcast([_pickled(part) for part in lists])

    def task(number: int, _: Iterable[int]) -> Iterator[tuple[Any, ...]]:
        for line in work(cloudpickle.loads(shared.value[number]), str(number)):
            yield tuple(json.loads(line))

    rows = context.parallelize(range(len(lists)), len(lists)).mapPartitionsWithIndex(task)
    return session.createDataFrame(rows, schema)


def in_time(units: Sequence[T], work: Callable[[T], R], at_once: int, timeout: float) -> Iterator[tuple[T, R | None]]:
    """What ``work`` makes of each unit, some at once in threads; ``None`` where nothing came in ``timeout`` seconds.

    The next one begins as soon as any has ended: one that takes long holds back no other.
    """
    waiting, running = deque(units), dict[Future[R], tuple[T, float]]()
    # A thread for each, if all of them never end; one that is idle is used again. Not as a context manager: one that
    # never ends must not keep the task from ending.
    pool = ThreadPoolExecutor(max(1, len(units)))
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                unit = waiting.popleft()
                running[pool.submit(work, unit)] = unit, time.monotonic() + timeout
            first = min(deadline for _, deadline in running.values())
            for future in wait(running, max(0.0, first - time.monotonic()), FIRST_COMPLETED).done:
                yield running.pop(future)[0], future.result()
            for future, (unit, deadline) in list(running.items()):
                if deadline <= time.monotonic() and not future.done():
                    del running[future]
                    yield unit, None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _pickled(part: Sequence[T]) -> bytes:
    data: bytes = cloudpickle.dumps(list(part))  # type: ignore[no-untyped-call]
    return data


def reason(error: BaseException) -> str:
    """An unexpected error in a few words: its type and the line of ours where it arose, no value that it carries."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if "reconciler" in frame.filename]
    place = f" at {places[-1].filename.rpartition('reconciler/')[2]}:{places[-1].lineno}" if places else ""
    return f"{type(error).__name__}{place}"
