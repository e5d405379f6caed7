"""The Java that runs brokers: the one of JAVA_HOME, else the first on the PATH; 17 or newer (Kafka 4.0, KIP-1013)."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from reconciler.adapters.sandbox.error import SandboxError
from reconciler.dataclass import dataclass

OLDEST = 17
_ADVICE = f"Install Java {OLDEST} or newer (a JRE is enough), or set JAVA_HOME to one."
_ANSWER_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation: its launcher, the home it reports, its feature release (17, 21, ...), which build it is."""

    executable: Path
    home: Path
    release: int
    vendor: str
    build: str


def find_java() -> Java:
    """The Java to use; raises :class:`SandboxError` if there is none, or if it is too old."""
    executable = _launcher()
    report = _settings_of(executable)
    release = _feature_release(_property(report, "java.specification.version"))
    home = _property(report, "java.home")
    if 0 < release < OLDEST:
        raise SandboxError(f"Java {release} ({executable}) is too old: Kafka needs {OLDEST} or newer.", _ADVICE)
    if not release or not home:
        raise SandboxError(f"{executable} does not answer like a Java.", _ADVICE)
    vendor, build = _property(report, "java.vm.vendor"), _property(report, "java.vm.version")
    return Java(executable, Path(home), release, vendor, build)


def _launcher() -> Path:
    if home := os.environ.get("JAVA_HOME"):
        launcher = Path(home) / "bin" / "java"
        if not os.access(launcher, os.X_OK):
            raise SandboxError(f"JAVA_HOME is {home}, but there is no Java in it.", _ADVICE)
        return launcher
    found = shutil.which("java")
    if found is None:
        raise SandboxError("There is no Java: JAVA_HOME is not set and PATH has no `java`.", _ADVICE)
    return Path(found)


def _settings_of(executable: Path) -> str:
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{executable} cannot be run: {error}.", _ADVICE) from error
    return answer.stderr + answer.stdout


def _property(report: str, name: str) -> str:
    found = re.search(rf"^\s*{re.escape(name)} = (.+)$", report, re.MULTILINE)
    return found.group(1).strip() if found else _spoken_version(report) if name.endswith("version") else ""


def _spoken_version(report: str) -> str:
    """The number in ``openjdk version "17.0.15"``, which also a Java without -XshowSettings prints."""
    found = re.search(r'version "([0-9._]+)', report)
    return found.group(1) if found else ""


def _feature_release(version: str) -> int:
    """8 for ``1.8`` and ``1.8.0_392``, 17 for ``17`` and ``17.0.15``, 0 for anything else."""
    numbers = re.findall(r"\d+", version)
    if not numbers:
        return 0
    return int(numbers[1]) if numbers[0] == "1" and len(numbers) > 1 else int(numbers[0])
