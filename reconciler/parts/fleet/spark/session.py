"""The Spark session: local by default, quiet, bound to loopback, without its UI unless somebody asks."""

import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.model.frozen import FrozenMap
from reconciler.parts.fleet.spark.jvm import Jvm, operator_settings
from reconciler.system.process import child_environment

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

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
def spark_session(master: str | None = None, *, secrets: Mapping[str, str] = FrozenMap()) -> "Iterator[SparkSession]":
    """A session that ends with the block; one that is there already is used as it is and stays.

    Without ``master`` what spark-submit says counts, and without that all cores of this machine. Of our environment
    the JVM and its workers get what they need to run, and ``secrets``: what tasks have to know to log in somewhere.
    """
    with starting_session(master, secrets=secrets) as session:
        yield session()


@contextmanager
def starting_session(
    master: str | None = None,
    *,
    secrets: Mapping[str, str] = FrozenMap(),
    workers: bool = False,
    once: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Session]:
    """As :func:`spark_session`, with a JVM that starts meanwhile, until the session is asked for.

    With ``workers``, Python workers of this machine start as soon as they can. With ``once``, tasks change clusters:
    Spark begins each of them once, and so many at a time on this machine, where they wait for brokers rather than
    compute. What the operator sets for Spark counts before what is usual here, but not before that on which results
    rest; which settings do not count is said by ``tell``. A ``master`` ``sc://…``, or ``SPARK_REMOTE`` without one, is
    a server of Spark Connect, whose own settings count. Imports nothing of PySpark.
    """
    active = _active()
    if active is not None:
        yield lambda: active
        return
    if remote := remote_of(master):
        with _connected(remote) as session:
            yield session
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
        if local:
            # Else Spark asks what this machine is called, and does not start if that is unknown.
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            settings |= _local_settings(scratch)
        environment = {**child_environment(*_OF_SPARK), **secrets}
        own = _Settings(settings, fixed, tell)
        jvm = None if given is None or _has_jvm() else Jvm(own.beside(given), environment, Path(scratch))
        started: list[SparkSession] = []

        def session() -> "SparkSession":
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


def remote_of(master: str | None) -> str:
    """The address of the Spark Connect server that is meant; ``""`` where none is."""
    meant = os.environ.get("SPARK_REMOTE", "") if master is None else master
    return meant if meant.startswith("sc://") else ""


@contextmanager
def _connected(remote: str) -> Iterator[Session]:
    """A session of a Spark Connect server."""
    started: list[SparkSession] = []

    def session() -> "SparkSession":
        if not started:
            # Tells at length what the exception says.
            logging.getLogger("pyspark.sql.connect.client.logging").setLevel(logging.CRITICAL)
            started.append(_builder().remote(remote).getOrCreate())
        return started[0]

    try:
        yield session
    finally:
        for each in started:
            each.stop()


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


def _active() -> "SparkSession | None":
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


def _started(own: _Settings, given: Mapping[str, str] | None, *, workers: bool) -> "SparkSession":
    from pyspark import SparkConf, SparkContext

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
    builder = _builder()
    for key, value in settings.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    return session


def _builder() -> Any:
    from pyspark.sql import SparkSession

    return SparkSession.builder


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
    import reconciler.parts.fleet.tasks.comparing  # noqa: F401


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
#: Spark begins no task twice: neither beside one that is slow, nor after one that failed.
_ONCE: Final = {"spark.speculation": "false", "spark.task.maxFailures": "1"}
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
