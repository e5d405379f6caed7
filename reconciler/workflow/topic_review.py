"""What a plan's reviewer is told of topics: what those hold that go, and what the cluster says when it is asked."""

from dataclasses import replace

from reconciler.adapters.clock import SystemClock
from reconciler.apply import validate
from reconciler.model import ClusterState, DeleteTopic, FrozenMap
from reconciler.plan import Plan
from reconciler.workflow.clusters import Target


def with_uses(plan: Plan, target: Target) -> Plan:
    """The plan with what is known of the topics that it deletes."""
    deleted = [step.change.topic.name for step in plan.steps if isinstance(step.change, DeleteTopic)]
    if not deleted:
        return plan
    return replace(plan, topics=replace(plan.topics, uses=FrozenMap(target.cluster.topic_uses(deleted))))


def with_answers(plan: Plan, live: ClusterState, target: Target) -> Plan:
    """The plan with what the cluster says to each step on a topic, nothing done."""
    return replace(plan, topics=replace(plan.topics, validation=validate(plan, live, target.cluster, SystemClock())))
