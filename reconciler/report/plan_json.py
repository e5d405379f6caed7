"""A plan as JSON values: the plan file's own fields, and the command."""

from collections.abc import Sequence
from typing import Any

from reconciler.plan import Plan, plan_to_json


def plan_report(plan: Plan, *, command: str = "plan", servers: Sequence[str] = ()) -> dict[str, Any]:
    """What ``--output json`` prints; ``command`` says whether it proposes (``plan``) or only reports (``drift``).

    ``servers`` are where the cluster was reached. They are no part of a plan file, which may be published.
    """
    reached = {"bootstrapServers": list(servers)} if servers else {}
    return {**plan_to_json(plan), "command": command, **reached}
