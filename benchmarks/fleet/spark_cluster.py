"""A standalone Spark cluster on loopback: a master and workers of one core each."""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyspark

#: Spark's own scripts.
SPARK: Final = Path(pyspark.__file__).parent / "bin"
_DEPLOY: Final = "org.apache.spark.deploy"
_START_SECONDS: Final = 300.0


@contextlib.contextmanager
def spark_cluster(directory: Path, workers: int = 2) -> Iterator[tuple[str, list[int]]]:
    """The master's address, and the workers' process ids; logs and work are kept in ``directory``."""
    port = free_port()
    url, host = f"spark://127.0.0.1:{port}", ("--host", "127.0.0.1")
    with contextlib.ExitStack() as cluster:
        arguments = (f"{_DEPLOY}.master.Master", *host, "--port", str(port), "--webui-port", str(free_port()))
        cluster.enter_context(_daemon(directory / "master.log", *arguments, ready="I have been elected leader"))
        started = []
        for number in range(workers):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(directory / f"work{number}"))
            # Each on a host of its own, as Spark sees it: it puts no copy of a task on the same host.
            own = f"127.0.0.{number + 1}"
            worker = (f"{_DEPLOY}.worker.Worker", "--host", own, "--webui-port", str(free_port()), *size, url)
            log = directory / f"worker{number}.log"
            started.append(
                cluster.enter_context(_daemon(log, *worker, ready="Successfully registered with master", ip=own))
            )
        yield url, [process.pid for process in started]


@contextlib.contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """The address of a Spark Connect server on two cores of this machine; its log is kept in ``directory``."""
    port = free_port()
    settings = {
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    name = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = (f"{_DEPLOY}.SparkSubmit", "--class", name, "--master", "local[2]", *words, "spark-internal")
    with _daemon(directory / "connect.log", *command, ready="Spark Connect server started"):
        yield f"sc://127.0.0.1:{port}"


def free_port() -> int:
    """One that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def _daemon(log: Path, *arguments: str, ready: str, ip: str = "127.0.0.1") -> Iterator[subprocess.Popen[bytes]]:
    """A process of the Spark cluster, once its log says that it is ready."""
    environment = {**os.environ, "SPARK_LOCAL_IP": ip, "SPARK_NO_DAEMONIZE": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen([str(SPARK / "spark-class"), *arguments], stdout=out, stderr=out, env=environment)
        try:
            deadline = time.monotonic() + _START_SECONDS
            while ready not in log.read_text(errors="replace"):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(log.read_text(errors="replace"))
                time.sleep(0.1)
            yield process
        finally:
            process.terminate()
            process.wait(30)
