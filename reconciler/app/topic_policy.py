"""Topic policies of a cluster decided: on what is declared, or with what the cluster has."""

import datetime
from collections.abc import Hashable, Iterable
from dataclasses import replace

from reconciler.app.manifests import sound
from reconciler.app.reasons import InvalidManifestsError, WorkflowError
from reconciler.app.session import Target
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.topic_policy import ExpressionFault, expression_problems
from reconciler.manifest.guardrail_set import guardrail_labels, rule_key
from reconciler.manifest.manifests import Manifests, declared_cluster
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.safeguards import guardrail_topic_rules, topic_rules
from reconciler.model.desired import DesiredState
from reconciler.model.frozen import FrozenMap
from reconciler.model.state import ClusterState
from reconciler.model.topic_rule import TopicRule
from reconciler.policy.topic_checks import ClusterContext, MissingEngineError
from reconciler.policy.topic_policy import ExpressionError, TopicFinding, TopicPolicy, TopicPolicyResult
from reconciler.ports import ClusterError, ReadRequest


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
    found = policy.decide(wanted, as_of, around)
    relabelled = _as_guardrails_label(manifests, cluster, wanted, as_of)
    if relabelled is None:
        return found
    rules, topics = relabelled
    more = compiled(rules, manifests).decide(topics, as_of, around).findings
    known = {_finding_key(finding) for finding in found.findings}
    return replace(found, findings=(*found.findings, *(one for one in more if _finding_key(one) not in known)))


def _as_guardrails_label(
    manifests: Manifests, cluster: str, wanted: DesiredState, as_of: datetime.date
) -> tuple[list[TopicRule], DesiredState] | None:
    """The guardrails' rules for labelled topics, and the topics that have other labels there, with those.

    Else a proposal takes a topic out of a rule by its label, whatever the rule is about.
    """
    with sound():
        labels = guardrail_labels(manifests, cluster, as_of)
        rules = [rule for rule in guardrail_topic_rules(manifests, cluster) if rule.labels]
    topics = {
        name: replace(topic, labels=labels[name], document_labels=FrozenMap())
        for name, topic in wanted.topics.items()
        if labels.get(name, topic.all_labels) != topic.all_labels
    }
    return (rules, replace(wanted, topics=FrozenMap(topics))) if rules and topics else None


def _finding_key(finding: TopicFinding) -> Hashable:
    return finding.topic, finding.code, finding.about, rule_key(finding.rule)


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
        raise WorkflowError(str(error), "pip install './reconciler[policy]' beside your clone") from error
    except ExpressionError as error:
        faults = (
            ExpressionFault(fault.part.origin, fault.part.text, fault.line, fault.column, fault.message)
            for fault in error.faults
        )
        sources = {**manifests.sources, **(manifests.guardrails.manifests.sources if manifests.guardrails else {})}
        problems = expression_problems(sources, faults)
        raise InvalidManifestsError(problems) from ManifestError(problems)
