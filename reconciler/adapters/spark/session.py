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

from reconciler.adapters.child_environment import child_environment
from reconciler.adapters.spark.class_archive import archive_option
from reconciler.adapters.spark.jvm import SHORT_LIVED, Jvm
from reconciler.model.frozen import FrozenMap

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

#: Waits until the session is there.
Session: TypeAlias = "Callable[[], SparkSession]"

LOCAL: Final = "local[*]"
#: More would be busy with starting while a task could run.
_EARLY_WORKERS: Final = 4
_QUIET = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
logger.shell.name = org.apache.spark.repl.Main
logger.shell.level = error
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n
"""


#: What configures Spark, Java and Hadoop, and the engines in Spark's tasks.
_OF_SPARK: Final = (
    *("SPARK_", "PYSPARK_", "_PYSPARK_", "JAVA_", "JDK_", "HADOOP_", "YARN_", "KRB5", "KUBE"),
    *("CLASSPATH", "ARROW_", "POLARS_", "OMP_"),
)


@contextmanager
def spark_session(
    master: str | None = None,
    *,
    ui: bool = False,
    more: Mapping[str, str] = FrozenMap(),
    secrets: Mapping[str, str] = FrozenMap(),
) -> "Iterator[SparkSession]":
    """A session that ends with the block; one that is there already is used as it is and stays.

    Without ``master`` what spark-submit says counts, and without that all cores of this machine. Of our environment
    the JVM and its workers get what they need to run, and ``secrets``: what tasks have to know to log in somewhere.
    """
    with starting_session(master, ui=ui, more=more, secrets=secrets) as session:
        yield session()


@contextmanager
def starting_session(
    master: str | None = None,
    *,
    ui: bool = False,
    more: Mapping[str, str] = FrozenMap(),
    secrets: Mapping[str, str] = FrozenMap(),
    workers: bool = False,
) -> Iterator[Session]:
    """As :func:`spark_session`, with a JVM that starts meanwhile, until the session is asked for.

    With ``workers``, Python workers of this machine start as soon as they can. Imports nothing of PySpark.
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
        place = "" if submitted and not master else master or LOCAL
        local = place.startswith("local")
        settings = {"spark.app.name": "reconciler fleet", **_settings(scratch, ui=ui)}
        if place:
            settings["spark.master"] = place
        if local:
            # Else Spark asks what this machine is called, and does not start if that is unknown.
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            settings |= _local_settings(scratch)
        settings |= more
        environment = {**child_environment(*_OF_SPARK), **secrets}
        jvm = None if submitted or _has_jvm() else Jvm(settings, environment, Path(scratch))
        started: list[SparkSession] = []

        def session() -> "SparkSession":
            if not started:
                with jvm.gateway() if jvm is not None else nullcontext():
                    started.append(_started(settings, workers=workers and local))
            return started[0]

        try:
            yield session
        finally:
            for each in started:
                each.stop()
            if jvm is not None and not started:
                jvm.end()


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


def _started(settings: Mapping[str, str], *, workers: bool) -> "SparkSession":
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    # Says a second time, as JSON on stderr, what the exception says.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    # Tells of an interruption at length.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
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


def _start_workers(context: "SparkContext") -> None:
    """Some workers begin to load what tasks need; those that are too late load it with their first task."""
    count = min(_EARLY_WORKERS, context.defaultParallelism)
    with suppress(Exception):  # the session may have ended already; a real task meets the same trouble, and says so
        context.parallelize(range(count), count).foreach(_load)


def _load(_: int) -> None:
    import reconciler.adapters.spark.comparing  # noqa: F401


def _settings(scratch: str, *, ui: bool) -> dict[str, str]:
    log = os.path.join(scratch, "log4j2.properties")
    with open(log, "w", encoding="utf-8") as file:
        file.write(_QUIET)
    return {
        "spark.ui.enabled": str(ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file://{log} {SHORT_LIVED} {archive_option()}",
        "spark.executorEnv.POLARS_MAX_THREADS": "1",
        "spark.executorEnv.PYTHONSAFEPATH": "1",
        "spark.python.worker.reuse": "true",
        # A name such as 007 stays a text.
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
    }


def _local_settings(scratch: str) -> dict[str, str]:
    """What holds for a session whose tasks run on this machine, beside the JVM that is the driver."""
    return {
        "spark.local.dir": scratch,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.python.daemon.module": "reconciler.adapters.spark.daemon",
        # Workers run the code that we run, wherever it is.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
