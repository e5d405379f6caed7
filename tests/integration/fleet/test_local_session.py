"""Sessions of commands: where a machine has no name, and what is said where Spark fails."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import reconciler
from reconciler.app.reasons import WorkflowError
from reconciler.parts.fleet.app.members import spark as spark_of

pytestmark = pytest.mark.spark

#: What a session counts, and what a task of it gives back.
_SCRIPT = """\
from reconciler.parts.fleet.spark.session import spark_session
from reconciler.parts.fleet.spark.session import run_tasks

with spark_session("local[1]") as session:
    print(session.range(3).count())
    print(run_tasks(session, [["a"]], lambda units, attempt: units, "echo"))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the script prints where the machine has no name, in a directory of modules that are not what they say."""
    directory = tmp_path_factory.mktemp("nowhere")
    hosts = directory / "hosts"
    hosts.write_text("127.0.0.1 localhost\n", encoding="utf-8")
    script = directory / "elsewhere" / "script.py"
    script.parent.mkdir()
    script.write_text(_SCRIPT, encoding="utf-8")
    for name in ("json", "types", "secrets", "reconciler"):
        (directory / f"{name}.py").write_text("raise SystemExit('was run')\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_LOCAL")}
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        env={**environment, "JAVA_TOOL_OPTIONS": f"-Djdk.net.hosts.file={hosts}"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_local_session_needs_no_host_name(said: list[str]) -> None:
    assert said[:1] == ["3"]


def test_nothing_in_the_directory_is_run_by_workers(said: list[str]) -> None:
    assert said[1:] == ["['a']"]


def test_a_failure_of_spark_says_why(spark: SparkSession) -> None:
    with (
        pytest.raises(WorkflowError, match=r'Spark failed: .*No FileSystem for scheme "nowhere"'),
        spark_of(),
    ):
        spark.read.schema("a string").parquet("nowhere://place/file.parquet").collect()


def _worker(_: int) -> tuple[str, str, int]:
    import pyspark

    import reconciler

    return reconciler.__file__ or "", pyspark.__file__, os.getppid()


def test_workers_are_forked_from_one_that_has_our_code_loaded(spark: SparkSession) -> None:
    found = set(spark.sparkContext.parallelize(range(4), 4).map(_worker).collect())
    [(ours, theirs, parent)] = found
    # Not from the zips that Spark puts first, without compiled code; and what the driver runs, not what is installed.
    assert (ours, theirs) == (reconciler.__file__, pyspark.__file__)
    assert "reconciler.parts.fleet.spark.daemon" in Path(f"/proc/{parent}/cmdline").read_text(encoding="utf-8")
