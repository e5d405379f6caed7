"""What a plan's reviewer is told of topics: what those hold that go, and what the cluster says when it is asked."""

from dataclasses import replace

from reconciler.adapters.clock import SystemClock
from reconciler.apply import validate
from reconciler.model import ClusterState, FrozenMap
from reconciler.plan import Plan, deleted_topics
from reconciler.workflow.clusters import Target


def with_uses(plan: Plan, target: Target) -> Plan:
    """The plan with what is known of the topics that it deletes."""
    deleted = [topic.name for topic in deleted_topics(step.change for step in plan.steps)]
    if not deleted:
        return plan
    return replace(plan, topics=replace(plan.topics, uses=FrozenMap(target.cluster.topic_uses(deleted))))


def with_answers(plan: Plan, live: ClusterState, target: Target) -> Plan:
    """The plan with what the cluster says to each step on a topic, nothing done."""
    return replace(plan, topics=replace(plan.topics, validation=validate(plan, live, target.cluster, SystemClock())))
