"""A plan as JSON values: the plan file's own fields, and what guards refuse."""

from typing import Any

from reconciler.plan import Plan, plan_to_json
from reconciler.report.results.codecs import REFUSAL


def plan_report(plan: Plan, *, command: str = "plan") -> dict[str, Any]:
    """What ``--output json`` prints; ``command`` says whether it proposes (``plan``) or only reports (``drift``)."""
    refused = [REFUSAL.write(refusal) for refusal in plan.refusals]
    return {**plan_to_json(plan), "command": command, "refusals": refused}
