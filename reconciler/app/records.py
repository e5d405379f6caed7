"""Records of commands: journal, audit log, saved plans, commit, the clock's doubt.

What an apply writes down and where: its journal, its audit records, who is at work.
"""

import contextlib
import datetime
import getpass
import json
import os
import secrets
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from reconciler.app import reasons
from reconciler.app.options import now
from reconciler.app.session import Target
from reconciler.apply.audit import LogIdentity
from reconciler.apply.environment import ApprovalEvidence, NoLedger
from reconciler.apply.records import JournalError, PastRun, past_runs
from reconciler.dataclass import dataclass
from reconciler.model.state import ClusterState
from reconciler.plan.certificate import CertificateError, certificate, certificate_text
from reconciler.plan.file import PlanFileError, file_digest, plan_text
from reconciler.plan.proposal import Plan
from reconciler.ports import Ledger, RecordError
from reconciler.system.commit_files import OWN_REPOSITORY
from reconciler.system.files import read_plan, write_atomically, write_plan
from reconciler.system.journal import AuditLog, InUseError, LineSender, RecordFile, read_records
from reconciler.system.process import broken_link, child_environment


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """Where records are kept: ``journal`` and ``audit`` are files, ``audit_topic`` is a topic of the cluster itself.

    ``None`` where none is to be kept; without an ``operator`` it is ``USER@HOST``. ``url`` is where a pipeline shows
    the run.
    """

    journal: str | None = None
    audit: str | None = None
    audit_topic: str | None = None
    operator: str | None = None
    url: str | None = None

    def next_to(self, plan_file: str) -> "RecordOptions":
        """The same, with the journal next to the plan unless another place was given."""
        return replace(self, journal=self.journal or f"{plan_file}.journal")

    def who(self) -> str:
        """Who is at work, as given or as the machine knows it."""
        if self.operator:
            return self.operator
        with contextlib.suppress(OSError, KeyError):
            return f"{getpass.getuser()}@{socket.gethostname()}"
        return "unknown"


def new_run() -> str:
    """A name for a run: when it began, and what tells it from others of that second."""
    return f"{now():%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def earlier_runs(journal: str, plan: str) -> list[PastRun]:
    """The runs of this plan that the journal tells of; none if there is no journal."""
    try:
        return [run for run in past_runs(read_records(journal)) if run.plan_id == plan]
    except FileNotFoundError:
        return []
    except (JournalError, OSError) as error:
        raise reasons.UnreadableJournalError(f"the journal cannot be read: {error}") from error


def audit_topic(target: Target, records: RecordOptions) -> LineSender | None:
    """What sends a copy of the audit log to a topic of the cluster, if one is to be kept there."""
    if records.audit_topic is None:
        return None
    if target.settings is None:
        raise reasons.NoAuditTopicError("a snapshot has no topic that could keep audit records")
    from reconciler.kafka.audit_topic import AuditTopic

    try:
        return AuditTopic(target.settings, records.audit_topic).send
    except RecordError as error:
        raise reasons.WorkflowError(f"no audit record can be sent: {error}") from error


@contextmanager
def ledgers(records: RecordOptions, send: LineSender | None) -> Iterator[tuple[Ledger, Ledger]]:
    """The journal and the audit log, open; somebody else at the same journal is a :class:`HeldError`."""
    with ExitStack() as files:
        try:
            journal: Ledger = NoLedger()
            audit: Ledger = NoLedger()
            if records.journal is not None:
                journal = files.enter_context(RecordFile(records.journal))
            if records.audit is not None or send is not None:
                audit = files.enter_context(AuditLog(_log_identity(records.audit), send))
        except InUseError as error:
            raise reasons.HeldError(f"somebody is applying this plan now: {error}") from error
        except RecordError as error:
            kept_as = "journal" if isinstance(journal, NoLedger) and records.journal is not None else "audit"
            message = f"nothing was sent, because it could not be written down: {error}"
            raise reasons.RecordsError(message, kept_as) from error
        yield journal, audit


def keep_signatures(records: RecordOptions, approvals: ApprovalEvidence | None) -> None:
    """Keep the signatures that count beside the audit log, each in a file named by its digest.

    A pipeline throws the plan away, and its signatures with it. Raises :class:`RecordsError`.
    """
    if records.audit is None or approvals is None:
        return
    try:
        directory = signatures_of(records.audit)
        directory.mkdir(mode=0o700, exist_ok=True)
        for digest, content in approvals.texts.items():
            file = signature_file(records.audit, digest)
            if not file.exists():
                write_atomically(content, str(file))
    except OSError as error:
        raise reasons.RecordsError(
            f"nothing was sent, because a signature could not be kept: {error}", "audit"
        ) from error


def signatures_of(audit: str) -> Path:
    """The directory beside an audit log that keeps the signatures of its runs."""
    return Path(f"{audit}.signatures")


def signature_file(audit: str, digest: str) -> Path:
    """The file that keeps the signature with this digest beside an audit log."""
    return signatures_of(audit) / f"{digest.removeprefix('sha256:')}.sig"


def _log_identity(path: str | None) -> LogIdentity:
    """A new log's identity, at its place on this machine."""
    place = audit_place(path) if path is not None else None
    return LogIdentity(secrets.token_hex(16), socket.gethostname(), place[1] if place is not None else None)


def audit_place(path: str) -> tuple[str, str]:
    """The machine and the path by which an audit log's lines say where it is."""
    return socket.gethostname(), os.path.realpath(path)


def audit_head(audit: Ledger) -> str:
    """The digest of the last line that a run wrote to its audit log; empty where there is none."""
    return audit.head if isinstance(audit, AuditLog) else ""


def journal_of(plan_file: str, journal: str | None) -> str:
    """The journal of a plan file, which must be there."""
    path = journal or f"{plan_file}.journal"
    if not Path(path).is_file():
        raise reasons.NoJournalError(path)
    return path


# Plans in files: written as they were made, read as they were written.


def save_plan(plan: Plan, file: str) -> str:
    """Write a plan into a file; its digest."""
    try:
        return write_plan(plan, file)
    except OSError as error:
        advice = "make the directory first" if isinstance(error, FileNotFoundError) else ""
        raise reasons.WorkflowError(f"the plan cannot be saved: {file}: {error.strerror}", advice) from error


def save_certificate(plan: Plan, live: ClusterState, file: str) -> None:
    """Write the certificate of a plan that was made from ``live``; raises a :class:`WorkflowError`."""
    try:
        text = certificate_text(certificate(plan, live, file_digest(plan_text(plan))))
    except CertificateError as error:
        raise reasons.WorkflowError(f"no certificate: {error}", error.advice) from error
    try:
        write_atomically(text, file)
    except OSError as error:
        raise reasons.WorkflowError(f"the certificate cannot be saved: {error}") from error


def saved_plan(file: str) -> tuple[Plan, str]:
    """The plan in a file, and the file's digest; raises :class:`StaleError` where the file was altered."""
    try:
        return read_plan(file)
    except PlanFileError as error:
        other = str(error).startswith("not a saved plan")
        if other and _is_of_a_fleet(file):
            message = f"{file} is the plan of a fleet, and names a plan for each of its clusters"
            raise reasons.FleetPlanGivenError(message) from error
        advice = "plan again, and pass the plan file" if other else "plan again"
        raise reasons.StaleError(f"{file}: {error}", advice) from error
    except OSError as error:
        why, advice = broken_link(file) or error.strerror or str(error), "plan again"
        raise reasons.WorkflowError(f"the plan {file} cannot be read: {why}", advice) from error


def _is_of_a_fleet(file: str) -> bool:
    """Whether a file that is no plan of a cluster has the id of a fleet's."""
    try:
        document = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and "fleetId" in document


# Which commit the manifests are at, by the user's own git.


#: After a commit from which files differ.
_DIRTY: Final = "-dirty"


def source_commit(path: str) -> str | None:
    """The commit of the manifests' repository, marked where files differ from it; ``None`` outside of git."""
    commit = _git(path, "rev-parse", "HEAD")
    if commit is None:
        return None
    return f"{commit}{_DIRTY}" if _git(path, "status", "--porcelain", "--", ".") else commit


def commit_author(path: str, commit: str | None) -> str | None:
    """Whom git names as the author of a commit of the manifests' repository, which nobody verified.

    ``None`` where that is not known: outside of git, and of files that are not committed.
    """
    if commit is None or commit.endswith(_DIRTY):
        return None
    return _git(path, "show", "--no-patch", "--format=%ae", "--end-of-options", commit) or None


def _git(path: str, *arguments: str) -> str | None:
    directory = Path(path) if Path(path).is_dir() else Path(path).parent
    try:
        done = subprocess.run(
            ["git", *OWN_REPOSITORY, "-C", str(directory), *arguments],  # noqa: S607 - the user's own git
            env=child_environment("GIT_"),
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


# The clock of this machine against one that is not ours: that of the active controller of a cluster.

#: How far they may be apart: by more, one of them is wrong.
_APART: Final = datetime.timedelta(minutes=1)


def clock_doubt_of(target: Target) -> str | None:
    """Why this machine's clock or the controller's is wrong: which one, nobody here can tell, so neither is believed.

    Only who runs the controllers sets theirs; a commit, an ACL and a lease have the times that their writers chose.
    ``None`` also where the cluster does not tell.
    """
    before = now()
    reported = target.cluster.controller_time()
    if reported is None or before - _APART <= reported <= now() + _APART:
        return None
    way = "ahead of" if reported < before else "behind"
    seconds = abs((reported - before).total_seconds())
    return f"this machine's clock is {seconds:.0f} s {way} the controller's, {reported:%Y-%m-%dT%H:%M:%SZ}"


def check_clock(target: Target) -> None:
    """Raise :class:`WorkflowError` where this machine's clock may be wrong: before anything is done by its time."""
    if (doubt := clock_doubt_of(target)) is not None:
        raise reasons.WorkflowError(
            f"{doubt}: nothing was sent", "set the clock that is wrong, mostly by NTP, and try again"
        )


# The audit log of a command that performs no plan, and writes to the cluster all the same.


@dataclass(frozen=True, slots=True)
class CommandLedger:
    """The audit log, open. Nothing is kept if nobody asked for one."""

    audit: Ledger

    @property
    def is_kept(self) -> bool:
        """Whether lines go anywhere."""
        return not isinstance(self.audit, NoLedger)

    @property
    def head(self) -> str:
        """The digest of the last line; empty where nothing is kept."""
        return audit_head(self.audit)

    def intend(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Write down what is about to be sent; raises :class:`RecordsError`, and then nothing may be sent."""
        if why := self.conclude(lines):
            raise reasons.RecordsError(f"nothing was sent, because it could not be written down: {why}", "audit")

    def conclude(self, lines: Sequence[Mapping[str, Any]]) -> str:
        """Write down what became of it; why that failed, which must not hide what was done. Empty where it is kept."""
        try:
            self.audit.write(*lines)
        except RecordError as error:
            return str(error)
        return ""


@contextmanager
def command_ledger(target: Target, records: RecordOptions) -> Iterator[CommandLedger]:
    """The audit log of ``records``; it has no journal. Raises :class:`RecordsError` where it cannot be opened."""
    with ledgers(replace(records, journal=None), audit_topic(target, records)) as (_, audit):
        yield CommandLedger(audit)
