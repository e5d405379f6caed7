"""Saved plans that people have signed: performed by a server as ``apply`` would, the same bytes once to their end.

Which bytes were performed is in the audit log and in the journals of the directory, also of a file with another name.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from reconciler.adapters.audit_log import LogTail
from reconciler.adapters.journal_file import read_records
from reconciler.apply import GOOD, JournalError, PastRun
from reconciler.dataclass import dataclass
from reconciler.plan import Plan, ids
from reconciler.report.rounds import ApprovedOutcome, ApprovedStatus
from reconciler.report.style import counted
from reconciler.workflow.applying import ApplyOptions, apply_plan
from reconciler.workflow.approving import check_approvals
from reconciler.workflow.attendant import Attendant
from reconciler.workflow.clusters import split_cluster
from reconciler.workflow.options import ApprovalRule, ConnectionOptions, now
from reconciler.workflow.reasons import HeldError, NotApprovedError, WorkflowError
from reconciler.workflow.records import earlier_runs
from reconciler.workflow.saved_plans import saved_plan


@dataclass(frozen=True, slots=True)
class ApplySetting:
    """How a server applies: where the manifests are now, how to reach the cluster, what is written down, who is told.

    ``cluster`` is ``NAME`` or ``NAME=snapshot:FILE``, which stands for it.
    """

    path: str
    cluster: str
    connection: ConnectionOptions
    options: ApplyOptions
    attendant: Attendant


@dataclass(slots=True)
class ApprovedPlans:
    """The plans ``*.json`` in a directory that ``rule`` approves."""

    directory: str
    rule: ApprovalRule
    _over: set[str] = field(default_factory=set)
    _log: LogTail | None = None
    #: Of runs that the audit log tells of: the digest of the plan's file.
    _digests: dict[str, str] = field(default_factory=dict)

    def perform(self, setting: ApplySetting) -> Iterator[ApprovedOutcome]:
        """Perform the plans for one cluster that are approved and not over, in the order of their names."""
        name, _ = split_cluster(setting.cluster)
        self._read_records(setting.options.records.audit)
        for file in sorted(Path(self.directory).glob("*.json")):
            try:
                plan, digest = saved_plan(str(file))
            except WorkflowError as error:
                yield ApprovedOutcome(file.name, ApprovedStatus.FAILED, str(error))
                continue
            if plan.terms.cluster != name or digest in self._over:
                continue
            found = self._performed(str(file), plan, digest, setting)
            if found is not None:
                yield found

    def _read_records(self, audit: str | None) -> None:
        """Which bytes were performed, whatever the file's name: by the audit log and all journals of the directory."""
        if audit is not None:
            self._log = self._log or LogTail(audit)
            self._take(self._log.records({"run", "end"}))
        for journal in sorted(Path(self.directory).glob("*.journal")):
            # What cannot be read is said where its own plan is about to be performed.
            with suppress(JournalError, OSError):
                self._take(read_records(str(journal)))

    def _take(self, records: Iterable[Mapping[str, Any]]) -> None:
        for record in records:
            run, digest = str(record.get("run")), record.get("fileDigest")
            if record.get("record") == "run" and isinstance(digest, str):
                self._digests[run] = digest
            elif record.get("record") == "end" and record.get("succeeded") is True and run in self._digests:
                self._over.add(self._digests[run])

    def _performed(self, file: str, plan: Plan, digest: str, setting: ApplySetting) -> ApprovedOutcome | None:
        name = Path(file).name
        try:
            # Before anything else: an unsigned file must not make the server read journals or clusters.
            check_approvals(file, digest, self.rule, now())
            _, whole = ids(plan)
            if _is_over(plan, earlier_runs(f"{file}.journal", whole)):
                self._over.add(digest)
                return None
            own = replace(setting.options, require_id=digest, approvals=self.rule)
            result = apply_plan(
                file, setting.path, setting.cluster, setting.connection, own, attendant=setting.attendant
            )
        except NotApprovedError as error:
            return ApprovedOutcome(name, ApprovedStatus.WAITING, str(error))
        except HeldError as error:
            return ApprovedOutcome(name, ApprovedStatus.HELD, str(error))
        except WorkflowError as error:
            return ApprovedOutcome(name, ApprovedStatus.FAILED, str(error))
        if not result.succeeded:
            return ApprovedOutcome(name, ApprovedStatus.FAILED, result.stopped or "not every step is done")
        self._over.add(digest)
        refused = len(plan.refused)
        why = f"{counted(refused, 'change')} refused by guards, and not in it" if refused else ""
        return ApprovedOutcome(name, ApprovedStatus.PERFORMED, why)


def _is_over(plan: Plan, runs: Iterable[PastRun]) -> bool:
    """Whether the journal tells of a run to the end: with every step done, or seen to be done."""
    return any(run.ended and all(run.steps.get(step.id) in GOOD for step in plan.steps) for run in runs)
