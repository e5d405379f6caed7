"""What an apply writes down and where: its journal, its audit records, who is at work."""

import contextlib
import datetime
import getpass
import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reconciler.cli.console import tell
from reconciler.cli.exits import CommandError, Exit
from reconciler.report.paint import safe

if TYPE_CHECKING:
    from reconciler.apply import PastRun
    from reconciler.ports import Ledger


@dataclass(frozen=True, slots=True)
class Records:
    """What the command line says about records; ``journal`` is a file, ``None`` where none is to be kept."""

    journal: str | None = None
    audit: str | None = None
    audit_topic: str | None = None
    operator: str | None = None

    def beside(self, plan_file: str) -> "Records":
        """The same, with the journal beside the plan unless another place was given."""
        return Records(self.journal or f"{plan_file}.journal", self.audit, self.audit_topic, self.operator)

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


def earlier_runs(journal: str, plan: str) -> "list[PastRun]":
    """The runs of this plan that the journal tells of; none if there is no journal."""
    from reconciler.adapters.journal_file import read_records
    from reconciler.apply import JournalError, past_runs

    try:
        return [run for run in past_runs(read_records(journal)) if run.plan_id == plan]
    except FileNotFoundError:
        return []
    except (JournalError, OSError) as error:
        raise CommandError(
            f"the journal cannot be read: {error}",
            "move it away, or give --journal FILE: without it the plan still recognises its own finished steps",
        ) from error


def tell_earlier(runs: "list[PastRun]") -> None:
    """Say that this plan was begun before."""
    for run in runs:
        if not run.ended:
            who = f"run {safe(run.run)} of this plan, begun {safe(run.time)} by {safe(run.operator)}"
            tell(f"{who}, did not end: {len(run.performed):,} steps done, {len(run.doubtful):,} in doubt; going on")


@contextmanager
def ledgers(records: Records, topic: "Ledger | None") -> "Iterator[tuple[Ledger, Ledger]]":
    """The journal and the audit log, open; somebody else at the same journal ends the command with status 6."""
    from reconciler.adapters.journal_file import InUseError, RecordFile
    from reconciler.apply import NoLedger
    from reconciler.ports import RecordError

    with ExitStack() as files:
        try:
            journal: Ledger = NoLedger()
            if records.journal is not None:
                journal = files.enter_context(RecordFile(records.journal, alone=True))
            kept: list[Ledger] = [] if topic is None else [topic]
            if records.audit is not None:
                kept.append(files.enter_context(RecordFile(records.audit, alone=False)))
        except InUseError as error:
            raise CommandError(f"somebody is applying this plan now: {error}", status=Exit.LOCKED) from error
        except RecordError as error:
            option = "--journal" if isinstance(journal, NoLedger) and records.journal is not None else "--audit"
            raise CommandError(
                f"nothing was sent, because it could not be written down: {error}",
                f"give {option} FILE, in a directory that can be written to",
            ) from error
        yield journal, _All(tuple(kept))


@dataclass(frozen=True, slots=True)
class _All:
    """Every place gets every record."""

    places: "tuple[Ledger, ...]"

    def write(self, *records: Mapping[str, Any]) -> None:
        """See ``ports``."""
        for place in self.places:
            place.write(*records)


def journal_of(plan_file: str, journal: str | None) -> str:
    """The journal of a plan file, which must be there."""
    path = journal or f"{plan_file}.journal"
    if not Path(path).is_file():
        raise CommandError(
            f"there is no journal {path}, so nothing says which steps were performed",
            "give --journal FILE if it lies elsewhere",
            Exit.USAGE,
        )
    return path
