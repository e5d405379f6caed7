"""A fleet's plans performed, wave by wave: each cluster by a process of its own, which says by a record how it ended.

So one client library that dies takes one cluster's apply with it, not the task. Each cluster is a Spark job of its own,
with one task that Spark may begin once only: an engine that runs tasks twice would write twice. Its record is on disk
as soon as it ends. Applying again is safe: finished clusters are known by the record, finished steps are recognised.
"""

import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from reconciler.app.admission import check_age, check_signed
from reconciler.app.apply import ApplyOptions, Unattended, apply_plan, stoppable
from reconciler.app.connections import as_operator_says, password_prefixes
from reconciler.app.manifests import checked, held_by
from reconciler.app.options import ApprovalRule, ConnectionOptions, MoveOptions, now
from reconciler.app.reasons import INTERRUPTED, PlanRefusedError, StaleError, WorkflowError
from reconciler.app.records import RecordOptions
from reconciler.apply.environment import ApprovalEvidence, Approver, LeasePatience, LeaseRequest, Outcome, Result
from reconciler.dataclass import dataclass
from reconciler.manifest.read.findings import Source
from reconciler.parts.fleet.app.members import everywhere
from reconciler.parts.fleet.app.runs import FLEET_FILE, add_to_record, plan_lock, read_fleet_plan, read_record
from reconciler.parts.fleet.engine import Engine, TaskFailedError
from reconciler.parts.fleet.membership import UnknownFleetError, fleet_of
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
    lifted_gates,
    limit_refusals,
    parse_apply_records,
    pending,
)
from reconciler.parts.fleet.tasks.comparing import loaded
from reconciler.plan.file import parse_plan
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
    records: RecordOptions
    connection: ConnectionOptions
    guardrails: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    moves: MoveOptions = MoveOptions()
    lease: LeaseRequest | None = None
    max_age: float | None = None
    approved: ApprovalEvidence | None = None

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
        records, moves = RecordOptions(**fields.pop("records")), MoveOptions(**fields.pop("moves"))
        lease = fields.pop("lease")
        asked = None if lease is None else LeaseRequest(**{**lease, "breaks": tuple(lease["breaks"])})
        approved = _evidence(fields.pop("approved"))
        own = {"connection": connection, "records": records, "moves": moves, "lease": asked, "approved": approved}
        return cls(**{**fields, **own})


def _evidence(given: Mapping[str, Any] | None) -> ApprovalEvidence | None:
    """The approvals of a task's text."""
    if given is None:
        return None
    approvers = tuple(Approver(**approver) for approver in given["approvers"])
    lists = {name: tuple(given[name]) for name in ("authors", "left_out")}
    return ApprovalEvidence(**{**given, **lists, "approvers": approvers})


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


#: Seconds that an apply waits for somebody else's lease: the process of a killed task needs some to give its own back.
_PATIENCE: Final = LeasePatience(30.0)


def main(*, watched: bool = False) -> None:
    """Apply, and write the result; ``watched``: standard input ends when the task does that began this process."""
    forbid_core_dumps()
    task = ChildTask.parse(sys.stdin.readline())
    if watched:
        threading.Thread(target=_stop_with_task, daemon=True).start()
    os.environ.update(task.environment)
    try:
        options = ApplyOptions(
            task.plan_id,
            task.records,
            task.lease,
            guardrails=task.guardrails,
            moves=task.moves,
            patience=_PATIENCE,
            max_age=None if task.max_age is None else datetime.timedelta(seconds=task.max_age),
            approved=task.approved,
        )
        result = apply_plan(task.plan_file, task.manifests, None, task.connection, options, supervisor=_Child())
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
    reasons = [result.stopped, *result.differences, *(f"{number} {name}" for name, number in counts.items() if number)]
    reason = INTERRUPTED if result.interrupted else WorkflowError.reason
    return ChildResult(reason, " ".join("; ".join(filter(None, reasons)).split()), done, already)


def _stop_with_task() -> None:
    """Stop as by a signal once the task that began this process is gone: nobody would hear how it ended."""
    with suppress(OSError):
        os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


_CHILD: Final = "from reconciler.parts.fleet.app.apply import main; main(watched=True)"
#: How many clusters are changed at once: what a bad change reaches before the first failure stops it.
AT_ONCE: Final = 8
#: Seconds that a process gets to finish the batch in flight after it was asked to stop.
_GRACE: Final = 90.0
#: Seconds after which an interruption is seen while clusters are at work.
_LOOK: Final = 1.0
#: So many characters of a message are kept.
_LONGEST: Final = 2000
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
    """What every apply of a fleet has in common: how many clusters at once, and how many seconds for each.

    ``records`` says what is written down beside the journal of each cluster; its paths have to be there where a task
    runs, else nothing is sent. Each apply holds its cluster's lease unless ``lease`` is false; ``breaks`` are holders
    that are known to be dead. ``moves`` is how fast replicas move. ``guardrails`` are the texts that held the plans
    when they were made, and hold them again. ``max_age`` is how old one may be when its cluster begins, and
    ``approved`` who has signed the fleet's plan, for the audit log of each cluster.
    """

    connection: ConnectionOptions
    at_once: int = AT_ONCE
    timeout: float = 3600.0
    records: RecordOptions = RecordOptions()
    guardrails: tuple[Source, ...] | None = None
    moves: MoveOptions = MoveOptions()
    lease: bool = True
    breaks: tuple[str, ...] = ()
    max_age: datetime.timedelta | None = None
    approved: ApprovalEvidence | None = None

    def everywhere(self) -> "ApplyTerms":
        """As they mean the same wherever a task runs: paths are absolute, and one operator is at work."""
        audit = None if self.records.audit is None else os.path.abspath(self.records.audit)
        records = replace(self.records, audit=audit, operator=self.records.who())
        return replace(self, connection=everywhere(self.connection), records=records)


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
    digest: str
    records: dict[tuple[str, str], ApplyRecord]
    _began: list[ApplyRecord] = field(default_factory=list)

    @classmethod
    def saved(cls, directory: Path) -> "FleetApply":
        """What a directory of plans holds; raises a :class:`WorkflowError`."""
        plans = read_fleet_plan(directory)
        records = latest(read_record(directory, plans.plan))
        return cls(directory, plans.plan, plans.texts, plans.digest, records)

    def check_signed(self, rule: ApprovalRule | None) -> ApprovalEvidence | None:
        """Who has signed ``fleet.json``, and by the digests in it each cluster's plan, if the rule asks for it.

        Raises :class:`NotApprovedError` for too few signatures.
        """
        return check_signed(self.file, self.digest, rule, now())

    @property
    def file(self) -> str:
        """What people sign."""
        return str(self.directory / FLEET_FILE)

    @property
    def finished(self) -> bool:
        """Whether every cluster has ended well."""
        return not any(pending(wave, self.records) for wave in self.plan.waves)

    def perform(
        self,
        engine: Engine,
        sources: Sequence[Source],
        terms: ApplyTerms,
        *,
        wait: bool = False,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Iterator[FleetEvent]:
        """Perform what is not finished, an event at a time, as the manifests in ``sources`` declare the clusters.

        With ``wait``, waits at gates that open later. Stops where a gate is closed, and once ``interrupted``; clusters
        that have begun are finished. Raises a :class:`WorkflowError` with nothing sent, or where the record cannot be
        written, and :class:`HeldError` where somebody else performs these plans.
        """
        engine.refuse_copies()
        group = f"reconciler-{uuid.uuid4()}"
        work = partial(apply_member, terms=terms.everywhere(), texts=tuple(sources))
        with plan_lock(self.directory), engine.ending(group):
            # Somebody else may have performed some of them since they were read.
            self.records = latest(read_record(self.directory, self.plan))
            self._check_declared(sources, terms)
            self._check_age(terms.max_age)
            for number, wave in enumerate(self.plan.waves):
                if number and (closed := self._closed(self.plan.waves[number - 1], interrupted, wait=wait)):
                    yield closed
                    return
                yield from self._perform(wave, partial(self._apply, engine, work, group), terms.at_once, interrupted)
                if interrupted():
                    return

    def _check_declared(self, sources: Sequence[Source], terms: ApplyTerms) -> None:
        """Refuse waves and gates that are easier than the manifests have them by now, and what their limits refuse."""
        manifests = as_operator_says(checked(sources, read=loaded), None, terms.connection)
        if terms.guardrails is not None:
            manifests = held_by(manifests, terms.guardrails, GUARDRAILS)
        try:
            fleet = fleet_of(manifests, self.plan.name if manifests.fleets else None)
        except UnknownFleetError as error:
            raise StaleError(f"{error}: nothing was sent", "plan again") from error
        if lifted := lifted_gates(self.plan, fleet):
            raise StaleError(f"{FLEET_FILE}: {'; '.join(lifted)}: nothing was sent", "plan again")
        if refused := limit_refusals(self.plan, fleet):
            raise PlanRefusedError(f"a limit of the fleet refuses this plan: nothing was sent: {'; '.join(refused)}")

    def _check_age(self, most: datetime.timedelta | None) -> None:
        """Refuse all of them if one that is not finished is too old."""
        for member in (
            (member for wave in self.plan.waves for member in pending(wave, self.records)) if most is not None else ()
        ):
            try:
                check_age(parse_plan(self.plans[member.cluster]), most, now())
            except StaleError as error:
                raise StaleError(f"{member.file}: {error.message}: nothing was sent", error.advice) from error

    def _perform(
        self,
        wave: PlannedWave,
        apply: Callable[[Member], ApplyRecord],
        at_once: int,
        interrupted: Callable[[], bool],
    ) -> Iterator[FleetEvent]:
        """A wave: a cluster begins as soon as another one has ended, and the record of that one is on disk."""
        waiting, running = deque(pending(wave, self.records)), dict[Future[ApplyRecord], Member]()
        pool = ThreadPoolExecutor(at_once)
        try:
            while True:
                begin = []
                if not interrupted() and not failures_exceeded(wave, latest(self._began)):
                    begin = [waiting.popleft() for _ in range(min(len(waiting), at_once - len(running)))]
                if begin:
                    yield BatchBegun(wave.name, tuple(member.cluster for member in begin))
                    for member in begin:
                        running[pool.submit(apply, member)] = member
                if not running:
                    return
                for future in wait(running, _LOOK, FIRST_COMPLETED).done:
                    del running[future]
                    yield self._noted(future.result())
        except BaseException:
            for future, member in running.items():
                with suppress(WorkflowError):  # what ended it is what counts
                    self._noted(future.result() if future.done() else _unknown(member, "ended while it was performed"))
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _noted(self, record: ApplyRecord) -> ApplyRecord:
        """Written down."""
        add_to_record(self.directory, [apply_record_text(record)])
        self._began.append(record)
        add_record(self.records, record)
        return record

    def _apply(self, engine: Engine, work: Callable[..., Iterator[str]], group: str, member: Member) -> ApplyRecord:
        """One cluster, in a job of its own: what ends it ends no other one."""
        journal = (self.directory / f"{member.file}.journal").resolve()
        job = MemberJob(member.cluster, member.plan_id, self.plans[member.cluster], str(journal))
        try:
            lines = engine.run([[job]], work, f"fleet apply: {member.cluster}", group, begun_again)
        except TaskFailedError as error:
            return _unknown(member, f"{error.message}; its outcomes are unknown")
        (record,) = parse_apply_records("".join(f"{line}\n" for line in lines), self.plan)
        # By the clock that gates go by: that of the machine where the task ran may be wrong.
        return replace(record, finished=time.time())

    def _closed(self, wave: PlannedWave, interrupted: Callable[[], bool], *, wait: bool) -> GateClosed | None:
        """Why the wave after this one may not begin, if so."""
        gate = gate_after(wave, self.records)
        if gate.shut:
            return GateClosed(wave.name, gate)
        while (seconds := gate.opens - time.time()) > 0:
            if not wait or interrupted():
                return GateClosed(wave.name, gate)
            time.sleep(min(seconds, 1.0))
        return None


def _unknown(member: Member, why: str) -> ApplyRecord:
    return ApplyRecord(member.cluster, member.plan_id, UNKNOWN, time.time(), why[:_LONGEST])


def apply_member(
    jobs: Sequence[MemberJob], attempt: str, *, terms: ApplyTerms, texts: tuple[Source, ...]
) -> Iterator[str]:
    """The record of the cluster of a task, in one line; no engine may begin the task a second time."""
    (job,) = jobs
    with tempfile.TemporaryDirectory(prefix="reconciler-fleet-") as scratch:
        _copy(texts, Path(scratch, MANIFESTS))
        _copy(terms.guardrails or (), Path(scratch, GUARDRAILS))
        yield apply_record_text(_apply_one(job, Path(scratch), terms))


def begun_again(jobs: Sequence[MemberJob], attempt: str) -> Iterator[str]:
    """The record instead: what the first attempt did before it was lost nobody knows."""
    (job,) = jobs
    why = f"Spark began its task again ({attempt}) after the first one was lost, which may have changed something"
    yield apply_record_text(ApplyRecord(job.cluster, job.plan_id, UNKNOWN, time.time(), why))


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
        replace(terms.records, journal=job.journal if kept else None),
        terms.connection,
        None if terms.guardrails is None else str(scratch / GUARDRAILS),
        secret_environment(terms.connection.allow_env, password_prefixes(terms.connection)),
        terms.moves,
        LeaseRequest(terms.records.who(), terms.breaks) if terms.lease or terms.breaks else None,
        None if terms.max_age is None else terms.max_age.total_seconds(),
        terms.approved,
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
        # Ctrl-C is for us: what has begun is finished.
        start_new_session=True,
    )
    stopped = ""
    with task_on_stdin(process, task.text()):
        try:
            process.wait(terms.timeout)
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


@contextmanager
def task_on_stdin(process: "subprocess.Popen[str]", text: str) -> Iterator[None]:
    """Its task on standard input, which stays open for the time of the block: its end tells that we are gone."""
    pipe = process.stdin
    assert pipe is not None  # noqa: S101 - as it was started
    # A process that ended before it read is told by how it ended.
    with suppress(OSError):
        pipe.write(f"{text}\n")
        pipe.flush()
    try:
        yield
    finally:
        with suppress(OSError):
            pipe.close()


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
    return ApplyRecord(job.cluster, job.plan_id, reason, time.time(), message[:_LONGEST], ended.done, ended.already)
