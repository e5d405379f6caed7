"""The JVM of a session: a process of ours that starts while we do something else.

As ``pyspark.java_gateway.launch_gateway``, which waits until the JVM is there, and hands on our whole environment.
"""

import hashlib
import os
import re
import shlex
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from platformdirs import PlatformDirs

from reconciler.system.process import child_environment, only_one

#: For a JVM that lives for seconds and moves no data: Java's second compiler and its collectors of several threads cost
#: more than they gain. What Java has to say would appear on standard output, where a command's answer is.
SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto -Xlog:disable"
_QUIET: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
logger.shell.name = org.apache.spark.repl.Main
logger.shell.level = error
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n
"""
_POLL_SECONDS: Final = 0.01
_SHOWN_BYTES: Final = 8192
#: JVMs of this process. One whose standard input is closed ends, so that none outlives us.
_running: Final[list[subprocess.Popen[bytes]]] = []


def spark_home() -> str:
    """The directory of PySpark, found without importing it."""
    spec = find_spec("pyspark")
    return str(Path(spec.origin).parent) if spec is not None and spec.origin is not None else ""


def operator_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """What the operator sets for a JVM that we start: ``spark-defaults.conf``, then ``PYSPARK_SUBMIT_ARGS``.

    As ``org.apache.spark.deploy.SparkSubmitArguments`` reads both.
    """
    options = {"--name": "spark.app.name", "--driver-java-options": "spark.driver.extraJavaOptions"}
    home = environment.get("SPARK_CONF_DIR") or os.path.join(environment.get("SPARK_HOME") or spark_home(), "conf")
    file, given = os.path.join(home, "spark-defaults.conf"), {}
    words = iter(shlex.split(environment.get("PYSPARK_SUBMIT_ARGS", "")))
    for word in words:
        option, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if option in ("--conf", "-c", "--properties-file", *options):
            value = value if equals else next(words, "")
        if option in ("--conf", "-c"):
            name, _, value = value.partition("=")
            given[name.strip()] = value.strip()
        elif option == "--properties-file":
            file = value
        elif option in options:
            given[options[option]] = value
    return {**_properties(file), **given}


def _properties(file: str) -> dict[str, str]:
    """The settings of Spark in a file of Java's properties, one a line; none where there is no file."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    matches = (re.fullmatch(r"\s*(spark\.[^\s=:]+)(?:\s*[=:]\s*|\s+)(.*?)\s*", line) for line in lines)
    return {match[1]: match[2] for match in matches if match is not None}


def _options(given: str, log: Path) -> str:
    """Java options of the driver that begin its list, so that those ``given`` by the operator count before them."""
    short = SHORT_LIVED
    if re.search(r"-XX:[+]Use\w+GC\b", given):  # Java refuses two collectors
        short = short.replace("-XX:+UseSerialGC ", "")
    return f"-Dlog4j2.configurationFile=file://{log} {short} {archive_option()}"


class Jvm:
    """A JVM that starts; its output goes to a file in ``scratch``: it is noise, and shown if the start fails."""

    def __init__(self, settings: Mapping[str, str], environment: Mapping[str, str], scratch: Path) -> None:
        """Start Spark's launcher with ``settings`` of Spark, and nothing but ``environment``."""
        self._said, self._log = scratch / "gateway", scratch / "output"
        home = environment.get("SPARK_HOME") or spark_home()
        (scratch / "log4j2.properties").write_text(_QUIET, encoding="utf-8")
        of_java = environment.get("SPARK_SUBMIT_OPTS", "")
        theirs = operator_settings(environment)
        given = [of_java, *(theirs.get(f"spark.driver.{name}JavaOptions", "") for name in ("default", "extra"))]
        command = [os.path.join(home, "bin", "spark-submit")]
        for name, value in settings.items():
            command += ["--conf", f"{name}={value}"]
        command += shlex.split(environment.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        own = {
            "SPARK_LAUNCHER_OPTS": SHORT_LIVED,
            **environment,
            "SPARK_SUBMIT_OPTS": f"{_options(' '.join(given), scratch / 'log4j2.properties')} {of_java}",
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


# An archive of Spark's classes (Java's AppCDS) in the user's cache: with it a session starts in half the time.
#
# Java verifies thousands of classes at each start; from an archive it maps them into memory. Java itself refuses an
# archive of another build, or of jars whose paths or times differ. What is in it is code that runs: only a file
# counts that nobody but the user can have written.

#: Starting, what most sessions do, and 150 MB written. Under twenty other processes that takes a minute.
_PATIENCE_SECONDS: Final = 300.0
#: What most sessions load: a join, Parquet files written and read, and a worker with Python in it.
_SESSION: Final = """\
from pyspark.sql import SparkSession

session = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
numbers = session.range(100).selectExpr("id", "id % 7 as rest", "cast(id as string) as name")
numbers.write.parquet("numbers")
numbers = session.read.parquet("numbers")
numbers.createOrReplaceTempView("numbers")
session.sql("select rest, count(*), collect_set(name) from numbers group by rest order by rest").collect()
numbers.join(numbers, "id", "full_outer").exceptAll(numbers.join(numbers, "id")).collect()
session.sparkContext.parallelize([1], 1).map(str).collect()
session.createDataFrame([("a", 1)], "name string, number int").collect()
"""


def archive_option() -> str:
    """The option with which a JVM uses the archive, or no option where there is none that can be trusted."""
    place = archive_place()
    return f"-XX:SharedArchiveFile={place}" if place is not None and _is_own(place) else ""


def archive_place() -> Path | None:
    """Where the archive is, or will be: one for each Java and PySpark. ``None`` where the user has no cache.

    The Java is the one that Spark starts: of ``JAVA_HOME``, else the first on the ``PATH``.
    """
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else shutil.which("java")
    try:
        java = Path(command or "").resolve(strict=True)
        cache = PlatformDirs("reconciler", appauthor=False).user_cache_path
        parts = (java, java.stat().st_mtime_ns, spark_home(), Path(spark_home(), "jars").stat().st_mtime_ns)
    except (OSError, RuntimeError):
        return None
    name = hashlib.sha256("\0".join(map(str, (*parts, SHORT_LIVED))).encode()).hexdigest()[:16]
    # A path with a space would be two options.
    return cache / "spark" / f"{name}.jsa" if cache.is_absolute() and len(str(cache).split()) == 1 else None


def is_missing() -> bool:
    """Whether there is no archive, and one could be made."""
    place = archive_place()
    return place is not None and not place.exists() and os.access(_existing(place.parent), os.W_OK)


def _existing(directory: Path) -> Path:
    return next(place for place in (directory, *directory.parents) if place.exists())


def make_archive() -> None:
    """Make the archive: a session that ends, in about fifteen seconds. Whatever goes wrong, there is none."""
    place = archive_place()
    if place is None:
        return
    with suppress(OSError, subprocess.SubprocessError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _only_owner_writes(place.parent):
            return
        with only_one(place.parent) as only:
            if only and not place.exists():
                _record(place)


def _is_own(place: Path) -> bool:
    return place.is_file() and _only_owner_writes(place.parent) and _only_owner_writes(place)


def _only_owner_writes(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not stat.S_ISLNK(status.st_mode) and not status.st_mode & 0o022


def _record(place: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".making-", dir=place.parent) as scratch:
        archive, script = Path(scratch, "classes.jsa"), Path(scratch, "session.py")
        script.write_text(_SESSION, encoding="utf-8")
        subprocess.run(
            [os.path.join(spark_home(), "bin", "spark-submit"), "--master", "local[1]", str(script)],
            cwd=scratch,
            env={
                **child_environment("JAVA_HOME"),
                "PYSPARK_PYTHON": sys.executable,
                "SPARK_HOME": spark_home(),
                "SPARK_LAUNCHER_OPTS": SHORT_LIVED,
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_SUBMIT_OPTS": f"{SHORT_LIVED} -XX:ArchiveClassesAtExit={archive}",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE_SECONDS,
            check=True,
        )
        archive.chmod(0o400)
        archive.rename(place)
