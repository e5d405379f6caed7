"""Topic policies of a cluster decided: on what is declared, or with what the cluster has."""

import datetime
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reconciler.app.export import Exported
from reconciler.app.manifests import checked, sound
from reconciler.app.options import today
from reconciler.app.reasons import InvalidManifestsError, NoTopicsError, WorkflowError
from reconciler.app.session import Target
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.topic_policy import ExpressionFault, TopicPolicyDeclaration, expression_problems
from reconciler.manifest.guardrail_set import guardrail_labels, rule_key
from reconciler.manifest.manifests import Manifests, declared_cluster
from reconciler.manifest.manifests import load as manifests_of
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.safeguards import guardrail_topic_rules, topic_rules
from reconciler.manifest.write.manifests import policy_text
from reconciler.manifest.write.text import document_name, topic_problem
from reconciler.model.desired import DesiredState, DesiredTopic, Expiry, Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.model.topic_rule import TopicRule
from reconciler.policy.topic_checks import ClusterContext, MissingEngineError
from reconciler.policy.topic_policy import (
    ExpressionError,
    Occasion,
    ProposedRule,
    TopicFinding,
    TopicPolicy,
    TopicPolicyResult,
    propose_policy,
)
from reconciler.ports import ClusterError, ReadRequest
from reconciler.show.policy import message


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
    known = {_finding_key(one) for one in found.findings}
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


# A topic policy to begin with, learnt from what a cluster has and proven on it.

#: How long what does not fit is accepted: two quarters to decide.
_GRACE: Final = datetime.timedelta(days=182)


@dataclass(frozen=True, slots=True)
class PolicyProposal:
    """A TopicPolicy document, and the topics that each of its rules excepts by name."""

    text: str
    excepted: Mapping[str, Sequence[str]]


def propose_topic_policy(
    exported: Exported, *, name: str | None = None, as_of: datetime.date | None = None
) -> PolicyProposal:
    """Names, ranges and configs that most topics of a cluster have, as a policy called ``name``, or after the cluster.

    Topics that do not fit are excepted for half a year from ``as_of`` (today, UTC, if ``None``). Raises a
    :class:`WorkflowError` if there are no topics, or if the proposal does not pass on the cluster itself.
    """
    target, found = exported.target, exported.state.topics.values()
    if not found:
        raise NoTopicsError(target.name)
    labels, day = target.declaration.labels if target.declaration else {}, _day(as_of)
    topics = [topic for topic in found if topic_problem(topic) is None]
    document, origin = name or document_name(target.name), f"cluster {target.name}"
    reason = f"as it was on {target.name} on {day}; decide whether it should stay"
    proposed = propose_policy(topics, Occasion(document, reason, Expiry(day + _GRACE)))
    rules = [one for one in proposed if _is_manifest(policy_text(document, [one], origin=origin, labels={}))]
    skipped = [f"topic {topic.name}" for topic in found if topic_problem(topic) is not None]
    skipped += [str(one.rule.name) for one in proposed if one not in rules]
    notes = [] if labels else ["Without clusters below spec, it applies to every cluster."]
    notes += [f"Skipped, because no manifest can declare it: {one}" for one in skipped]
    text = policy_text(document, rules, origin=origin, labels=labels, notes=notes)
    # The proposal is read back as any manifest: a policy that fails on day one would be switched off on day two.
    _prove(text, topics, target.name, day)
    return PolicyProposal(text, _excepted(rules))


def _day(as_of: datetime.date | None) -> datetime.date:
    at = today() if as_of is None else as_of
    return at.date() if isinstance(at, datetime.datetime) else at


def _excepted(rules: Iterable[ProposedRule]) -> dict[str, list[str]]:
    return {str(one.rule.name): [*exception.topics.literal] for one in rules for exception in one.rule.exceptions}


def _is_manifest(text: str) -> bool:
    """Whether it can be read: a broker may have values that the manifests' rules refuse."""
    try:
        manifests_of([Source("the proposal", text)])
    except ManifestError:
        return False
    return True


def _prove(text: str, topics: Iterable[Topic], cluster: str, day: datetime.date) -> None:
    """Read the proposal as a manifest and hold it against the topics: what does not pass is never shown."""
    manifests = checked([Source("the proposal", text)])
    rules = (rule for policy in manifests.of(TopicPolicyDeclaration) for rule in policy.rules)
    declared = {topic.name: DesiredTopic(topic, Origin(cluster, 1, 1)) for topic in topics}
    result = compiled(rules, manifests).decide(DesiredState(topics=declared), day, ClusterContext(cluster))
    if result.stopping:
        worst = result.stopping[0]
        raise WorkflowError(f"the proposal does not pass on the cluster itself: {worst.topic}: {message(worst)}")
