"""What an apply writes down and where: its journal, its audit records, who is at work."""

import contextlib
import datetime
import getpass
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.adapters.audit_log import AuditLog, LineSender
from reconciler.adapters.journal_file import InUseError, RecordFile, read_records
from reconciler.apply import JournalError, NoLedger, PastRun, past_runs
from reconciler.apply.audit_chain import LogIdentity
from reconciler.dataclass import dataclass
from reconciler.ports import Ledger, RecordError
from reconciler.workflow.clusters import Target
from reconciler.workflow.reasons import (
    HeldError,
    NoAuditTopicError,
    NoJournalError,
    RecordsError,
    UnreadableJournalError,
    WorkflowError,
)

if TYPE_CHECKING:
    from reconciler.adapters.kafka.audit_topic import AuditTopic


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """Where records are kept: ``journal`` and ``audit`` are files, ``audit_topic`` is a topic of the cluster itself.

    ``None`` where none is to be kept; without an ``operator`` it is ``USER@HOST``.
    """

    journal: str | None = None
    audit: str | None = None
    audit_topic: str | None = None
    operator: str | None = None

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
    now = datetime.datetime.now(datetime.UTC)
    return f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def earlier_runs(journal: str, plan: str) -> list[PastRun]:
    """The runs of this plan that the journal tells of; none if there is no journal."""
    try:
        return [run for run in past_runs(read_records(journal)) if run.plan_id == plan]
    except FileNotFoundError:
        return []
    except (JournalError, OSError) as error:
        raise UnreadableJournalError(f"the journal cannot be read: {error}") from error


def audit_topic(target: Target, records: RecordOptions) -> "AuditTopic | None":
    """The topic of the cluster that keeps a copy of the audit log, if one is to."""
    if records.audit_topic is None:
        return None
    if target.settings is None:
        raise NoAuditTopicError("a snapshot has no topic that could keep audit records")
    from reconciler.adapters.kafka.audit_topic import AuditTopic  # noqa: PLC0415 - see connections.settings_of

    try:
        return AuditTopic(target.settings, records.audit_topic)
    except RecordError as error:
        raise WorkflowError(f"no audit record can be sent: {error}") from error


@contextmanager
def ledgers(records: RecordOptions, topic: LineSender | None) -> Iterator[tuple[Ledger, Ledger]]:
    """The journal and the audit log, open; somebody else at the same journal is a :class:`HeldError`."""
    with ExitStack() as files:
        try:
            journal: Ledger = NoLedger()
            audit: Ledger = NoLedger()
            if records.journal is not None:
                journal = files.enter_context(RecordFile(records.journal))
            if records.audit is not None or topic is not None:
                audit = files.enter_context(AuditLog(_log_identity(records.audit), topic))
        except InUseError as error:
            raise HeldError(f"somebody is applying this plan now: {error}") from error
        except RecordError as error:
            kept_as = "journal" if isinstance(journal, NoLedger) and records.journal is not None else "audit"
            message = f"nothing was sent, because it could not be written down: {error}"
            raise RecordsError(message, kept_as) from error
        yield journal, audit


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
        raise NoJournalError(path)
    return path
