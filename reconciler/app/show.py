"""Whether a saved plan is what planning gives: made again from the manifests and the cluster, and compared.

Reading a plan checks its bytes, its ids, what follows from its steps, and their order. Whether its access rows,
effects, callouts, facts, counts and warnings are true, only the cluster and the manifests can say.
"""

from typing import Final

from reconciler.app.options import ConnectionOptions, PlanOptions, Tell, ignore
from reconciler.app.plan import plan as plan_again
from reconciler.app.reasons import RequestError
from reconciler.dataclass import dataclass
from reconciler.plan.file import differences
from reconciler.plan.proposal import Plan


@dataclass(frozen=True, slots=True)
class Verification:
    """What a saved plan was compared with: the plan of now for ``cluster``; ``None``: with nothing.

    ``differences`` are places in the document, one for each field that is not the same.
    """

    cluster: str | None = None
    differences: tuple[str, ...] = ()


#: Of a plan that was only read.
NOT_VERIFIED: Final = Verification()


def verify(
    plan: Plan,
    path: str,
    cluster: str,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    guardrails: str | None = None,
    base: str | None = None,
    tell: Tell = ignore,
) -> Verification:
    """Plan again as the saved plan says it was planned, and compare; ``guardrails`` and ``base`` as for planning.

    A cluster that has changed since gives differences too. Raises a :class:`WorkflowError`; :class:`RequestError` for a
    plan that ``undo`` or break-glass made, which does not follow from manifests.
    """
    if plan.options.undo:
        raise RequestError("a plan that undo made does not follow from the manifests: make it again with undo")
    if plan.options.break_glass is not None:
        raise RequestError("a break-glass plan does not follow from the manifests: review the plan itself")
    options = PlanOptions(
        as_of=plan.as_of,
        allow_deletes=plan.options.allow_deletes,
        accept=plan.accepted,
        only=plan.options.selection.items,
        guardrails=guardrails,
        base=base,
    )
    asked = plan.topics.validation is not None
    found = plan_again(path, cluster, options, connection, ask_broker=asked, again=True, tell=tell)
    return Verification(plan.terms.cluster, differences(plan, found.plan))
