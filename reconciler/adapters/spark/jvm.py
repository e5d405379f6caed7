"""The JVM of a session: a process of ours that starts while we do something else.

As ``pyspark.java_gateway.launch_gateway``, which waits until the JVM is there, and hands on our whole environment.
"""

import os
import shlex
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

#: For a JVM that lives for seconds and moves no data: Java's second compiler and its collectors of several threads cost
#: more than they gain. What Java has to say would appear on standard output, where a command's answer is.
SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto -Xlog:disable"
_POLL_SECONDS: Final = 0.01
_SHOWN_BYTES: Final = 8192
#: JVMs of this process. One whose standard input is closed ends, so that none outlives us.
_running: Final[list["subprocess.Popen[bytes]"]] = []


def spark_home() -> str:
    """The directory of PySpark, found without importing it."""
    found = find_spec("pyspark")
    return str(Path(found.origin).parent) if found is not None and found.origin is not None else ""


class Jvm:
    """A JVM that starts; its output goes to a file in ``scratch``: it is noise, and shown if the start fails."""

    def __init__(self, settings: Mapping[str, str], environment: Mapping[str, str], scratch: Path) -> None:
        """Start Spark's launcher with ``settings`` of Spark, and nothing but ``environment``."""
        self._said, self._log = scratch / "gateway", scratch / "output"
        home = environment.get("SPARK_HOME") or spark_home()
        command = [os.path.join(home, "bin", "spark-submit")]
        for name, value in settings.items():
            command += ["--conf", f"{name}={value}"]
        command += shlex.split(environment.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        own = {
            "SPARK_LAUNCHER_OPTS": SHORT_LIVED,
            **environment,
            "SPARK_HOME": home,
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._said),
        }
        with self._log.open("wb") as log:
            # In a group of its own: Ctrl-C is for us, who end the session, and the JVM with it.
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=own, process_group=0
            )
        _running.append(self._process)

    @contextmanager
    def gateway(self) -> Iterator[None]:
        """Wait until it is ready; for the time of the block PySpark finds it. Raises ``PySparkRuntimeError``."""
        from pyspark.errors import PySparkRuntimeError

        while not self._said.exists():
            if self._process.poll() is not None:
                self._show()
                raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
            time.sleep(_POLL_SECONDS)
        data = self._said.read_bytes()
        port, size = struct.unpack_from(">ii", data)
        os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
        os.environ["PYSPARK_GATEWAY_SECRET"] = data[8 : 8 + size].decode()
        try:
            yield
        except BaseException:
            self._show()
            raise
        finally:
            del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]

    def end(self) -> None:
        """Kill a JVM that nobody has connected to."""
        _running.remove(self._process)
        self._process.kill()
        self._process.communicate()

    def _show(self) -> None:
        sys.stderr.flush()
        os.write(2, self._log.read_bytes()[-_SHOWN_BYTES:])
