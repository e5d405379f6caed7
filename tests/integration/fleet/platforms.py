"""What data platforms have and no command of ours needs: Spark Connect's client, S3, HDFS, YARN, all on loopback.

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
from collections.abc import Callable, Iterator
from functools import partial
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
#: What YARN's daemons want beside Hadoop's jars: a log, and certificates.
_YARN_JARS = (
    Artifact("org.slf4j", "slf4j-reload4j", "1.7.36"),
    Artifact("org.bouncycastle", "bcpkix-jdk18on", "1.78.1"),
)
_YARN = "org.apache.hadoop.yarn.server"
_LOG_OF_YARN = """\
log4j.rootLogger=INFO, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%m%n
"""
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
    details = directory / "details.json"
    name = "org.apache.hadoop.test.MiniDFSClusterManager"
    words = ["-cp", _hadoop(), name, "-format", "-writeDetails", str(details)]
    with _daemon(directory, "hdfs", words, lambda: details.exists() and bool(details.read_text())):
        yield f"hdfs://127.0.0.1:{json.loads(details.read_text())['namenode_port']}"


@contextlib.contextmanager
def yarn_cluster(directory: Path) -> Iterator[Path]:
    """``HADOOP_CONF_DIR`` of a resource manager with a node manager, whose containers are below ``directory``.

    Both are the daemons of a real cluster. Their environment has a shell and Java, and nothing of ours.
    """
    jars = fetched_jars(f"YARN's {HADOOP}", _YARN_JARS, cache_directory() / "tests" / f"yarn-{HADOOP}", find_java())
    conf = directory / "conf"
    conf.mkdir()
    _write_settings(conf / "core-site.xml", {"fs.defaultFS": "file:///"})
    _write_settings(conf / "yarn-site.xml", _yarn_settings(directory))
    queue = "yarn.scheduler.capacity"
    _write_settings(
        conf / "capacity-scheduler.xml",
        {
            f"{queue}.maximum-am-resource-percent": "0.9",
            f"{queue}.root.queues": "default",
            f"{queue}.root.default.capacity": "100",
        },
    )
    (conf / "log4j.properties").write_text(_LOG_OF_YARN, encoding="utf-8")
    path = os.pathsep.join((str(conf), f"{jars}/*", _hadoop()))
    with contextlib.ExitStack() as daemons:
        for name, main, ready in (
            ("rm", "resourcemanager.ResourceManager", "Transitioned to active state"),
            ("nm", "nodemanager.NodeManager", "Registered with ResourceManager"),
        ):
            log, words = directory / f"{name}.log", ["-cp", path, f"{_YARN}.{main}"]
            daemons.enter_context(_daemon(directory, name, words, partial(_says, log, ready)))
        yield conf


def _says(log: Path, words: str) -> bool:
    return words in log.read_text(errors="replace")


def _yarn_settings(directory: Path) -> dict[str, str]:
    manager = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")
    node = ("address", "localizer.address", "webapp.address", "collector-service.address")
    checks = ("vmem-check-enabled", "pmem-check-enabled", "disk-health-checker.enable")
    return {
        **{f"yarn.resourcemanager.{name}": f"127.0.0.1:{free_port()}" for name in manager},
        **{f"yarn.nodemanager.{name}": f"127.0.0.1:{free_port()}" for name in node},
        **{f"yarn.nodemanager.{name}": "false" for name in checks},
        "yarn.nodemanager.local-dirs": str(directory / "local"),
        "yarn.nodemanager.log-dirs": str(directory / "containers"),
        "yarn.scheduler.minimum-allocation-mb": "128",
    }


def _write_settings(file: Path, settings: dict[str, str]) -> None:
    lines = (f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
    file.write_text(f"<configuration>{''.join(lines)}</configuration>", encoding="utf-8")


def _hadoop() -> str:
    place = cache_directory() / "tests" / f"hadoop-{HADOOP}"
    return f"{fetched_jars(f'Hadoop {HADOOP}', _HADOOP_JARS, place, find_java())}/*"


@contextlib.contextmanager
def _daemon(directory: Path, name: str, words: list[str], ready: Callable[[], bool]) -> Iterator[None]:
    """One of Hadoop's processes, with its log beside its files, for the time of the block."""
    java = find_java().executable
    environment = {"PATH": "/usr/bin:/bin", "JAVA_HOME": str(java.parents[1]), "HOME": str(directory)}
    log = directory / f"{name}.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [str(java), "-Xmx300m", *words], cwd=directory, stdout=out, stderr=out, env=environment
        )
    try:
        deadline = time.monotonic() + _SECONDS
        while not ready():
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, f"{name} did not start in time"
            time.sleep(0.2)
        yield
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
