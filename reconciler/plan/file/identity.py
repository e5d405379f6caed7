"""A plan's three names.

They detect change; they do not prove who wrote a plan. That comes from ``--require-id`` through a trusted channel,
or from planning the merged commit again and comparing ids.
"""

import hashlib
import json
from typing import Any

from reconciler.plan.file.scope_form import scope_side
from reconciler.plan.guards import Acknowledgement
from reconciler.plan.kinds import sides
from reconciler.plan.kinds.acl import is_acl_change
from reconciler.plan.proposal import Options, Plan


def change_id(plan: Plan) -> str:
    """``change-…``: the ordered changes with what they expect. Equal on every cluster in the same state."""
    changes = []
    for step in plan.steps:
        action, before, after = sides(step.change)
        changes.append([int(step.phase), action, _without_id(before), _without_id(after)])
    return f"change-{_digest(changes)}"


def plan_id(plan: Plan) -> str:
    """``plan-…``: the change id, the cluster, scope, options, acknowledgements, and the topics meant by their ids.

    Neither date nor commit nor lines nor times are part of it.
    """
    return ids(plan)[1]


def ids(plan: Plan) -> tuple[str, str]:
    """The change id and the plan id, for the price of one."""
    change = change_id(plan)
    return change, _plan_id(plan, change)


def _plan_id(plan: Plan, change: str) -> str:
    topic_ids = {}
    for step in plan.steps:
        if is_acl_change(step.change):
            continue
        for side in sides(step.change)[1:]:
            if side and side.get("topicId"):
                topic_ids[side["name"]] = side["topicId"]
    return "plan-" + _digest(
        {
            "change": change,
            "cluster": plan.cluster_id,
            "scope": scope_side(plan.terms.scope),
            "options": options_side(plan.options),
            "acknowledgements": [acknowledgement_side(ack) for ack in plan.acknowledgements],
            "topics": topic_ids,
        }
    )


def file_digest(text: str) -> str:
    """``file-…``: every byte of a saved plan."""
    return f"file-{hashlib.sha256(text.encode()).hexdigest()}"


def options_side(options: Options) -> dict[str, Any]:
    """Options as the plan file spells them."""
    return {
        "allowDeletes": options.allow_deletes,
        "only": list(options.selection.only),
        "exclude": list(options.selection.exclude),
    }


def acknowledgement_side(ack: Acknowledgement) -> dict[str, str]:
    """An acknowledgement as the plan file spells it."""
    return {"guard": str(ack.guard), "object": ack.object, "reason": ack.reason}


def _without_id(side: dict[str, Any] | None) -> dict[str, Any] | None:
    return side and {key: value for key, value in side.items() if key != "topicId"}


def _digest(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
