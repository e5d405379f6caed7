"""A topic policy to begin with: learnt from what a cluster has, and proven on it."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from reconciler.app.export import Exported
from reconciler.app.manifests import checked
from reconciler.app.options import today
from reconciler.app.reasons import NoTopicsError, WorkflowError
from reconciler.app.topic_policy import compiled
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.topic_policy import TopicPolicyDeclaration
from reconciler.manifest.manifests import load as manifests_of
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.write.manifests import policy_text
from reconciler.manifest.write.text import document_name, topic_problem
from reconciler.model.desired import DesiredState, DesiredTopic, Expiry, Origin
from reconciler.model.topic import Topic
from reconciler.policy.topic_checks import ClusterContext
from reconciler.policy.topic_policy import (
    Occasion,
    ProposedRule,
    propose_policy,
)
from reconciler.show.policy import message

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
    notes += [f"Skipped, because no manifest can declare it: {item}" for item in skipped]
    text = policy_text(document, rules, origin=origin, labels=labels, notes=notes)
    # The proposal is read back as any manifest: a policy that fails on day one would be switched off on day two.
    _prove(text, topics, target.name, day)
    return PolicyProposal(text, _excepted(rules))


def _day(as_of: datetime.date | None) -> datetime.date:
    at = today() if as_of is None else as_of
    return at.date() if isinstance(at, datetime.datetime) else at


def _excepted(rules: Iterable[ProposedRule]) -> dict[str, list[str]]:
    return {str(rule.rule.name): [*exception.topics.literal] for rule in rules for exception in rule.rule.exceptions}


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
