"""An archive of Spark's classes (Java's AppCDS), made once in an environment: a session then costs half the processor.

A JVM that starts before the archive is there, or cannot read it, starts as slowly as without. It lies in the
environment whose jars it is of: Java refuses it where one of their paths or times has changed.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

# Sessions of tests are over before Java's second compiler pays: 11 seconds of processor instead of 18 for a short one.
# And Java would say on standard output, where a command's answer is, that it cannot read an archive.
SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Xlog:disable"
#: What most sessions load: a join, Parquet files written and read, and a worker with Python in it.
_SESSION: Final = """\
from reconciler.adapters.spark.session import spark_session

with spark_session() as session:
    numbers = session.range(100).selectExpr("id", "id % 7 as rest")
    numbers.groupBy("rest").count().collect()
    numbers.write.parquet("numbers")
    session.read.parquet("numbers").join(numbers, "id").groupBy("id").count().collect()
    session.sparkContext.parallelize([1], 1).map(str).collect()
"""


def options() -> str:
    """What the JVMs of tests are started with."""
    return f"{SHORT_LIVED} -XX:SharedArchiveFile={place()}"


def place() -> Path:
    """Where the archive is, or will be: one for each PySpark and Java, because no other can read it."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else Path(shutil.which("java") or "java")
    build = hashlib.sha256(str(java.resolve()).encode() + str(java.exists() and java.stat().st_mtime_ns).encode())
    return Path(sys.prefix, f"spark-{version('pyspark')}-{build.hexdigest()[:12]}.jsa")


@contextmanager
def in_the_making(archive: Path) -> Iterator[None]:
    """For the time of the block the archive is made, if there is none and nobody else makes it."""
    with (
        tempfile.TemporaryDirectory(prefix="spark-archive-") as scratch,
        archive.with_suffix(".lock").open("wb") as lock,
    ):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield
            return
        if archive.exists():
            yield
            return
        recorder = _record(archive.with_suffix(".part"), Path(scratch))
        waiting = threading.Thread(target=_keep, args=(recorder, archive))
        waiting.start()
        try:
            yield
        finally:
            recorder.kill()  # it would write the archive before it ended, which takes as long as it takes
            waiting.join()


def _record(part: Path, scratch: Path) -> "subprocess.Popen[bytes]":
    """A session whose JVM writes an archive when it ends."""
    part.unlink(missing_ok=True)
    (scratch / "session.py").write_text(_SESSION, encoding="utf-8")
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    root = Path(__file__).parents[1]
    return subprocess.Popen(
        [str(Path(spark.origin).parent / "bin" / "spark-submit"), "--master", "local[1]", "session.py"],
        cwd=scratch,
        env={
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(root),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SUBMIT_OPTS": f"{SHORT_LIVED} -XX:ArchiveClassesAtExit={part}",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _keep(recorder: "subprocess.Popen[bytes]", archive: Path) -> None:
    """Give the archive its name, once it is whole."""
    part = archive.with_suffix(".part")
    if recorder.wait() == 0:
        part.rename(archive)
    part.unlink(missing_ok=True)
