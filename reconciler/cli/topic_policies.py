"""Topic policies of a cluster decided: for ``validate`` on what is declared, for plans with what the cluster has."""

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.cli.exits import CommandError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.cli.wiring import Target
    from reconciler.manifest import Manifests
    from reconciler.model import ClusterState, DesiredState, TopicRule
    from reconciler.policy import TopicPolicy, TopicPolicyResult


@dataclass(frozen=True, slots=True)
class Seen:
    """What a cluster says of the declared topics and of what its brokers choose; ``brokers`` are the ids it names."""

    state: "ClusterState"
    brokers: frozenset[int] = frozenset()


def decide_policies(
    manifests: "Manifests", cluster: str, wanted: "DesiredState", as_of: datetime.date, seen: Seen | None = None
) -> "TopicPolicyResult":
    """Every declared topic against the policies for a declared cluster.

    ``seen`` says what a declaration leaves to the broker; without it, that is not known. Raises :class:`CommandError`
    where the policies cannot be used.
    """
    from reconciler.manifest import declared_cluster
    from reconciler.policy import Surroundings, TopicPolicyResult

    policy = _policy(manifests, cluster)
    if policy is None:
        return TopicPolicyResult()
    declaration = declared_cluster(manifests, cluster)
    brokers = frozenset(declaration.brokers)
    around = Surroundings(cluster, len(brokers) or None)
    if seen is not None:
        state, count = seen.state, len(brokers | seen.brokers) or None
        around = Surroundings(
            cluster,
            count,
            state.topics,
            state.broker_defaults,
            frozenset(state.unreadable_topics),
            frozenset(declaration.ignore_configs),
        )
    return policy.decide(wanted, as_of, around)


def look(
    target: "Target", manifests: "Manifests", wanted: "DesiredState", live: "ClusterState | None" = None
) -> Seen | None:
    """Ask an open cluster what its policies depend on; nothing where it has none.

    ``live`` is a state that has all declared topics and the brokers' defaults, where somebody has read one already.
    """
    declaration = target.declaration
    policy = _policy(manifests, declaration.name) if declaration is not None else None
    if declaration is None or policy is None:
        return None
    if live is None:
        from reconciler.cli.state import read_cluster
        from reconciler.ports import ReadRequest

        request = ReadRequest(acls=False, all_topics=False, topic_names=tuple(wanted.topics), broker_defaults=True)
        live = read_cluster(target.cluster, request)
    return Seen(live, _brokers(target) if policy.asks_for_brokers else frozenset())


def _brokers(target: "Target") -> frozenset[int]:
    from reconciler.adapters.kafka.cluster import KafkaCluster
    from reconciler.adapters.snapshot import SnapshotCluster
    from reconciler.ports import ClusterError

    cluster = target.cluster
    if not isinstance(cluster, KafkaCluster | SnapshotCluster):
        return frozenset()
    try:
        return cluster.brokers()
    except ClusterError as error:
        raise CommandError(str(error), error.advice) from error


def _policy(manifests: "Manifests", cluster: str) -> "TopicPolicy | None":
    from reconciler.cli.wiring import manifest_failure
    from reconciler.manifest import ManifestError, topic_rules

    try:
        rules = topic_rules(manifests, cluster)
    except ManifestError as error:
        raise manifest_failure(error.problems) from error
    return compiled(rules, manifests) if rules else None


def compiled(rules: "Iterable[TopicRule]", manifests: "Manifests") -> "TopicPolicy":
    """Rules ready to be asked; raises :class:`CommandError` with the place of every expression that is none."""
    from reconciler.cli.wiring import manifest_failure
    from reconciler.manifest import ExpressionFault, ManifestError, expression_problems
    from reconciler.policy import ExpressionError, MissingEngineError, TopicPolicy

    try:
        return TopicPolicy(rules)
    except MissingEngineError as error:
        raise CommandError(str(error), "pip install '.[policy]' in a clone") from error
    except ExpressionError as error:
        faults = (
            ExpressionFault(fault.part.origin, fault.part.text, fault.line, fault.column, fault.message)
            for fault in error.faults
        )
        problems = expression_problems(manifests.sources, faults)
        raise manifest_failure(problems) from ManifestError(problems)
