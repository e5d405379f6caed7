"""Compiles plug-ins for a broker: with javac where there is a JDK, else with Eclipse's compiler, which needs none."""

import os
import subprocess
from pathlib import Path

from reconciler.parts.local.sandbox.launch import broker_jars, fetched_jars, find_java, jar_directory
from reconciler.parts.local.sandbox.layout import Artifact, exact_version

_COMPILER = Artifact("org.eclipse.jdt", "ecj", "3.37.0")
_SECONDS = 120
#: To compile a few files the machine is not warmed up.
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")


def compiled(
    sources: Path, classes: Path, version: str, *, jars: Path | None = None, without_jdk: bool = False
) -> Path:
    """The directory with the classes of all ``*.java`` in ``sources``, against a broker's or other jars.

    Raises if it fails.
    """
    java = find_java()
    jars = jars or broker_jars(exact_version(version), java, lambda _: None)
    compiler = [str(java.home / "bin" / "javac"), *(f"-J{flag}" for flag in _QUICK)]
    if without_jdk or not Path(compiler[0]).exists():
        ecj = fetched_jars("the Eclipse compiler", (_COMPILER,), jar_directory() / "ecj-3.37.0", java)
        compiler = [str(java.executable), *_QUICK, "-jar", str(ecj / f"ecj-{_COMPILER.revision}.jar")]
    files = [str(file) for file in sorted(sources.glob("*.java"))]
    # Eclipse's compiler knows no wildcards.
    class_path = os.pathsep.join(map(str, sorted(jars.glob("*.jar"))))
    command = [*compiler, "--release", "17", "-proc:none", "-cp", class_path, "-d", str(classes), *files]
    subprocess.run(command, check=True, timeout=_SECONDS)
    return classes
