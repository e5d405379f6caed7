"""A fleet's commands killed on a standalone Spark cluster: no cluster ever has two writers, no result is half of one.

The processes of clusters are played: they say when they begin and how they end, and go on until they are let go.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fleet.spark_cluster import spark_cluster
from reconciler.app.reasons import HeldError
from reconciler.cli.main import run
from reconciler.parts.fleet.app.runs import RECORD_FILE, plan_lock
from reconciler.parts.fleet.tables import store_at
from tests.integration.fleet.test_connect import without_times
from tests.unit.workflow.test_fleet_killed import FLEET, saved

# A master, two workers, eleven drivers: four minutes. Each wait has an end of its own, which a busy machine needs.
pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(2_000)]

#: The process of a cluster: it holds on until there is a file that lets it go, or the task that began it is gone.
_WRITER = """
import json, os, pathlib, select, sys, time
task = json.loads(sys.stdin.readline())
marks, name = pathlib.Path(MARKS), pathlib.Path(task["plan_file"]).stem
(marks / f"{name}.{os.getpid()}.begun").touch()
while not (marks / f"{name}.go").exists():
    if select.select([0], [], [], 0.05)[0] and not os.read(0, 1):
        sys.exit(1)
pathlib.Path(task["result_file"]).write_text('{"reason": "", "done": 2}')
"""
#: `fleet apply` in a session of ours, or in one that was there before, which copies slow tasks.
_DRIVER = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession
from reconciler.app.manifests import read_sources
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import WorkflowError
from reconciler.parts.fleet.app import apply as performing
from reconciler.parts.fleet.proposal import ApplyRecord
from reconciler.parts.fleet.spark.engine import SparkEngine
from reconciler.parts.fleet.spark.session import starting_session

master, mode, root, writer = sys.argv[1:]

def played(jobs, attempt, *, terms, texts):
    from reconciler.parts.fleet.app import apply as there
    there._CHILD = writer
    yield from there.apply_member(jobs, attempt, terms=terms, texts=texts)

performing.apply_member = played

def perform(engine):
    fleet = performing.FleetApply.saved(Path(root, "plans"))
    terms = performing.ApplyTerms(ConnectionOptions(), at_once=2)
    for event in fleet.perform(engine, read_sources(str(Path(root, "m"))), terms):
        if isinstance(event, ApplyRecord):
            print(json.dumps([event.cluster, event.reason, event.message]), flush=True)

if mode == "theirs":
    theirs = SparkSession.builder.master(master).getOrCreate()
    try:
        perform(SparkEngine(theirs))
    except WorkflowError as error:
        print(json.dumps(["", "refused", str(error)]), flush=True)
    SparkEngine.refuse_copies = lambda engine: None
with starting_session(master, once=2) as session:
    perform(SparkEngine(session()))
"""
#: A task that takes longer than this is copied; a writer has begun by then.
_THRESHOLD = 10
_SPECULATION = {"quantile": "0.1", "multiplier": "1.1", "interval": "100ms"}
_SECONDS = 400.0


def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while not true():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class Fleet:
    """Plans of clusters a and b, then c; whoever writes to them leaves marks."""

    def __init__(self, root: Path, master: str) -> None:
        self.root, self.master = saved(root, FLEET), master
        self.marks = root / "marks"
        self.marks.mkdir()
        (root / "driver.py").write_text(_DRIVER, encoding="utf-8")

    def let_go(self, *names: str) -> None:
        for name in names:
            (self.marks / f"{name}.go").touch()

    def writers(self, name: str) -> list[int]:
        return [int(mark.name.split(".")[1]) for mark in self.marks.glob(f"{name}.*.begun")]

    def at_work(self, name: str) -> list[int]:
        return [pid for pid in self.writers(name) if is_alive(pid)]

    def records(self) -> list[Any]:
        file = self.root / "plans" / RECORD_FILE
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []

    def apply(self, mode: str = "ours") -> "subprocess.Popen[str]":
        threshold = {"task.duration.threshold": f"{1 if mode == 'ours' else _THRESHOLD}s"}
        speculation = "".join(
            f" --conf spark.speculation.{name}={value}" for name, value in {**_SPECULATION, **threshold}.items()
        )
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": f"--conf spark.speculation=true{speculation} pyspark-shell",
            "PYTHONPATH": os.getcwd(),
        }
        writer = _WRITER.replace("MARKS", repr(str(self.marks)))
        words = [sys.executable, str(self.root / "driver.py"), self.master, mode, str(self.root), writer]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def ended(driver: "subprocess.Popen[str]") -> list[tuple[str, str, str]]:
    """The records that a driver told of: cluster, reason, message."""
    out, err = driver.communicate(timeout=_SECONDS)
    assert driver.returncode == 0, err
    return [tuple(json.loads(line)) for line in out.splitlines()]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with spark_cluster(tmp_path_factory.mktemp("spark")) as (url, _):
        yield url


def test_one_writer_though_speculation_is_asked_for_and_an_executor_and_the_driver_are_killed(
    master: str, tmp_path: Path
) -> None:
    fleet = Fleet(tmp_path / "fleet", master)
    fleet.let_go("b")
    driver = fleet.apply()
    try:
        until(lambda: bool(fleet.records() and fleet.writers("a")), "b has ended, a is at work")
        # The record of a cluster is on disk as soon as it has ended.
        assert [(one["cluster"], one["reason"]) for one in fleet.records()] == [("b", "")]
        with pytest.raises(HeldError, match="another process"), plan_lock(fleet.root / "plans"):
            pass
        time.sleep(3)  # by far more than it takes Spark to copy a slow task, if it may
        [writer] = fleet.writers("a")
        os.kill(parent(parent(parent(writer))), signal.SIGKILL)
        told = ended(driver)
    finally:
        driver.kill()
    assert [(name, reason) for name, reason, _ in told] == [("b", ""), ("a", "unknown")]
    assert "its outcomes are unknown" in told[1][2]
    until(lambda: not fleet.at_work("a"), "what wrote to a has ended")

    driver = fleet.apply()
    try:
        until(lambda: len(fleet.writers("a")) == 2, "a is at work again")
    finally:
        driver.kill()
        driver.communicate()
    until(lambda: not fleet.at_work("a"), "what wrote to a has ended")

    fleet.let_go("a", "c")
    assert [(name, reason) for name, reason, _ in ended(fleet.apply())] == [("a", ""), ("c", "")]
    assert [len(fleet.writers(name)) for name in "abc"] == [3, 1, 1]


def test_a_session_that_copies_slow_tasks_is_refused_and_a_copy_writes_nothing(master: str, tmp_path: Path) -> None:
    fleet = Fleet(tmp_path / "fleet", master)
    fleet.let_go("b")
    refused, *told = ended(fleet.apply("theirs"))
    assert refused[1] == "refused"
    assert "spark.speculation is on" in refused[2]
    # Where nobody refuses, the copy ends first, and Spark kills the task that was at work: how far it came is unknown.
    assert {name: reason for name, reason, _ in told} == {"a": "unknown", "b": ""}
    assert next(message for name, _, message in told if name == "a").startswith("Spark began its task again")
    assert len(fleet.writers("a")) == 1
    until(lambda: not fleet.at_work("a"), "what wrote to a has ended")


#: `fleet snapshot`, `drift` and `plan`, whose tasks say that they have begun and go on when they are let go.
_OTHERS = """
import sys
from reconciler.cli.main import run
from reconciler.parts.fleet import readings
from reconciler.parts.fleet.app import plan
from reconciler.parts.fleet.tasks import comparing

marks, *words = sys.argv[1:]

def held(attempt):
    import os, pathlib, time
    (pathlib.Path(marks) / f"task-{attempt}.{os.getpid()}.begun").touch()
    while not (pathlib.Path(marks) / "go").exists():
        time.sleep(0.05)

def planned(clusters, attempt, *, terms):
    from reconciler.parts.fleet.app import plan as there
    held(attempt)
    yield from there.plan_members(clusters, attempt, terms=terms)

def compared(units, attempt, *, store, name):
    from reconciler.parts.fleet.tasks import comparing as there
    held(attempt)
    yield from there._compare_all(units, attempt, store=store, name=name)

def read(sources, attempt, *, store, side, taken, patience):
    from reconciler.parts.fleet import readings as there
    held(attempt)
    yield from there._read_all(sources, attempt, store=store, side=side, taken=taken, patience=patience)

plan.plan_members, comparing._compare_all, readings._read_all = planned, compared, read
sys.exit(run(words))
"""


@pytest.mark.parametrize("what", ["snapshot", "drift", "plan"])
def test_an_answer_is_whole_or_not_there_at_all_whoever_is_killed(
    master: str, tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root, marks = saved(tmp_path / "fleet", FLEET), tmp_path / "marks"
    marks.mkdir()
    live, store, out = str(root / "live"), root / "store", root / "new"
    assert run(["fleet", "snapshot", str(root / "m"), "--store", str(store), "--snapshots", live, "--quiet"]) == 0
    apart, before = Path(shutil.copytree(store, root / "apart")), store_at(str(store)).run_ids()
    words = {
        "snapshot": ["snapshot", str(root / "m"), "--snapshots", live, "--store"],
        "plan": ["plan", str(root / "m"), "--snapshots", live, "--allow-deletes", "--out"],
        "drift": ["drift", str(root / "m"), "--store"],
    }[what]
    here, there = (root / "here", out) if what == "plan" else (apart, store)
    capsys.readouterr()
    status = run(["fleet", *words, str(here), "--engine", "local", "--output", "json"])
    expected = without_times(json.loads(capsys.readouterr().out))

    def driver() -> "subprocess.Popen[str]":
        for mark in marks.iterdir():
            mark.unlink()
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        command = [sys.executable, "-c", _OTHERS, str(marks), "fleet", *words, str(there), "--master", master]
        return subprocess.Popen(
            [*command, "--output", "json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=root,
        )

    def workers() -> list[int]:
        return [int(mark.name.split(".")[1]) for mark in marks.glob("*.begun")]

    killed = driver()
    try:
        until(lambda: len(workers()) == 2, "both tasks are at work")
    finally:
        killed.kill()
        killed.communicate()
    assert not (out / "fleet.json").exists()
    assert not [*store.rglob("drift*.json")]
    assert store_at(str(store)).run_ids() == before
    until(lambda: not any(map(is_alive, workers())), "the tasks have ended")

    again = driver()
    try:
        until(lambda: len(workers()) == 2, "both tasks are at work")
        first, *_ = workers()
        os.kill(parent(parent(first)), signal.SIGKILL)
        until(lambda: len(workers()) == 3, "the task that was lost is at work again")
        (marks / "go").touch()
        told, err = again.communicate(timeout=_SECONDS)
    finally:
        again.kill()
    assert again.returncode == status, err
    assert without_times(json.loads(told)) == expected
    assert (out / "fleet.json").exists() is (what == "plan")
    assert bool([*store.rglob("drift*.json")]) is (what == "drift")
    assert len(store_at(str(store)).run_ids()) == len(before) + (what == "snapshot")


#: Tasks of a session that begins without an executor: how many there are, and where each ran.
_FROM_ZERO = """
import sys
from reconciler.parts.fleet.spark.engine import SparkEngine
from reconciler.parts.fleet.spark.session import starting_session

with starting_session(sys.argv[1]) as session:
    engine = SparkEngine(session())
    executors = session().sparkContext._jsc.sc().getExecutorMemoryStatus
    lists = [[number] for number in range(engine.task_count(200, 16))]
    assert executors().size() == 1  # the driver
    print(len(lists), *engine.run(lists, lambda units, _: [f"{units[0]}"], "count"), sep=",")
    assert executors().size() > 1
"""


def test_tasks_are_by_the_work_where_no_executor_is_there_yet(master: str, tmp_path: Path) -> None:
    allocation = {"enabled": "true", "minExecutors": "0", "initialExecutors": "0", "shuffleTracking.enabled": "true"}
    words = [f"--conf spark.dynamicAllocation.{name}={value}" for name, value in allocation.items()]
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{' '.join(words)} pyspark-shell",
    }
    command = [sys.executable, "-c", _FROM_ZERO, master]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=_SECONDS, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == ",".join(map(str, [13, *range(13)]))
