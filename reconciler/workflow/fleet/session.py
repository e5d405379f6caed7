"""A Spark session for a use case; what fails in it is a reason like any other."""

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from reconciler.adapters.spark.session import spark_session
from reconciler.workflow.reasons import WorkflowError


@contextmanager
def spark(master: str | None = None, *, ui: bool = False) -> Iterator[SparkSession]:
    """A session on ``master``, as spark-submit says, or on all cores; with ``ui``, with Spark's own web page."""
    try:
        with spark_session(master, ui=ui) as session:
            yield session
    except (PySparkException, Py4JError) as error:
        raise WorkflowError(
            f"Spark failed: {_cause(error)}", "a run that is not complete is not there; start again"
        ) from error


def _cause(error: Exception) -> str:
    """One line; py4j puts what was called before it, which tells nobody anything."""
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]
    return lines[0] if lines else type(error).__name__
