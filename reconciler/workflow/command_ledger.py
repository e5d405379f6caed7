"""The audit log of a command that performs no plan, and writes to the cluster all the same."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from reconciler.apply import NoLedger
from reconciler.dataclass import dataclass
from reconciler.ports import Ledger, RecordError
from reconciler.workflow.clusters import Target
from reconciler.workflow.reasons import RecordsError
from reconciler.workflow.records import RecordOptions, audit_head, audit_topic, ledgers


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
            raise RecordsError(f"nothing was sent, because it could not be written down: {why}", "audit")

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
