"""A fleet's plans performed, wave by wave: each cluster by a process of its own, which says by a record how it ended.

So one client library that dies takes one cluster's apply with it, not the task. Applying again is safe: finished
clusters are known by the record, finished steps are recognised.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from pyspark import Broadcast
from pyspark.sql import SparkSession

from reconciler.app.apply import ApplyOptions, Unattended, apply_plan, stoppable
from reconciler.app.connections import password_prefixes
from reconciler.app.options import ConnectionOptions, MoveOptions
from reconciler.app.reasons import INTERRUPTED, WorkflowError
from reconciler.app.records import RecordOptions
from reconciler.apply.environment import Outcome, Result
from reconciler.dataclass import dataclass
from reconciler.manifest.read.findings import Source
from reconciler.parts.fleet.app.members import everywhere
from reconciler.parts.fleet.app.runs import add_to_record, read_fleet_plan, read_record
from reconciler.parts.fleet.membership import partition
from reconciler.parts.fleet.proposal import (
    UNKNOWN,
    ApplyRecord,
    FleetPlan,
    Gate,
    Member,
    PlannedWave,
    add_record,
    apply_record_text,
    failures_exceeded,
    gate_after,
    latest,
    parse_apply_records,
    pending,
)
from reconciler.parts.fleet.spark.session import run_tasks
from reconciler.system.files import write_atomically
from reconciler.system.process import child_environment, forbid_core_dumps, secret_environment

# The process that applies one cluster's plan for a fleet: a task on stdin, a result in a file.


@dataclass(frozen=True, slots=True)
class ChildTask:
    """What to apply, and where the result goes; paths are absolute. ``environment`` holds secrets: it comes by pipe."""

    plan_file: str
    manifests: str
    result_file: str
    plan_id: str
    journal: str | None
    operator: str | None
    connection: ConnectionOptions
    guardrails: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    moves: MoveOptions = MoveOptions()

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> "ChildTask":
        """The inverse of :meth:`text`."""
        fields: dict[str, Any] = json.loads(text)
        given = fields.pop("connection")
        lists = {name: tuple(given[name]) for name in ("allow_env", "secrets_dirs")}
        connection = ConnectionOptions(**{**given, **lists})
        return cls(**{**fields, "connection": connection, "moves": MoveOptions(**fields["moves"])})


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How it ended: ``reason`` is empty where every step's after-state is there, verified; else see ``reasons``."""

    reason: str
    message: str = ""
    done: int = 0
    already: int = 0

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def parse(cls, text: str) -> "ChildResult":
        """The inverse of :meth:`text`; raises ``ValueError`` or ``TypeError``."""
        return cls(**json.loads(text))


class _Child(Unattended):
    """Stopped by a signal, as a person stops an apply."""

    def interruptions(self) -> AbstractContextManager[Callable[[], bool]]:
        """By a signal."""
        return stoppable(lambda: None)


def main() -> None:
    """Apply, and write the result."""
    forbid_core_dumps()
    task = ChildTask.parse(sys.stdin.read())
    os.environ.update(task.environment)
    try:
        records = RecordOptions(task.journal, operator=task.operator)
        options = ApplyOptions(task.plan_id, records, guardrails=task.guardrails, moves=task.moves)
        result = apply_plan(task.plan_file, task.manifests, None, task.connection, options, attendant=_Child())
        ended = _ended(result)
    except WorkflowError as error:
        ended = ChildResult(error.reason, " ".join(f"{error.message} {error.advice}".split()))
    except KeyboardInterrupt:
        ended = ChildResult(INTERRUPTED, "interrupted")
    write_atomically(ended.text(), task.result_file)


def _ended(result: Result) -> ChildResult:
    done, already = result.count(Outcome.DONE), result.count(Outcome.ALREADY)
    if result.succeeded and not result.interrupted:
        return ChildResult("", "", done, already)
    counts = {outcome: result.count(outcome) for outcome in Outcome if outcome not in (Outcome.DONE, Outcome.ALREADY)}
    found = [result.stopped, *result.differences, *(f"{number} {name}" for name, number in counts.items() if number)]
    reason = INTERRUPTED if result.interrupted else WorkflowError.reason
    return ChildResult(reason, " ".join("; ".join(filter(None, found)).split()), done, already)


_CHILD: Final = "from reconciler.parts.fleet.app.apply import main; main()"
#: Seconds that a process gets to finish the batch in flight after it was asked to stop.
_GRACE: Final = 90.0
#: The directories of a task's copies; a cluster's own files there end in ``.json`` and ``.result``.
MANIFESTS, GUARDRAILS = "manifests", "guardrails"


@dataclass(frozen=True, slots=True)
class MemberJob:
    """One cluster's plan; ``journal`` is where it is kept if that directory is there where the task runs."""

    cluster: str
    plan_id: str
    text: str
    journal: str


@dataclass(frozen=True, slots=True)
class ApplyTerms:
    """What every apply of a fleet has in common: how many at once in a task, and how many seconds for one cluster.

    ``moves`` is how fast replicas move. ``guardrails`` are the texts that held the plans when they were made, and hold
    them again.
    """

    connection: ConnectionOptions
    at_once: int = 4
    timeout: float = 3600.0
    operator: str | None = None
    guardrails: tuple[Source, ...] | None = None
    moves: MoveOptions = MoveOptions()


@dataclass(frozen=True, slots=True)
class BatchBegun:
    """These clusters of a wave begin now."""

    wave: str
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GateClosed:
    """The next wave may not begin: the gate after ``wave`` is shut, or opens later, at ``gate.opens``."""

    wave: str
    gate: Gate


#: What is told of a fleet's apply while it goes on: each batch, each cluster that has ended, where it does not go on.
FleetEvent: TypeAlias = BatchBegun | ApplyRecord | GateClosed


@dataclass(slots=True)
class FleetApply:
    """A saved plan of a fleet, and how far it has come: ``records`` has the last of each plan, by cluster and id."""

    directory: Path
    plan: FleetPlan
    plans: dict[str, str]
    records: dict[tuple[str, str], ApplyRecord]
    _began: list[ApplyRecord] = field(default_factory=list)

    @classmethod
    def saved(cls, directory: Path) -> "FleetApply":
        """What a directory of plans holds; raises a :class:`WorkflowError`."""
        plan, plans = read_fleet_plan(directory)
        return cls(directory, plan, plans, latest(read_record(directory, plan)))

    @property
    def finished(self) -> bool:
        """Whether every cluster has ended well."""
        return not any(pending(wave, self.records) for wave in self.plan.waves)

    def perform(
        self,
        session: SparkSession,
        sources: Sequence[Source],
        terms: ApplyTerms,
        *,
        wait: bool = False,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Iterator[FleetEvent]:
        """Perform what is not finished, an event at a time, as the manifests in ``sources`` declare the clusters.

        With ``wait``, waits at gates that open later. Stops where a gate is closed, and once ``interrupted``; clusters
        that have begun are finished.
        """
        texts = session.sparkContext.broadcast(tuple(sources))
        terms = replace(terms, connection=everywhere(terms.connection))
        # As many clusters as are performed side by side: after each batch the record is written.
        size = int(session.sparkContext.defaultParallelism) * terms.at_once
        for number, wave in enumerate(self.plan.waves):
            if number and (closed := self._closed(self.plan.waves[number - 1], interrupted, wait=wait)):
                yield closed
                return
            left = pending(wave, self.records)
            for batch in (left[start : start + size] for start in range(0, len(left), size)):
                if interrupted() or failures_exceeded(wave, latest(self._began)):
                    break
                yield BatchBegun(wave.name, tuple(member.cluster for member in batch))
                yield from self._perform(session, batch, partial(apply_members, terms=terms, texts=texts))
            if interrupted():
                return

    def _closed(self, wave: PlannedWave, interrupted: Callable[[], bool], *, wait: bool) -> GateClosed | None:
        """Why the wave after this one may not begin, if so."""
        gate = gate_after(wave, self.records)
        if gate.shut:
            return GateClosed(wave.name, gate)
        while (left := gate.opens - time.time()) > 0:
            if not wait or interrupted():
                return GateClosed(wave.name, gate)
            time.sleep(min(left, 1.0))
        return None

    def _perform(
        self, session: SparkSession, batch: Sequence[Member], work: Callable[[Sequence[MemberJob], str], Iterator[str]]
    ) -> Iterator[ApplyRecord]:
        jobs = []
        for member in batch:
            journal = (self.directory / f"{member.file}.journal").resolve()
            jobs.append(MemberJob(member.cluster, member.plan_id, self.plans[member.cluster], str(journal)))
        weights = [1 + member.steps for member in batch]
        lines = run_tasks(session, partition(jobs, weights, int(session.sparkContext.defaultParallelism)), work)
        add_to_record(self.directory, lines)
        for record in parse_apply_records("".join(f"{line}\n" for line in lines), self.plan):
            self._began.append(record)
            add_record(self.records, record)
            yield record


def apply_members(
    jobs: Sequence[MemberJob], attempt: str, *, terms: ApplyTerms, texts: Broadcast[tuple[Source, ...]]
) -> Iterator[str]:
    """One record for each cluster, in order."""
    with tempfile.TemporaryDirectory(prefix="reconciler-fleet-") as scratch:
        _copy(texts.value, Path(scratch, MANIFESTS))
        _copy(terms.guardrails or (), Path(scratch, GUARDRAILS))
        with ThreadPoolExecutor(terms.at_once) as pool:
            for record in pool.map(lambda job: _apply_one(job, Path(scratch), terms), jobs):
                yield apply_record_text(record)


def _copy(sources: Iterable[Source], directory: Path) -> None:
    for source in sources:
        target = directory / source.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.text, encoding="utf-8", newline="")


def task_of(job: MemberJob, scratch: Path, terms: ApplyTerms) -> ChildTask:
    """What the process of one cluster is told; its files are below ``scratch``."""
    kept = os.path.isdir(os.path.dirname(job.journal))
    return ChildTask(
        str(scratch / f"{job.cluster}.json"),
        str(scratch / MANIFESTS),
        str(scratch / f"{job.cluster}.result"),
        job.plan_id,
        job.journal if kept else None,
        terms.operator,
        terms.connection,
        None if terms.guardrails is None else str(scratch / GUARDRAILS),
        secret_environment(terms.connection.allow_env, password_prefixes(terms.connection)),
        terms.moves,
    )


def _apply_one(job: MemberJob, scratch: Path, terms: ApplyTerms) -> ApplyRecord:
    task = task_of(job, scratch, terms)
    Path(task.plan_file).write_text(job.text, encoding="utf-8")
    process = subprocess.Popen(
        # Safe path: else a json.py where the task runs would be run.
        [sys.executable, "-P", "-c", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env={**child_environment(), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    stopped = ""
    try:
        process.communicate(task.text(), timeout=terms.timeout)
    except subprocess.TimeoutExpired:
        stopped = f"stopped after {terms.timeout:g} s; "
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            stopped += "it did not stop, so outcomes are unknown; "
    return record_of(job, Path(task.result_file), process.returncode, stopped)


def record_of(job: MemberJob, result: Path, status: int, stopped: str) -> ApplyRecord:
    """How the process ended, as it says itself; one that says nothing was killed, and its outcomes are unknown."""
    try:
        ended = ChildResult.parse(result.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        how = f"was ended by signal {-status}" if status < 0 else f"ended with {status} and no result"
        ended = ChildResult(UNKNOWN, f"the process {how}: its outcomes are unknown")
    message = f"{stopped}{ended.message}" if ended.reason else ""
    # Nobody interrupted what took too long: it failed.
    reason = WorkflowError.reason if stopped and ended.reason == INTERRUPTED else ended.reason
    return ApplyRecord(job.cluster, job.plan_id, reason, time.time(), message[:2000], ended.done, ended.already)
