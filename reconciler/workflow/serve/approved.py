"""Saved plans that people have signed: performed by a server as ``apply`` would, each at most once to its end."""

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from pathlib import Path

from reconciler.apply import GOOD, PastRun
from reconciler.dataclass import dataclass
from reconciler.plan import Plan, ids
from reconciler.report.rounds import ApprovedOutcome, ApprovedStatus
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

    def perform(self, setting: ApplySetting) -> Iterator[ApprovedOutcome]:
        """Perform the plans for one cluster that are approved and not over, in the order of their names."""
        name, _ = split_cluster(setting.cluster)
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
        return ApprovedOutcome(name, ApprovedStatus.PERFORMED)


def _is_over(plan: Plan, runs: Iterable[PastRun]) -> bool:
    """Whether the journal tells of a run to the end: with every step done, or seen to be done."""
    return any(run.ended and all(run.steps.get(step.id) in GOOD for step in plan.steps) for run in runs)
