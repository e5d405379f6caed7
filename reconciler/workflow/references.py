"""References to secrets in manifests: followed once a plan is approved, all of them before anything is sent."""

from pathlib import Path

from reconciler.apply import Preflight
from reconciler.model import ClusterState
from reconciler.model.characters import is_visible
from reconciler.plan import (
    Plan,
    StepState,
    Terms,
    conditions_of,
    describe,
    kind_of,
    login_refusals,
    logins_at_risk,
    unacknowledged,
)
from reconciler.workflow.clusters import Target
from reconciler.workflow.planning import declared_for
from reconciler.workflow.reasons import PlanRefusedError, WorkflowError


def refuse_obstacles(plan: Plan, terms: Terms, target: Target, live: ClusterState) -> None:
    """Refuse a plan with a change that cannot be made by this login, or by what the operator permits now.

    Also one that limits a login which has to work, unless the plan says that a person accepted it: this login may be
    another one than that for which it was made.
    """
    conditions = conditions_of(terms, target.login, declared_for(target).secret_permit)
    for step in plan.steps:
        if (why := kind_of(step.change).obstacle(step.change, conditions)) is not None:
            raise PlanRefusedError(f"cannot {describe(step.change)}: {why}: nothing was sent", "plan again")
    risks = logins_at_risk([step.change for step in plan.steps], live, conditions.logins)
    refused = unacknowledged(login_refusals(risks), plan.acknowledgements)
    if refused:
        raise PlanRefusedError("a guard refuses this plan: nothing was sent", plan=plan, refusals=refused)


def follow_references(plan: Plan, preflight: Preflight, target: Target) -> None:
    """Read the secrets that the steps need which are still to do; raises with nothing sent if one cannot be read.

    Only what :func:`refuse_obstacles` lets pass is read. A snapshot takes no passwords, so none is read for it.
    """
    if target.settings is None:
        return
    from reconciler.adapters.kafka.secret_source import SecretError, SecretSource  # noqa: PLC0415 - as settings_of

    permit = declared_for(target).secret_permit
    source = SecretSource(secrets_dirs=tuple(map(Path, permit.directories)), env_prefixes=permit.env_prefixes)
    for step, found in zip(plan.steps, preflight.findings, strict=True):
        for reference in kind_of(step.change).references(step.change) if found.state is StepState.PENDING else ():
            try:
                value, _ = source.resolve(reference)
            except SecretError as error:
                raise WorkflowError(f"cannot {describe(step.change)}: {error.message}: nothing was sent") from error
            if not value:
                raise WorkflowError(f"cannot {describe(step.change)}: {reference} is empty: nothing was sent")
            # A byte order mark, a zero-width space, a line break in the middle: nobody types them at a login.
            if not is_visible(value):
                hidden = f"{reference} has characters that nobody sees, such as a byte order mark or a line break"
                raise WorkflowError(f"cannot {describe(step.change)}: {hidden}: nothing was sent")
            target.settings.followed[reference] = value
