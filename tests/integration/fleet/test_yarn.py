"""The same on YARN: Hadoop's own resource manager and node manager, whose containers have Java and a bare Python.

The commands are those of docs/fleet.md, with the driver here and with the driver in a container.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.tables import store_at
from reconciler.snapshot.document import snapshot_text
from tests.integration.fleet.platforms import yarn_cluster
from tests.integration.fleet.test_standalone import binding, documented

pytestmark = [pytest.mark.spark, pytest.mark.long]  # two daemons, and on each of two attempts a driver and executors

_CLIENT, _CLUSTER = "reconciler fleet pack", "--deploy-mode cluster"
_NAMES = [f"c{number}" for number in range(4)]


class Yarn:
    """A fleet in files, and spark-submit as the documents have it."""

    def __init__(self, directory: Path, conf: Path) -> None:
        self.directory = directory
        self.containers = conf.parent / "containers"
        self.unpacked = conf.parent / "local"
        (directory / "manifests").mkdir()
        (directory / "live").mkdir()
        text = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: {}}}\nspec: {{}}\n"
        (directory / "manifests" / "all.yaml").write_text("---\n".join(map(text.format, _NAMES)), encoding="utf-8")
        for number, name in enumerate(_NAMES):
            state = ClusterState(f"id-{name}", frozenset({binding(number)}))
            (directory / "live" / f"{name}.json").write_text(snapshot_text(state), encoding="utf-8")
        spark = directory / "spark"
        spark.mkdir()
        settings = {
            "spark.yarn.stagingDir": (directory / "staging").as_uri(),
            # Else all of Spark travels too.
            "spark.yarn.jars": f"local:{Path(pyspark.__file__).parent}/jars/*",
            "spark.executor.instances": "1",
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
        }
        lines = "".join(f"{name} {value}\n" for name, value in settings.items())
        (spark / "spark-defaults.conf").write_text(lines, encoding="utf-8")
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        places = {"HADOOP_CONF_DIR": str(conf), "SPARK_CONF_DIR": str(spark)}
        self.environment = {**os.environ, **places, "PATH": path, "SPARK_LOCAL_IP": "127.0.0.1"}

    def submit(self, block: str, *arguments: str, **replaced: str) -> "subprocess.CompletedProcess[str]":
        """The command of the documents; what comes after the command's name is ``arguments``."""
        command = documented("docs/fleet.md", block).replace("spark://master:7077", "yarn")
        command = re.sub(r"fleet drift$", shlex.join(arguments), command)
        for old, new in replaced.items():
            assert old in command
            command = command.replace(f" --conf spark.yarn.{old}=1", new)
        words = ["/bin/bash", "-ec", command]
        return subprocess.run(
            words, cwd=self.directory, env=self.environment, capture_output=True, text=True, check=False, timeout=900
        )

    def said_by_drivers(self, done: "subprocess.CompletedProcess[str]") -> list[str]:
        """What the driver of each attempt printed in its container."""
        application = re.search(r"application_\d+_\d+", done.stderr)
        assert application is not None, done.stderr
        places = self.containers.glob(f"{application[0]}/container_*_000001/stdout")
        return [place.read_text(encoding="utf-8") for place in sorted(places)]


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    with yarn_cluster(tmp_path_factory.mktemp("yarn")) as conf:
        yield Yarn(tmp_path_factory.mktemp("fleet"), conf)


def test_the_documented_commands_on_yarn(yarn: Yarn) -> None:
    """Here a snapshot, in a container its comparison: the same store, and code that was packed once."""
    manifests, store = str(yarn.directory / "manifests"), str(yarn.directory / "store")
    where = (manifests, "--store", store, "--engine", "spark")
    done = yarn.submit(_CLIENT, "fleet", "snapshot", *where, "--snapshots", str(yarn.directory / "live"))
    assert done.returncode == 0, done.stderr
    assert "4 clusters read, 0 not; 4 bindings" in done.stdout
    assert [reading.cluster for reading in store_at(store).run().readings] == _NAMES

    done = yarn.submit(_CLUSTER, "fleet", "drift", *where, "-o", "json")
    assert done.returncode == 1, done.stderr
    assert "User application exited with status 2" in done.stderr
    (said,) = yarn.said_by_drivers(done)
    assert '"deletes": 4,' in said

    # Nothing but what was packed was there: a bare environment finds all of it.
    environments = {place.resolve() for place in yarn.unpacked.glob("usercache/*/filecache/*/environment.tar.gz")}
    assert environments
    for environment in environments:
        python = [str(environment / "bin" / "python"), "-c", "import polars, reconciler; print(reconciler.__file__)"]
        bare = {"PATH": "/usr/bin:/bin"}
        found = subprocess.run(python, env=bare, cwd=environment, capture_output=True, text=True, check=True)
        assert Path(found.stdout.strip()).is_relative_to(environment)


def test_an_apply_that_yarn_runs_again_does_nothing(yarn: Yarn) -> None:
    """Without the setting of the documents, and after a status that is not 0."""
    if not (yarn.directory / "packed").exists():
        assert run(["fleet", "pack", str(yarn.directory / "packed")]) == 0
    plans = yarn.directory / "plans"
    plans.mkdir()
    done = yarn.submit(_CLUSTER, "fleet", "apply", str(plans), str(yarn.directory / "manifests"), maxAppAttempts="")
    assert done.returncode == 1
    first, second = yarn.said_by_drivers(done)  # Spark puts both of a driver's outputs into one
    assert "fleet.json cannot be read" in first
    assert "YARN runs this a second time" in second
    assert "fleet.json" not in second
