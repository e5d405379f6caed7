"""Sessions of commands: where a machine has no name, beside secrets, and what is said where Spark fails."""

import gc
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyspark
import pytest
from pyspark.sql import SparkSession

import reconciler
from reconciler.app.options import ConnectionOptions, MoveOptions
from reconciler.app.reasons import WorkflowError
from reconciler.apply.environment import LeaseRequest
from reconciler.parts.fleet.app.apply import ApplyTerms, ChildTask, MemberJob, begun_again, task_of
from reconciler.parts.fleet.app.engines import spark as spark_of
from reconciler.parts.fleet.engine import Engine, LocalEngine
from reconciler.parts.fleet.spark.engine import SparkEngine

pytestmark = pytest.mark.spark

SECRET = "not for a task"
#: What a session counts, what a task of it gives back, the environments of a worker, of its JVM and of the script; and
#: what it has of the settings that an operator and this tool want otherwise.
_SCRIPT = """\
import json, os
from reconciler.app.options import ConnectionOptions
from reconciler.parts.fleet.app.engines import EngineName, EngineOptions, chosen_engine, task_secrets

names = ("app.name", "sql.shuffle.partitions", "speculation", "task.maxFailures", "master", "ui.enabled", "local.dir")
asked = task_secrets(connection=ConnectionOptions(allow_env=("KAFKA_PASSWORD",)))
told = []
with chosen_engine(EngineOptions(EngineName.SPARK, secrets=asked, once=3), told.append) as choice:
    engine = choice.on_spark()
    context = engine.session.sparkContext
    counted = engine.session.range(3).count()
    ran = engine.run([["a"]], lambda units, attempt: units, "echo")
    worker = context.parallelize([0], 1).map(lambda _: dict(os.environ)).collect()[0]
    system = context._jvm.java.lang.System
    jvm = system.getenv()
    settings = {name: context.getConf().get(f"spark.{name}") for name in names}
    java = [system.getProperty("trust"), system.getProperty("log4j2.configurationFile")]
    print(json.dumps([counted, ran, worker, {name: jvm[name] for name in jvm}, dict(os.environ), settings, java, told]))
"""


class Said(NamedTuple):
    """What the script prints."""

    counted: int
    ran: list[str]
    worker: dict[str, str]
    jvm: dict[str, str]
    ours: dict[str, str]
    settings: dict[str, str]
    java: list[str]
    told: list[str]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """Where the machine has no name, in a directory of modules that are not what they say, beside secrets.

    The operator has settings for Spark, too. One session for all of this: its JVM takes eight seconds of a processor.
    """
    directory = tmp_path_factory.mktemp("nowhere")
    hosts = directory / "hosts"
    hosts.write_text("127.0.0.1 localhost\n", encoding="utf-8")
    script = directory / "elsewhere" / "script.py"
    script.parent.mkdir()
    script.write_text(_SCRIPT, encoding="utf-8")
    for name in ("json", "types", "secrets", "reconciler"):
        (directory / f"{name}.py").write_text("raise SystemExit('was run')\n", encoding="utf-8")
    (script.parent / "spark-defaults.conf").write_text(
        "spark.speculation true\nspark.driver.extraJavaOptions -Dtrust=store -XX:+UseParallelGC\n", encoding="utf-8"
    )
    words = "--name nightly --conf spark.sql.shuffle.partitions=40 --conf spark.task.maxFailures=4 pyspark-shell"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_LOCAL")}
    environment |= {"SPARK_CONF_DIR": str(script.parent), "PYSPARK_SUBMIT_ARGS": words}
    exported = {"AWS_SECRET_ACCESS_KEY": SECRET, "GITHUB_TOKEN": SECRET, "KAFKA_PASSWORD": "of-the-tasks"}
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        env={**environment, **exported, "JAVA_TOOL_OPTIONS": f"-Djdk.net.hosts.file={hosts}"},
    )
    assert done.returncode == 0, done.stderr
    return Said(*json.loads(done.stdout))


def test_a_local_session_needs_no_host_name(said: Said) -> None:
    assert said.counted == 3


def test_nothing_in_the_directory_is_run_by_workers(said: Said) -> None:
    assert said.ran == ["a"]


def test_spark_gets_no_secret_but_those_that_its_tasks_log_in_with(said: Said) -> None:
    """A task of a fleet runs next to whatever else the operator has exported; the JVM and each worker could be read."""
    for environment in (said.worker, said.jvm):
        assert SECRET not in environment.values()
        assert environment["KAFKA_PASSWORD"] == "of-the-tasks"
    assert said.ours["AWS_SECRET_ACCESS_KEY"] == SECRET


def test_a_failure_of_spark_says_why(spark: SparkSession) -> None:
    with (
        pytest.raises(WorkflowError, match=r'Spark failed: .*No FileSystem for scheme "nowhere"'),
        spark_of(),
    ):
        spark.read.schema("a string").parquet("nowhere://place/file.parquet").collect()


def test_what_a_session_says_of_speculation_does_not_hide_what_its_context_does(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    SparkEngine(spark).refuse_copies()
    monkeypatch.setattr(spark.sparkContext, "getConf", lambda: {"spark.speculation": "true"})
    assert str(spark.conf.get("spark.speculation", "false")) == "false"
    with pytest.raises(WorkflowError, match=r"spark\.speculation is on"):
        SparkEngine(spark).refuse_copies()


@pytest.mark.parametrize(
    ("module", "why", "advice"),
    [
        ("reconciler.none", "No module named 'reconciler.none'", "does not find this package: hand it over"),
        ("nowhere", "No module named 'nowhere'", "PYSPARK_PYTHON"),
        ("", "FileNotFoundError: no such bucket", "correct the cause"),
    ],
)
def test_what_fails_in_a_worker_is_told_as_the_worker_says_it(
    spark: SparkSession, module: str, why: str, advice: str
) -> None:
    def work(_: object, __: str) -> list[str]:
        if module:
            importlib.import_module(module)
        raise FileNotFoundError("no such bucket\n  in this region")

    with (
        pytest.raises(WorkflowError, match=r"^Spark failed: \w+Error: ") as found,
        spark_of(),
    ):
        SparkEngine(spark).run([[None]], work, "fail")
    assert why in found.value.message
    assert advice in found.value.advice


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


def _collector(_: Sequence[str], __: str) -> list[str]:
    return [str(gc.get_threshold()[0]), str(gc.get_freeze_count())]


def test_a_worker_does_not_look_for_garbage_among_what_tasks_before_left(spark: SparkSession) -> None:
    first, _ = SparkEngine(spark).run([["a"]], _collector, "collector")
    rare, still = SparkEngine(spark).run([["a"]], _collector, "collector")
    assert int(first) == int(rare) > 100_000
    assert int(still) > 10_000


def test_an_operator_s_settings_count_but_for_those_that_fence_effects(said: Said) -> None:
    found = dict(said.settings)
    assert found.pop("local.dir")
    assert found == {
        "app.name": "nightly",
        "sql.shuffle.partitions": "40",
        "speculation": "false",
        "task.maxFailures": "1",
        "master": "local[3]",
        "ui.enabled": "false",
    }
    trust, log = said.java
    assert (trust, log.startswith("file://")) == ("store", True)
    assert [text.split()[2] for text in said.told] == ["spark.speculation", "spark.task.maxFailures"]


def _in_turn(heard: str, units: Sequence[str], _: str) -> list[str]:
    """The other task ends once this file says that the end of the first was heard."""
    until = time.monotonic() + 120
    while units != ["a", "b"] and not os.path.exists(heard):
        assert time.monotonic() < until, "nobody hears of the task that has ended"
        time.sleep(0.02)
    return [f"!{unit}" if unit == "b" else unit for unit in units]


def _odd(line: str) -> dict[str, int]:
    return {"odd": int(line.startswith("!"))}


@pytest.mark.parametrize("local", [True, False])
def test_how_far_tasks_are_is_heard_while_others_are_at_work(
    local: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    heard: list[tuple[str, int, int, dict[str, int]]] = []

    def watch(doing: str, ended: int, size: int, counts: Mapping[str, int]) -> None:
        heard.append((doing, ended, size, dict(counts)))
        if ended == 2:
            (tmp_path / "heard").touch()

    work = partial(_in_turn, str(tmp_path / "heard"))
    engine = LocalEngine(watch) if local else SparkEngine(request.getfixturevalue("spark"), watch=watch)
    lines = engine.run([["a", "b"], ["c"]], work, "wait", tally=_odd)
    assert lines == ["a", "!b", "c"]
    assert ("wait", 2, 3, {"odd": 1}) in heard
    heard.clear()
    engine.run([["a", "b"]], work, "wait")  # nobody counts
    assert heard == []


def _task_text(jobs: Sequence[MemberJob], _: str, *, scratch: Path, terms: ApplyTerms) -> list[str]:
    return [task_of(job, scratch, terms).text() for job in jobs]


def test_the_process_of_a_cluster_gets_the_same_task_on_every_engine(engine: Engine, tmp_path: Path) -> None:
    """How fast replicas move, the lease, who applies: what a task tells the process is all that this one knows."""
    moves = MoveOptions(throttle=50 * 2**20, batch_partitions=3, batch_bytes=2**30)
    connection = ConnectionOptions(secrets_dirs=("secrets",))
    terms = ApplyTerms(connection, at_once=2, moves=moves, breaks=("kr-run",)).everywhere()
    job = MemberJob("prod", "plan-1", "{}", str(tmp_path / "prod.journal"))
    work = partial(_task_text, scratch=tmp_path, terms=terms)
    (line,) = engine.run([[job]], work, "fleet apply: prod", "group", begun_again)
    got, expected = ChildTask.parse(line), task_of(job, tmp_path, terms)
    assert replace(got, environment={}) == replace(expected, environment={})
    assert (got.moves, got.lease) == (moves, LeaseRequest(terms.records.who(), ("kr-run",)))
