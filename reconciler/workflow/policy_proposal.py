"""A topic policy to begin with, learnt from what a cluster has and proven on it."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.manifest import ManifestError, Source, TopicPolicyDeclaration
from reconciler.manifest import load as manifests_of
from reconciler.model import DesiredState, DesiredTopic, Expiry, Origin, Topic
from reconciler.policy import ClusterContext, Occasion, ProposedRule, propose_policy
from reconciler.report.export.expressible import topic_problem
from reconciler.report.export.file_names import document_name
from reconciler.report.export.policy import policy_text
from reconciler.report.policy_text import message
from reconciler.workflow.exporting import Exported
from reconciler.workflow.manifests import checked
from reconciler.workflow.options import today
from reconciler.workflow.reasons import NoTopicsError, WorkflowError
from reconciler.workflow.topic_checks import compiled

#: How long what does not fit is accepted: two quarters to decide.
_GRACE: Final = datetime.timedelta(days=182)


@dataclass(frozen=True, slots=True)
class PolicyProposal:
    """A TopicPolicy document, and the topics that each of its rules waives by name."""

    text: str
    waived: Mapping[str, Sequence[str]]


def propose_topic_policy(
    exported: Exported, *, name: str | None = None, as_of: datetime.date | None = None
) -> PolicyProposal:
    """Names, ranges and configs that most topics of a cluster have, as a policy called ``name``, or after the cluster.

    Topics that do not fit are waived for half a year from ``as_of`` (today, UTC, if ``None``). Raises a
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
    return PolicyProposal(text, _waived(rules))


def _day(as_of: datetime.date | None) -> datetime.date:
    at = today() if as_of is None else as_of
    return at.date() if isinstance(at, datetime.datetime) else at


def _waived(rules: Iterable[ProposedRule]) -> dict[str, list[str]]:
    return {str(one.rule.name): [*waiver.topics.literal] for one in rules for waiver in one.rule.waivers}


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
