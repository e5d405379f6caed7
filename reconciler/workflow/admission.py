"""Whether a plan may be performed at all: it is the one that is required, signed, young enough, and still wanted.

Nothing here asks the cluster; what it says is compared in ``reconciler.apply.preflight``.
"""

import datetime
from typing import Final

from reconciler.apply import ApprovalEvidence
from reconciler.diff import objection
from reconciler.manifest import Manifests
from reconciler.model import DesiredState
from reconciler.plan import Observed, Plan, StepState, Terms, describe, ids, whole_id
from reconciler.workflow.options import ApprovalRule
from reconciler.workflow.reasons import RequestError, StaleError

#: How far the clock of the machine that planned may be ahead of ours.
_CLOCKS_DIFFER: Final = datetime.timedelta(minutes=5)


def check_signed(file: str, digest: str, rule: ApprovalRule | None, at: datetime.datetime) -> ApprovalEvidence | None:
    """Who signed a plan's file, if the rule asks for it; raises :class:`NotApprovedError` for too few signatures."""
    if rule is None:
        return None
    # Few plans are signed, and cryptography takes 15 ms to import.
    from reconciler.workflow.approving import check_approvals  # noqa: PLC0415

    return check_approvals(file, digest, rule, at)


def check_ids(plan: Plan, required: str | None, *digest: str) -> tuple[str, str]:
    """The change id and the plan id; raises :class:`StaleError` if the plan is not the required one.

    ``required`` may be the beginning of an id, with at least eight digits.
    """
    change, whole = ids(plan)
    known = (whole, change, *digest)
    if required is not None and whole_id(required, known) not in known:
        raise StaleError(
            f"this is not the plan {required}; it is\n  " + "\n  ".join(known),
            "plan again and have it reviewed; nothing was sent",
        )
    return change, whole


def check_guardrails(plan: Plan, manifests: Manifests) -> None:
    """A plan that guardrails held is performed under the same: without them, what they forbid could have come since."""
    wanted = plan.guardrails.digest
    if wanted is None:
        return
    if manifests.guardrails is None:
        raise RequestError("this plan was made under guardrails: give the same again")
    if manifests.guardrails.digest != wanted:
        raise StaleError(
            f"this plan was made under the guardrails {wanted}; these are {manifests.guardrails.digest}",
            "plan again and have it reviewed; nothing was sent",
        )


def check_age(plan: Plan, most: datetime.timedelta | None, at: datetime.datetime) -> None:
    """Refuse an old plan.

    The time is in no id but the file's, so this protects against an old plan that lies around, and against somebody
    who can make a pipeline apply another file. Whoever can write the file can write another time into it; only
    signatures, or a required ``file-…`` id, bind the time.
    """
    if most is None:
        return
    if plan.created_at is None:
        raise StaleError("the plan does not say when it was made, and its age is limited", "plan again")
    made = datetime.datetime.fromisoformat(plan.created_at)
    if made - at > _CLOCKS_DIFFER:
        raise StaleError(f"the plan says that it was made in the future, at {plan.created_at}", "check the clocks")
    if at - made > most:
        raise StaleError(f"the plan was made at {plan.created_at}, which is more than {most} ago", "plan again")


def check_wanted(plan: Plan, wanted: DesiredState, terms: Terms) -> None:
    """Refuse steps against what the manifests declare by now."""
    found = [
        Observed(StepState.STALE, describe(step.change), found, "other manifests")
        for step in plan.steps
        if (found := objection(step.change, wanted, terms.diff_rules)) is not None
    ]
    if found:
        raise StaleError("the manifests do not want this plan any more", "plan again; nothing was sent", found)
