"""The same on a standalone Spark cluster: a master and two workers on loopback, whose Python has no project in it.

The code travels by ``spark-submit --py-files``, and while the fleet is read a worker's executor is killed.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

import reconciler
from benchmarks.fleet.spark_cluster import SPARK, spark_cluster
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.cli import pack
from reconciler.parts.fleet.readings import read_live
from reconciler.parts.fleet.spark.jvm import SHORT_LIVED, archive_option
from reconciler.parts.fleet.tables import store_at
from reconciler.snapshot.document import snapshot_text

pytestmark = [pytest.mark.spark, pytest.mark.long]  # a master, two workers, a driver and executors: two minutes

ROOT = Path(__file__).resolve().parents[3]
_COUNT = 12
#: How the blocks of the documents begin that tests run, in this order: the second one takes a file of the first.
_DOCUMENTED = ("reconciler fleet pack", "--py-files packed/kafka_reconciler.zip")
#: What a command says on stderr at most.
_MOST_LINES = 10
#: In one session, as on a cluster the start is most of the time: snapshot, drift, and a reading that takes a while.
_DRIVER = """
import json, sys, time
from functools import partial
from pathlib import Path
from reconciler.parts.fleet.readings import SnapshotSource, CollectionLimits, collect
from reconciler.parts.fleet.api import spark
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.fleet.app.members import read_file
from reconciler.cli.main import run
from reconciler.results.fleet_drift import FleetRun
from reconciler.model.scope import Scope

live, marks, *where = sys.argv[1:]
store = where[where.index("--store") + 1]

def slowly(file, marks):
    state = read_file(file)
    Path(marks, f"{Path(file).stem}.{time.time_ns()}").touch()
    time.sleep(1)
    return state

def place(units, attempt):
    import reconciler
    return [reconciler.__file__]

with spark() as engine:
    taken = run(["fleet", "snapshot", *where, "--snapshots", live])
    print("===", flush=True)
    compared = run(["fleet", "drift", *where])
    print("===", flush=True)
    print(json.dumps(engine.run([[None]] * 2, place, "places")), flush=True)
    files = sorted(Path(live).glob("*.json"))
    sources = [SnapshotSource(file.stem, Scope(), partial(slowly, str(file), marks)) for file in files]
    collect(engine, store_at(store), sources, FleetRun("slow", "now", ()), CollectionLimits(at_once=1))
sys.exit(0 if (taken, compared) == (0, 2) else 1)
"""


def python_without_the_project(directory: Path) -> str:
    """What the requirements give, and nothing else: a ``.pth`` adds a directory, not what ``.pth`` files in it name."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    packages = sysconfig.get_path("purelib", "venv", {"base": str(directory), "platbase": str(directory)})
    Path(packages, "requirements.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    python = str(directory / "bin" / "python")
    for module, there in (("pyspark", True), ("polars", True), ("reconciler.model", False)):
        found = subprocess.run([python, "-c", f"import {module}"], cwd=directory, capture_output=True, check=False)
        assert (found.returncode == 0) is there, module
    return python


def wheel(file: Path) -> Path:
    """The package as wheels have it: files, and no entries for directories."""
    home = Path(reconciler.__file__).parents[1]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in (home / "reconciler").rglob("*"):
            if part.is_file() and part.suffix != ".pyc":
                archive.write(part, part.relative_to(home))
    return file


def documented(page: str, begin: str) -> str:
    """The command of a page that begins so, as a shell reads it, with what comes before it in its block."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
    (block,) = (block for block in blocks if begin in block)
    return re.sub(r"^\$ ", "", block, flags=re.M).rstrip()


def executors(worker: int) -> list[int]:
    """The JVMs that a worker started for the driver; each thread of a process has children of its own."""
    tasks = Path(f"/proc/{worker}/task").iterdir()
    found = {int(child) for task in tasks for child in (task / "children").read_text().split()}
    return [pid for pid in found if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def binding(number: int) -> AclBinding:
    entry = AccessControlEntry(f"User:{number}", "*", AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(ResourceType.TOPIC, "a"), entry)


class Ran:
    """What the driver printed and left in the store, and how often each cluster was read while one was killed."""

    def __init__(self, directory: Path) -> None:
        for name in ("manifests", "live", "marks"):
            (directory / name).mkdir()
        text = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: c{}}}\nspec: {{}}\n"
        clusters = "---\n".join(text.format(number) for number in range(_COUNT))
        (directory / "manifests" / "clusters.yaml").write_text(clusters, encoding="utf-8")
        for number in range(_COUNT):
            state = ClusterState(f"id{number}", frozenset({binding(number)}))
            (directory / "live" / f"c{number}.json").write_text(snapshot_text(state), encoding="utf-8")
        self.directory = directory
        self.snapshot, self.drift, self.places = self._outputs()
        self.read = [mark.name.partition(".")[0] for mark in (directory / "marks").iterdir()]
        self.store = store_at(str(directory / "store"))

    def _outputs(self) -> list[Any]:
        code = str(wheel(self.directory / "kafka_reconciler.whl"))
        python = python_without_the_project(self.directory / "python")
        (self.directory / "driver.py").write_text(_DRIVER, encoding="utf-8")
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": python,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        with spark_cluster(self.directory) as (master, workers):
            words = [str(SPARK / "spark-submit"), "--master", master, "--py-files", code]
            words += ["--conf", f"spark.executor.extraJavaOptions={SHORT_LIVED} {archive_option()}"]
            places = [str(self.directory / name) for name in ("driver.py", "live", "marks", "manifests")]
            where = ["--store", str(self.directory / "store"), "--output", "json"]
            with (self.directory / "said").open("wb") as said:
                driver = subprocess.Popen(
                    [*words, *places, *where], stdout=subprocess.PIPE, stderr=said, env=environment, text=True
                )
                try:
                    self._kill_in_the_middle(workers[0], driver)
                    out, _ = driver.communicate(timeout=900)
                finally:
                    driver.kill()
                    driver.communicate()
            self.documented = [self._documented(block, master, python, [places[-1], *where]) for block in _DOCUMENTED]
        assert driver.returncode == 0, (self.directory / "said").read_text(errors="replace")
        return [json.loads(text) for text in out.split("===")]

    def _documented(
        self, begin: str, master: str, python: str, arguments: list[str]
    ) -> "subprocess.CompletedProcess[str]":
        """The command of the documents, for this master and this Python of the executors."""
        command = documented("docs/fleet.md", begin)
        assert "spark://master:7077" in command
        for ours, theirs in ((master, "spark://master:7077"), (python, "/opt/requirements/bin/python")):
            command = command.replace(theirs, ours)
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = {**os.environ, "PATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}
        return subprocess.run(
            ["/bin/bash", "-ec", f"{command} {shlex.join(arguments)}"],
            cwd=self.directory,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )

    def _kill_in_the_middle(self, worker: int, driver: "subprocess.Popen[str]") -> None:
        """When four clusters have been begun, the executor of one worker goes, and its Python with it."""
        deadline = time.monotonic() + 900
        while len(list((self.directory / "marks").iterdir())) < 4:
            assert driver.poll() is None, (self.directory / "said").read_text(errors="replace")
            assert time.monotonic() < deadline
            time.sleep(0.05)
        running = executors(worker)
        assert running
        for executor in running:
            os.kill(executor, signal.SIGKILL)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("standalone"))


def test_the_code_reaches_executors_that_do_not_have_it(ran: Ran) -> None:
    assert all("kafka_reconciler.whl" in place for place in ran.places)


def test_the_commands_of_the_documents_say_the_same(ran: Ran) -> None:
    for done in ran.documented:
        assert done.returncode == 2, done.stderr
        answer = done.stdout[done.stdout.index("{") :]  # behind what `fleet pack` says
        assert json.loads(answer)["totals"] == ran.drift["totals"]
        assert len(done.stderr.splitlines()) <= _MOST_LINES, done.stderr


def test_what_is_packed_was_all_that_executors_had(ran: Ran) -> None:
    """Spark unpacked it beside them; and without anything else Python finds there what a task needs."""
    unpacked = [*ran.directory.glob("work*/app-*/*/environment")]
    assert unpacked
    for place in unpacked:
        words = [str(place / "bin" / "python"), "-c", "import polars, pyarrow, reconciler; print(reconciler.__file__)"]
        done = subprocess.run(
            words, capture_output=True, text=True, check=True, cwd=place, env={"PATH": "/usr/bin:/bin"}
        )
        assert Path(done.stdout.strip()).is_relative_to(place.resolve())
        assert not (place / "lib" / "pyspark").exists()


def test_snapshot_and_drift_on_two_workers(ran: Ran) -> None:
    assert [item["bindings"] for item in ran.snapshot["clusters"]] == [1] * _COUNT
    assert ran.drift["totals"]["deletes"] == _COUNT


def test_a_worker_that_is_killed_loses_and_doubles_nothing(ran: Ran) -> None:
    # Something was in its hands, and was read a second time.
    assert len(ran.read) > len(set(ran.read)) == _COUNT
    run = ran.store.run("slow")
    assert run.failures == ()
    assert [reading.cluster for reading in run.readings] == sorted(f"c{number}" for number in range(_COUNT))
    for reading in run.readings:
        assert read_live(ran.store.files, reading).bindings == {binding(int(reading.cluster.removeprefix("c")))}


_LISTING = """
import sys
sys.path.insert(1, sys.argv[1])
from reconciler.kafka.listing import AclListing
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings

AclListing(client_settings("127.0.0.1:1", {"request.timeout.ms": "1000"}, SecretSource())).result()
"""


def test_the_processes_that_list_acls_find_code_that_travelled(tmp_path: Path) -> None:
    code = str(wheel(tmp_path / "kafka_reconciler.whl"))
    python = python_without_the_project(tmp_path / "python")
    done = subprocess.run([python, "-c", _LISTING, code], capture_output=True, text=True, check=False, cwd=tmp_path)
    # Nobody answers there: each of the three says so, and none ends without a reply.
    assert "no reader could read the ACLs" in done.stderr
    assert "; shards: " in done.stderr
    assert "the process ended with" not in done.stderr


def test_what_is_packed_is_what_this_package_requires_without_spark() -> None:
    names = {found.metadata["Name"].lower().replace("_", "-") for found in pack._required()}
    assert {"polars", "polars-runtime-32", "pyarrow", "confluent-kafka", "click", "pydantic-core"} <= names
    assert names.isdisjoint({"pyspark", "py4j", "pytest", "mypy", "duckdb"})
