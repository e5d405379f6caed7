"""What a plan's reviewer is told of topics: what those hold that go, and what the cluster says when it is asked."""

from dataclasses import replace
from itertools import chain

from reconciler.adapters.clock import SystemClock
from reconciler.diff import topics_to_place
from reconciler.model import ClusterState, DesiredState, FrozenMap
from reconciler.plan import Plan, deleted_topics
from reconciler.ports import ClusterError, ReadRequest
from reconciler.workflow.clusters import Target


def with_layout(live: ClusterState, wanted: DesiredState, target: Target) -> ClusterState:
    """The state with the replicas of topics that should have others; why they stay, where they cannot be read."""
    names = topics_to_place(wanted, live)
    if not names:
        return live
    try:
        found = target.cluster.read(ReadRequest(acls=False, all_topics=False, layout=names))
    except ClusterError as error:
        why = "; ".join(filter(None, (error.message, error.advice)))
        return replace(live, layout_gap=f"where replicas belong is not known: {why}")
    return replace(live, layout=found.layout)


def with_uses(plan: Plan, target: Target) -> Plan:
    """The plan with what is known of the topics that it deletes, and of those that a guard keeps it from deleting."""
    refused = (item.change for item in plan.refused if item.change is not None)
    deleted = [topic.name for topic in deleted_topics(chain((step.change for step in plan.steps), refused))]
    if not deleted:
        return plan
    return replace(plan, topics=replace(plan.topics, uses=FrozenMap(target.cluster.topic_uses(deleted))))


def with_answers(plan: Plan, live: ClusterState, target: Target) -> Plan:
    """The plan with what the cluster says to each step on a topic, nothing done."""
    # Only who asks a cluster to validate needs what applies.
    from reconciler.apply import validate  # noqa: PLC0415

    return replace(plan, topics=replace(plan.topics, validation=validate(plan, live, target.cluster, SystemClock())))
