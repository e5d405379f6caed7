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
_START_SECONDS: Final = 90.0


@contextlib.contextmanager
def spark_cluster(directory: Path, workers: int = 2) -> Iterator[tuple[str, list[int]]]:
    """The master's address, and the workers' process ids; logs and work are kept in ``directory``."""
    port = _free_port()
    url, host = f"spark://127.0.0.1:{port}", ("--host", "127.0.0.1")
    with contextlib.ExitStack() as cluster:
        arguments = (f"{_DEPLOY}.master.Master", *host, "--port", str(port), "--webui-port", str(_free_port()))
        cluster.enter_context(_daemon(directory / "master.log", *arguments, ready="I have been elected leader"))
        started = []
        for number in range(workers):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(directory / f"work{number}"))
            # Each on a host of its own, as Spark sees it: it puts no copy of a task on the same host.
            own = f"127.0.0.{number + 1}"
            worker = (f"{_DEPLOY}.worker.Worker", "--host", own, "--webui-port", str(_free_port()), *size, url)
            log = directory / f"worker{number}.log"
            started.append(
                cluster.enter_context(_daemon(log, *worker, ready="Successfully registered with master", ip=own))
            )
        yield url, [process.pid for process in started]


def _free_port() -> int:
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
