"""A plan's three names.

They detect change; they do not prove who wrote a plan. That comes from ``--require-id`` through a trusted channel,
or from planning the merged commit again and comparing ids.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

from reconciler.codec import canonical
from reconciler.codec.scope import SCOPE
from reconciler.plan.file.terms import ACKNOWLEDGEMENT, OPTIONS
from reconciler.plan.kinds import CHANGE
from reconciler.plan.proposal import Plan


def change_id(plan: Plan) -> str:
    """``change-…``: the ordered changes with what they expect. Equal on every cluster in the same state."""
    return ids(plan)[0]


def plan_id(plan: Plan) -> str:
    """``plan-…``: the change id, the cluster, scope, options, acknowledgements, and the topics meant by their ids.

    Neither date nor commit nor lines nor times are part of it.
    """
    return ids(plan)[1]


def ids(plan: Plan) -> tuple[str, str]:
    """The change id and the plan id, for the price of one."""
    changes = [CHANGE.write(step.change) for step in plan.steps]
    sides = [side for change in changes for side in (change["before"], change["after"]) if side and side.get("topicId")]
    topics = {side["name"]: side["topicId"] for side in sides}
    change = _change_id(zip((int(step.phase) for step in plan.steps), changes, strict=True))
    whole = {
        "change": change,
        "cluster": plan.cluster_id,
        "scope": SCOPE.write(plan.terms.scope),
        "options": OPTIONS.write(plan.options),
        "acknowledgements": [ACKNOWLEDGEMENT.write(ack) for ack in plan.acknowledgements],
        "topics": topics,
    }
    return change, f"plan-{_digest(whole)}"


def file_digest(text: str) -> str:
    """``file-…``: every byte of a saved plan."""
    return f"file-{hashlib.sha256(text.encode()).hexdigest()}"


def _change_id(changes: Iterable[tuple[int, dict[str, Any]]]) -> str:
    items = [
        [phase, change["action"], _without_id(change["before"]), _without_id(change["after"])]
        for phase, change in changes
    ]
    return f"change-{_digest(items)}"


def _without_id(side: dict[str, Any] | None) -> dict[str, Any] | None:
    return {key: value for key, value in side.items() if key != "topicId"} if side and "topicId" in side else side


def _digest(value: object) -> str:
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()
