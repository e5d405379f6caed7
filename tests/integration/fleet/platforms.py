"""What data platforms have and no command of ours needs: Spark Connect's client, an S3 server, HDFS, all on loopback.

The packages stay out of the tests' own environment: with pandas in it, nothing would show that a command began to need
it. Hadoop's jars come as a sandbox's do.
"""

import contextlib
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

from benchmarks.fleet.spark_cluster import free_port
from reconciler.parts.local.sandbox.launch import fetched_jars, find_java
from reconciler.parts.local.sandbox.layout import Artifact, cache_directory

LOCK = Path(__file__).with_name("platforms.lock")
HADOOP = "3.5.0"
#: Hadoop's own small cluster of its tests, which wants their libraries.
_HADOOP_JARS = (
    Artifact("org.apache.hadoop", "hadoop-client-minicluster", HADOOP),
    Artifact("org.junit.jupiter", "junit-jupiter-api", "5.11.4"),
    Artifact("org.mockito", "mockito-core", "4.11.0"),
)
#: What Spark reads `s3a://` with: 700 MB, nearly all of them the AWS SDK.
_S3A_JARS = (Artifact("org.apache.hadoop", "hadoop-aws", HADOOP),)
#: Starting takes a minute and more where much else is at work.
_SECONDS = 600.0
BUCKET = "fleets"


def installed() -> str:
    """A directory for ``PYTHONPATH`` with the packages of the lock; made once."""
    name = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()[:16]
    place = cache_directory() / "tests" / f"platforms-{name}"
    if not place.exists():
        made = place.with_name(f".{place.name}.{os.getpid()}")
        uv = str(Path(sys.executable).with_name("uv"))
        words = ["--target", str(made), "--require-hashes", "--no-deps", "--requirement", str(LOCK)]
        subprocess.run([uv, "pip", "install", "--quiet", "--python", sys.executable, *words], check=True)
        try:
            made.rename(place)
        except OSError:  # another process was first
            shutil.rmtree(made)
    return str(place)


@contextlib.contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """The variables by which clients find an S3 server that has the bucket."""
    port = free_port()
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    environment = {**os.environ, "PYTHONPATH": installed()}
    server = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, server)
        put = HTTPConnection("127.0.0.1", port)
        put.request("PUT", f"/{BUCKET}")
        assert put.getresponse().status == 200
        yield {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        }
    finally:
        server.kill()
        server.wait()


def s3a_arguments(endpoint: str) -> str:
    """What spark-submit is told for a session that reads ``s3a://`` from this server."""
    place = cache_directory() / "tests" / f"hadoop-aws-{HADOOP}"
    jars = fetched_jars(f"Hadoop's S3A {HADOOP}", _S3A_JARS, place, find_java())
    settings = {"endpoint": endpoint, "endpoint.region": "us-east-1", "path.style.access": "true"}
    words = (f"--conf spark.hadoop.fs.s3a.{name}={value}" for name, value in settings.items())
    return " ".join(("--driver-class-path", f"{jars}/*", *words, "pyspark-shell"))


@contextlib.contextmanager
def hdfs_cluster(directory: Path) -> Iterator[str]:
    """The address of a namenode with a datanode, whose files are in ``directory``."""
    java = find_java()
    jars = fetched_jars(f"Hadoop {HADOOP}", _HADOOP_JARS, cache_directory() / "tests" / f"hadoop-{HADOOP}", java)
    details = directory / "details.json"
    name = "org.apache.hadoop.test.MiniDFSClusterManager"
    words = [str(java.executable), "-Xmx300m", "-cp", f"{jars}/*", name, "-format", "-writeDetails", str(details)]
    with (directory / "log").open("wb") as log:
        server = subprocess.Popen(words, cwd=directory, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + _SECONDS
        while not (details.exists() and details.read_text()):
            assert server.poll() is None, (directory / "log").read_text()
            assert time.monotonic() < deadline, "HDFS did not start in time"
            time.sleep(0.2)
        yield f"hdfs://127.0.0.1:{json.loads(details.read_text())['namenode_port']}"
    finally:
        server.kill()
        server.wait()


def _wait_for(port: int, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        assert server.poll() is None
        assert time.monotonic() < deadline, "the S3 server did not start in time"
        time.sleep(0.1)
