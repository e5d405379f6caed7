"""A cluster as manifests, files that plan to nothing against it, and a topic policy to begin with, proven on it."""

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from reconciler.app.cluster_checks import compiled
from reconciler.app.manifests import breaches_of, checked, ownerships_of
from reconciler.app.options import ConnectionOptions, Tell, ignore, today
from reconciler.app.reasons import NoTopicsError, WorkflowError
from reconciler.app.session import Target, open_any
from reconciler.codec.kinds import LISTED
from reconciler.codec.values import BINDING
from reconciler.dataclass import dataclass
from reconciler.manifest.documents.topic_policy import TopicPolicyDeclaration
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.write.manifests import (
    DRAFT_FILE,
    Export,
    Layout,
    cluster_document,
    draft_text,
    export_manifests,
    ownership_draft,
    places,
    policy_text,
)
from reconciler.manifest.write.text import ExportStyle, document_name, topic_problem
from reconciler.model.acl import AclBinding
from reconciler.model.desired import DesiredState, DesiredTopic, Expiry, Origin
from reconciler.model.listing import Listing
from reconciler.model.locks import denials_of_locks, without_locks
from reconciler.model.markers import markers
from reconciler.model.scope import Scope, is_reserved
from reconciler.model.state import ClusterState
from reconciler.model.topic import INTERNAL_TOPICS, Topic
from reconciler.policy.topic_checks import ClusterContext
from reconciler.policy.topic_policy import Occasion, ProposedRule, propose_policy
from reconciler.ports import ReadRequest
from reconciler.results import Made
from reconciler.show.claims import breach_lines
from reconciler.show.policy import message
from reconciler.snapshot.document import snapshot_pieces, snapshot_text
from reconciler.system.files import write_pieces_atomically

# The draft of an Ownership, held against the files that it is for before anybody sees it.

#: Nothing that was read of a cluster ends.
_DAY = datetime.date.min
_NAME = "draft"


def proven_draft(state: ClusterState, places: Mapping[AclBinding | str, str], files: Mapping[str, str]) -> str:
    """The draft for the exported files; what breaks its rules there is named at its head."""
    lines = ownership_draft(state, places, files)
    texts = {path: text for path, text in files.items() if path != "cluster.yaml"}
    texts |= {"cluster.yaml": cluster_document(_NAME, ["broker:9092"]), DRAFT_FILE: "\n".join(lines) + "\n"}
    try:
        manifests = load(Source(path, text) for path, text in texts.items())
        desired = desired_state(manifests, _NAME, _DAY)
    except ManifestError as error:
        return draft_text(lines, [str(problem) for problem in error.problems])
    breaches = breaches_of(ownerships_of(manifests, _NAME, _DAY), desired)
    return draft_text(lines, list(breach_lines(breaches)) if breaches else ())


#: Stands where brokers belong and nobody has said which; no such name is ever found.
NO_BROKER: Final = "your-broker.example:9093"
#: What no Kafka API exposes, by field, as lines of a comment.
_FACTS: Final = {
    "principal": "#   principal: User:…                    the principal that this tool logs in as\n",
    "superUsers": "#   superUsers: [User:…]                 the brokers' super.users\n",
    "allowEveryoneIfNoAclFound": "#   allowEveryoneIfNoAclFound: false     "
    "the brokers' allow.everyone.if.no.acl.found\n",
}


def facts_to_add(stated: ClusterDeclaration | None = None) -> str:
    """The facts that the operator has not ``stated``, as lines of a comment; empty where none is missing."""
    origins = stated.fact_origins if stated else {}
    return "".join(line for field, line in _FACTS.items() if field not in origins)


@dataclass(frozen=True, slots=True)
class Exported:
    """What a cluster has, and who it is; :meth:`manifests` and :meth:`snapshot` are the two ways to keep it."""

    target: Target
    state: ClusterState

    def manifests(self, *, roles: bool = True, layout: Layout = "principal") -> Export:
        """Files by path; where a built-in role says exactly what a principal has, with ``roles`` the role is written.

        A cluster that nobody declared gets a Cluster document to complete, files of teams a draft of an Ownership.
        """
        # What is denied until an unlock is not meant for good. A snapshot has it, for it stands for the cluster.
        state = without_locks(self.state)
        where = places(layout, state, {})
        export = export_manifests(state, cluster=self.target.name, style=ExportStyle(roles=roles, places=where))
        if layout == "team" and where:
            export = replace(export, files={**export.files, DRAFT_FILE: proven_draft(state, where, export.files)})
        if self.target.declaration is not None:
            return export
        # A snapshot's file may be called what no document can be, and says nothing of brokers.
        name, servers = document_name(self.target.name), self.target.bootstrap_servers or [NO_BROKER]
        missing = facts_to_add(self.target.facts)
        heading = "# State below spec of your connections file what no Kafka API exposes (docs/reviewing.md, Facts):\n"
        stub = (heading + missing if missing else "") + cluster_document(name, servers)
        return replace(export, files={"cluster.yaml": stub, **export.files})

    def snapshot(self) -> str:
        """The text of a snapshot file."""
        return snapshot_text(self.state)

    def save_snapshot(self, file: str) -> None:
        """Write it, made while it is written; raises ``OSError``, and leaves what is there as it was."""
        write_pieces_atomically(snapshot_pieces(self.state), file)

    def listing(self) -> dict[str, Any]:
        """A snapshot's document for lists: a binding, a topic, a quota each with fields of its own."""
        document = json.loads(snapshot_text(replace(self.state, bindings=frozenset())))
        ordered = sorted(self.state.bindings)
        bindings = Made(lambda: map(BINDING.write, ordered))
        topics = [{name: topic[name] for name in topic if name != "replicaAssignments"} for topic in document["topics"]]
        unreadable = [{"name": name, "reason": why} for name, why in self.state.unreadable_topics.items()]
        return {**document, "bindings": bindings, "topics": topics, "unreadableTopics": unreadable}


def export(
    path: str | None,
    cluster: str | None,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    acls: bool = True,
    tell: Tell = ignore,
) -> Exported:
    """Read a cluster, perhaps one that nobody declared yet; nothing is written. Raises a :class:`WorkflowError`."""
    with open_any(path, cluster, connection, tell) as (_, target):
        facts = target.facts
        request = ReadRequest(
            acls=acls,
            listings=LISTED,
            principal=facts.principal if facts else None,
            super_users=facts.super_users if facts else (),
        )
        return Exported(target, _in_scope(target.read(request), target))


def _in_scope(state: ClusterState, target: Target) -> ClusterState:
    """What the declaration answers for, and what runs left; for a cluster that nobody described, all there is.

    Markers stay as long as their bridges do: without them a bridge would look like what somebody wanted.
    """
    scope = target.declaration.scope if target.declaration else Scope()
    marked = {mark for mark, marker in markers(state.bindings).items() if marker.bridge in state.bindings}
    going_on = {binding for leftover in target.going_on(state) for binding in leftover.bindings} - marked
    held = denials_of_locks(state.bindings)
    names = (name for name in state.topics if name not in INTERNAL_TOPICS)
    others = [
        binding
        for binding in state.bindings
        if not scope.owns(binding)
        and (binding in going_on or not is_reserved(binding.pattern.name))
        and binding not in held
    ]
    return replace(
        state,
        bindings=state.bindings.difference(others) if others else state.bindings,
        topics={name: state.topics[name] for name in names if scope.owns_topic(name, declared=True)},
        listings={kind: _listed_in_scope(listing, scope) for kind, listing in state.listings.items()},
    )


def _listed_in_scope(listing: Listing[Any], scope: Scope) -> Listing[Any]:
    if listing.items is None:
        return listing
    return replace(listing, items=frozenset(item for item in listing.items if scope.owns_listed(item, declared=True)))


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
    target, live_topics = exported.target, exported.state.topics.values()
    if not live_topics:
        raise NoTopicsError(target.name)
    labels, day = target.declaration.labels if target.declaration else {}, _day(as_of)
    topics = [topic for topic in live_topics if topic_problem(topic) is None]
    document, origin = name or document_name(target.name), f"cluster {target.name}"
    reason = f"as it was on {target.name} on {day}; decide whether it should stay"
    proposed = propose_policy(topics, Occasion(document, reason, Expiry(day + _GRACE)))
    rules = [rule for rule in proposed if _is_manifest(policy_text(document, [rule], origin=origin, labels={}))]
    skipped = [f"topic {topic.name}" for topic in live_topics if topic_problem(topic) is not None]
    skipped += [str(rule.rule.name) for rule in proposed if rule not in rules]
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
        load([Source("the proposal", text)])
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
