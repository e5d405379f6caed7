"""A plan as JSON values: the plan file's own fields, and what guards refuse."""

from typing import Any

from reconciler.plan import Plan, Refusal, plan_to_json


def plan_report(plan: Plan, *, command: str = "plan") -> dict[str, Any]:
    """What ``--output json`` prints; ``command`` says whether it proposes (``plan``) or only reports (``drift``)."""
    refused = [refusal_document(refusal) for refusal in plan.refusals]
    return {**plan_to_json(plan), "command": command, "refusals": refused}


def refusal_document(refusal: Refusal) -> dict[str, str]:
    """One refusal as JSON values."""
    return {
        "guard": str(refusal.guard),
        "object": refusal.object,
        "message": refusal.message,
        "remedy": refusal.remedy,
    }
