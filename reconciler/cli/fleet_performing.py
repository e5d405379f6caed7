"""Applying the plans of one task: each cluster by a process of its own that runs ``reconciler apply``.

So whatever a single apply does, journals, guards, barriers, a fleet does too; and one client library that dies takes
one cluster's apply with it, not the task. Applying again is safe: finished steps are recognised.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reconciler.cli.exits import Exit
from reconciler.fleet import ApplyRecord, apply_record_text
from reconciler.manifest import Source
from reconciler.workflow.options import ConnectionOptions

if TYPE_CHECKING:
    from pyspark import Broadcast

_PROGRAM: Final = "import sys; from reconciler.cli.main import main; main()"
#: Seconds that a process gets to finish the batch in flight after it was asked to stop.
_GRACE: Final = 90.0


@dataclass(frozen=True, slots=True)
class Job:
    """One cluster's plan; ``journal`` is where it is kept if that directory is there where the task runs."""

    cluster: str
    plan_id: str
    text: str
    journal: str


@dataclass(frozen=True, slots=True)
class Conditions:
    """What every apply of a fleet has in common."""

    texts: "Broadcast[tuple[Source, ...]]"
    connection: ConnectionOptions
    at_once: int
    timeout: float
    operator: str | None = None


def apply_all(jobs: Sequence[Job], attempt: str, *, conditions: Conditions) -> Iterator[str]:
    """One record for each cluster, in order."""
    with tempfile.TemporaryDirectory(prefix="reconciler-fleet-") as scratch:
        manifests = Path(scratch, "manifests")
        for source in conditions.texts.value:
            target = manifests / source.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source.text, encoding="utf-8", newline="")
        with ThreadPoolExecutor(conditions.at_once) as pool:
            for record in pool.map(lambda job: _apply_one(job, manifests, Path(scratch), conditions), jobs):
                yield apply_record_text(record)


def _apply_one(job: Job, manifests: Path, scratch: Path, conditions: Conditions) -> ApplyRecord:
    plan = scratch / f"{job.cluster}.json"
    plan.write_text(job.text, encoding="utf-8")
    # The command line's end is the outcome; a process that was killed says nothing, and its outcome is unknown.
    process = subprocess.Popen(
        # Safe path: else a json.py where the task runs would be run.
        [sys.executable, "-P", "-c", _PROGRAM, *_arguments(job, plan, manifests, conditions)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    message = ""
    try:
        out, err = process.communicate(timeout=conditions.timeout)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        message = f"stopped after {conditions.timeout:g} s; "
        try:
            out, err = process.communicate(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            message += "it did not stop, so outcomes are unknown; "
    status = process.returncode if process.returncode >= 0 else int(Exit.ERROR)
    return _record(job, status, out, message + _why(err, status))


def _arguments(job: Job, plan: Path, manifests: Path, conditions: Conditions) -> list[str]:
    connection = conditions.connection
    found = ["apply", str(plan), str(manifests), "--require-id", job.plan_id, "--output", "json"]
    if os.path.isdir(os.path.dirname(job.journal)):
        found += ["--journal", job.journal]
    if conditions.operator:
        found += ["--operator", conditions.operator]
    if connection.connections:
        found += ["--connections", connection.connections]
    for name in connection.allow_env:
        found += ["--allow-env", name]
    for directory in connection.secrets_dirs:
        found += ["--secrets-dir", directory]
    return found


def _record(job: Job, status: int, out: str, message: str) -> ApplyRecord:
    counts: dict[str, int] = {}
    try:
        counts = json.loads(out)["counts"] if out.strip() else {}
    except (ValueError, KeyError, TypeError):
        status, message = int(Exit.ERROR), f"its result cannot be read; {message}"
    return ApplyRecord(
        job.cluster,
        job.plan_id,
        status,
        time.time(),
        "" if status == 0 else message or _bad(counts),
        counts.get("done", 0),
        counts.get("already", 0),
    )


def _bad(counts: dict[str, int]) -> str:
    return ", ".join(
        f"{number} {name}" for name, number in counts.items() if number and name not in ("done", "already")
    )


def _why(err: str, status: int) -> str:
    """The error that the command ended with, as it told it; progress lines are left out."""
    lines = [line for line in err.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if line.startswith("error: "):
            return " ".join(part.strip() for part in lines[number:])[:2000]
    return "" if status == 0 else " ".join(lines[-2:])[:2000]
