"""The Spark session: local by default, quiet, bound to loopback, without its UI unless somebody asks."""

import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import SparkSession

from reconciler.adapters.child_environment import child_environment
from reconciler.model import FrozenMap

LOCAL: Final = "local[*]"
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
    more: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] = FrozenMap(),
) -> Iterator[SparkSession]:
    """A session that ends with the block; one that is there already is used as it is and stays.

    Without ``master`` what spark-submit says counts, and without that all cores of this machine. Of our environment
    the JVM and its workers get what they need to run, and ``secrets``: what tasks have to know to log in somewhere.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
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
        builder = SparkSession.builder.appName("reconciler fleet")
        for key, value in {**_settings(scratch, ui=ui), **(more or {})}.items():
            builder = builder.config(key, value)
        if master or not submitted:
            builder = builder.master(master or LOCAL)
            if (master or LOCAL).startswith("local"):
                # Else Spark asks what this machine is called, and does not start if that is unknown.
                os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
                builder = builder.config("spark.local.dir", scratch)
                builder = builder.config("spark.driver.host", "127.0.0.1")
                builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
        # Says a second time, as JSON on stderr, what the exception says.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
        # Tells of an interruption at length.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        with _environment({**child_environment(*_OF_SPARK), **secrets}):
            session = _started(builder, os.path.join(scratch, "stderr"))
        if threading.current_thread() is threading.main_thread():
            # PySpark's own handler asks the JVM in the middle of another answer, and tells of it at length.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def _environment(given: Mapping[str, str]) -> Iterator[None]:
    """Our environment is only what is ``given``; what is set meanwhile stays.

    PySpark starts the JVM with the environment as it is, and the JVM its workers with its own: there is no other way
    to say what they get.
    """
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(given)
    try:
        yield
    finally:
        added = {name: value for name, value in os.environ.items() if given.get(name) != value}
        os.environ.clear()
        os.environ.update({**before, **added})


def _started(builder: Any, log: str) -> SparkSession:
    """Start, with what the JVM and its workers print kept in ``log``: it is noise, and shown if the start fails."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(log, "w+b") as file:
        os.dup2(file.fileno(), 2)
        try:
            session: SparkSession = builder.getOrCreate()
        except BaseException:
            file.seek(0)
            os.write(kept, file.read()[-8192:])
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)
    return session


def _settings(scratch: str, *, ui: bool) -> dict[str, str]:
    log = os.path.join(scratch, "log4j2.properties")
    with open(log, "w", encoding="utf-8") as file:
        file.write(_QUIET)
    return {
        "spark.ui.enabled": str(ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file://{log}",
        "spark.executorEnv.POLARS_MAX_THREADS": "1",
        "spark.executorEnv.PYTHONSAFEPATH": "1",
        "spark.python.worker.reuse": "true",
        # A name such as 007 stays a text.
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
    }
