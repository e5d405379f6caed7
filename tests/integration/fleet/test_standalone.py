"""The same on a standalone Spark cluster: a master and two workers on loopback, the project's code in their Python."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from reconciler.adapters.snapshot import snapshot_text
from reconciler.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ClusterState,
    ResourcePattern,
    ResourceType,
)

pytestmark = pytest.mark.spark

_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
#: Both commands in one session: on a cluster the start is most of the time.
_BOTH = """
import sys
from reconciler.adapters.spark.session import spark_session
from reconciler.cli.main import run
master, live, *where = sys.argv[1:]
with spark_session(master):
    taken = run(["fleet", "snapshot", *where, "--snapshots", live])
    print("===", flush=True)
    compared = run(["fleet", "drift", *where])
sys.exit(0 if (taken, compared) == (0, 2) else 1)
"""
_DEPLOY = "org.apache.spark.deploy"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def daemon(log: Path, *arguments: str, ready: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the Spark cluster, once its log says that it is ready."""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen([str(_CLASS), *arguments], stdout=out, stderr=out, env=environment)
        try:
            deadline = time.monotonic() + 90
            while ready not in log.read_text(errors="replace"):
                assert process.poll() is None, log.read_text(errors="replace")
                assert time.monotonic() < deadline, log.read_text(errors="replace")
                time.sleep(0.1)
            yield process
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    host = ("--host", "127.0.0.1")
    with contextlib.ExitStack() as cluster:
        arguments = (f"{_DEPLOY}.master.Master", *host, "--port", str(port), "--webui-port", str(free_port()))
        cluster.enter_context(daemon(tmp_path / "master.log", *arguments, ready="I have been elected leader"))
        for number in range(2):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / f"work{number}"))
            worker = (f"{_DEPLOY}.worker.Worker", *host, "--webui-port", str(free_port()), *size, url)
            log = tmp_path / f"worker{number}.log"
            cluster.enter_context(daemon(log, *worker, ready="Successfully registered with master"))
        yield url


def test_snapshot_and_drift_on_two_workers(master: str, tmp_path: Path) -> None:
    manifests, live = tmp_path / "manifests", tmp_path / "live"
    manifests.mkdir()
    live.mkdir()
    clusters = [
        f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: c{number}}}\nspec: {{}}\n" for number in range(12)
    ]
    (manifests / "clusters.yaml").write_text("---\n".join(clusters), encoding="utf-8")
    for number in range(12):
        entry = AccessControlEntry(f"User:{number}", "*", AclOperation.READ, AclPermissionType.ALLOW)
        state = ClusterState(f"id{number}", frozenset({AclBinding(ResourcePattern(ResourceType.TOPIC, "a"), entry)}))
        (live / f"c{number}.json").write_text(snapshot_text(state), encoding="utf-8")

    where = [str(manifests), "--store", str(tmp_path / "store"), "--output", "json"]
    done = subprocess.run(
        [sys.executable, "-c", _BOTH, master, str(live), *where],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr
    snapshot, drift = (json.loads(text) for text in done.stdout.split("==="))
    assert [item["bindings"] for item in snapshot["clusters"]] == [1] * 12
    assert drift["totals"]["deletes"] == 12
    # Both workers took part.
    assert all(any(work.glob("app-*/*")) for work in (tmp_path / "work0", tmp_path / "work1"))
