"""After which phases apply may have to wait for every broker."""

from reconciler.plan.phase import Phase, barriers
from reconciler.plan.proposal import Plan


def possible_barriers(plan: Plan) -> tuple[Phase, ...]:
    """After which phases there may be a barrier: those that the steps call for, and those that only bridges do."""
    phases = {step.phase for step in plan.steps}
    return barriers({*phases, Phase.CREATE_FIRST, Phase.DELETE_LAST}) if plan.bridges.wanted else plan.barriers
