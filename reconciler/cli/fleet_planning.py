"""Planning the clusters of one task: the same code as a single plan, one line of JSON a cluster."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reconciler.adapters.spark.compiling import loaded
from reconciler.adapters.spark.tasks import in_time, reason
from reconciler.cli.fleet_members import Means, opened_member
from reconciler.manifest import Manifests, Source
from reconciler.model import Delete
from reconciler.plan import Plan, change_id, plan_id, plan_text
from reconciler.workflow.checks import checks_of
from reconciler.workflow.options import PlanOptions
from reconciler.workflow.planning import plan_on
from reconciler.workflow.reasons import PlanRefusedError, WorkflowError

if TYPE_CHECKING:
    from pyspark import Broadcast


@dataclass(frozen=True, slots=True)
class Order:
    """What every task needs to plan: manifests, means, options, the commit that the driver sees, seconds to wait."""

    texts: "Broadcast[tuple[Source, ...]]"
    means: Means
    options: PlanOptions
    commit: str | None
    at_once: int = 4
    timeout: float = 300.0


def plan_all(clusters: Sequence[str], attempt: str, *, order: Order) -> Iterator[str]:
    """One line for each cluster: its plan, or why there is none."""
    manifests = loaded(order.texts.value)
    for name, side in in_time(clusters, lambda name: _plan_one(name, manifests, order), order.at_once, order.timeout):
        yield json.dumps(side or _too_late(name, order.timeout), ensure_ascii=False)


def _too_late(name: str, timeout: float) -> dict[str, Any]:
    message = f"no plan in {timeout:g} s"
    return {"cluster": name, "code": "timed_out", "message": message, "advice": "Is it reachable from here?"}


def _plan_one(name: str, manifests: Manifests, order: Order) -> dict[str, Any]:
    try:
        with opened_member(manifests.clusters[name], order.means) as target:
            planned = plan_on(target, manifests, "", order.options)
    except WorkflowError as error:
        code = "refused" if isinstance(error, PlanRefusedError) else "not_planned"
        return {"cluster": name, "code": code, "message": error.message, "advice": error.advice}
    except Exception as error:  # one cluster's trouble, whatever it is, must not end the others
        return {"cluster": name, "code": "unexpected", "message": reason(error), "advice": ""}
    if checks_of(planned).stops:
        advice = f"reconciler plan --cluster {name} shows which of AccessTests, Ownership, TopicPolicy"
        return {"cluster": name, "code": "disagreed", "message": "the plan breaks what was agreed", "advice": advice}
    return _said(name, replace(planned.plan, source_commit=order.commit))


def _said(name: str, plan: Plan) -> dict[str, Any]:
    if plan.refusals:
        message = "; ".join(f"{refusal.guard}: {refusal.message}" for refusal in plan.refusals)
        return {"cluster": name, "code": "refused", "message": message, "advice": plan.refusals[0].remedy}
    if not plan.steps:
        return {"cluster": name, "left": len(plan.left)}
    return {
        "cluster": name,
        "text": plan_text(plan),
        "plan_id": plan_id(plan),
        "change_id": change_id(plan),
        "steps": len(plan.steps),
        "deletes": sum(isinstance(step.change, Delete) for step in plan.steps),
        "seconds": plan.estimated_seconds,
    }
