"""Topic policies of a cluster decided: on what is declared, or with what the cluster has."""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from reconciler.manifest import (
    ExpressionFault,
    ManifestError,
    Manifests,
    declared_cluster,
    expression_problems,
    topic_rules,
)
from reconciler.model import ClusterState, DesiredState, TopicRule
from reconciler.policy import (
    ClusterContext,
    ExpressionError,
    MissingEngineError,
    TopicPolicy,
    TopicPolicyResult,
)
from reconciler.ports import ClusterError, ReadRequest
from reconciler.workflow.clusters import Target
from reconciler.workflow.manifests import sound
from reconciler.workflow.reasons import InvalidManifestsError, WorkflowError


@dataclass(frozen=True, slots=True)
class Seen:
    """What a cluster says of the declared topics and of what its brokers choose; ``brokers`` are the ids it names."""

    state: ClusterState
    brokers: frozenset[int] = frozenset()


def decide_policies(
    manifests: Manifests, cluster: str, wanted: DesiredState, as_of: datetime.date, seen: Seen | None = None
) -> TopicPolicyResult:
    """Every declared topic against the policies for a declared cluster.

    ``seen`` says what a declaration leaves to the broker; without it, that is not known. Raises
    :class:`InvalidManifestsError` where the policies cannot be used.
    """
    policy = _policy(manifests, cluster)
    if policy is None:
        return TopicPolicyResult()
    declaration = declared_cluster(manifests, cluster)
    brokers = frozenset(declaration.brokers)
    around = ClusterContext(cluster, len(brokers) or None)
    if seen is not None:
        state, count = seen.state, len(brokers | seen.brokers) or None
        around = ClusterContext(
            cluster,
            count,
            state.topics,
            state.broker_defaults,
            frozenset(state.unreadable_topics),
            frozenset(declaration.ignore_configs),
        )
    return policy.decide(wanted, as_of, around)


def look(target: Target, manifests: Manifests, wanted: DesiredState, live: ClusterState | None = None) -> Seen | None:
    """Ask an open cluster what its policies depend on; nothing where it has none.

    ``live`` is a state that has all declared topics and the brokers' defaults, where somebody has read one already.
    """
    declaration = target.declaration
    policy = _policy(manifests, declaration.name) if declaration is not None else None
    if declaration is None or policy is None:
        return None
    if live is None:
        request = ReadRequest(acls=False, all_topics=False, topic_names=tuple(wanted.topics), broker_defaults=True)
        live = target.read(request)
    try:
        return Seen(live, target.cluster.brokers() if policy.asks_for_brokers else frozenset())
    except ClusterError as error:
        raise WorkflowError(str(error), error.advice) from error


def _policy(manifests: Manifests, cluster: str) -> TopicPolicy | None:
    with sound():
        rules = topic_rules(manifests, cluster)
    return compiled(rules, manifests) if rules else None


def compiled(rules: Iterable[TopicRule], manifests: Manifests) -> TopicPolicy:
    """Rules ready to be asked; the place of every expression that is none is in :class:`InvalidManifestsError`."""
    try:
        return TopicPolicy(rules)
    except MissingEngineError as error:
        raise WorkflowError(str(error), "pip install '.[policy]' in a clone") from error
    except ExpressionError as error:
        faults = (
            ExpressionFault(fault.part.origin, fault.part.text, fault.line, fault.column, fault.message)
            for fault in error.faults
        )
        problems = expression_problems(manifests.sources, faults)
        raise InvalidManifestsError(problems) from ManifestError(problems)
