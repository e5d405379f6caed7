"""What a plan's reviewer is told beside its steps: what topics hold that go, and what the cluster says when asked."""

from dataclasses import replace
from typing import TYPE_CHECKING

from reconciler.cli.console import complain
from reconciler.cli.exits import Exit, worst
from reconciler.cli.wiring import Target

if TYPE_CHECKING:
    from reconciler.model import ClusterState
    from reconciler.plan import Plan


def with_uses(plan: "Plan", target: Target) -> "Plan":
    """The plan with what is known of the topics that it deletes."""
    from reconciler.model import DeleteTopic, FrozenMap

    deleted = [step.change.topic.name for step in plan.steps if isinstance(step.change, DeleteTopic)]
    if not deleted:
        return plan
    return replace(plan, topics=replace(plan.topics, uses=FrozenMap(target.cluster.topic_uses(deleted))))


def with_answers(plan: "Plan", live: "ClusterState", target: Target) -> "Plan":
    """The plan with what the cluster says to each step on a topic, nothing done."""
    from reconciler.adapters.clock import SystemClock
    from reconciler.apply import validate

    return replace(plan, topics=replace(plan.topics, validation=validate(plan, live, target.cluster, SystemClock())))


def answer_status(plan: "Plan", *, saved: bool) -> Exit:
    """Say whether the cluster refuses a step, or could not be asked about one; such a plan is not saved."""
    from reconciler.plan import Ruling

    validation = plan.topics.validation
    if validation is None:
        return Exit.OK
    unsaved = ": the plan was not saved" if saved else ""
    refused, unknown = validation.count(Ruling.REFUSED), validation.count(Ruling.UNKNOWN)
    if refused:
        complain(f"the cluster refuses {refused:,} of the steps{unsaved}")
    if unknown:
        complain(f"the cluster gave no answer about {unknown:,} of the steps{unsaved}")
    return worst(Exit.FAILED_CHECK if refused else Exit.OK, Exit.ERROR if unknown else Exit.OK)
