"""Manifests from a cluster: what it has, in scope, as files that plan to nothing against it."""

import json
from dataclasses import replace
from typing import Any, Final

from reconciler.adapters.atomic_write import write_pieces_atomically
from reconciler.adapters.snapshot import snapshot_pieces, snapshot_text
from reconciler.codec.kinds import LISTED
from reconciler.codec.values import BINDING
from reconciler.dataclass import dataclass
from reconciler.manifest import ClusterDeclaration
from reconciler.model import INTERNAL_TOPICS, ClusterState, Listing, Scope, is_reserved, markers
from reconciler.ports import ReadRequest
from reconciler.report.export.cluster import cluster_document
from reconciler.report.export.file_names import document_name
from reconciler.report.export.layout import Layout, places
from reconciler.report.export.manifests import Export, export_manifests
from reconciler.report.export.ownership_draft import DRAFT_FILE
from reconciler.report.export.style import ExportStyle
from reconciler.report.output_forms import Made
from reconciler.workflow.clusters import Target, open_any
from reconciler.workflow.options import ConnectionOptions, Tell, ignore
from reconciler.workflow.ownership_drafts import proven_draft

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
    known = stated.fact_origins if stated else {}
    return "".join(line for field, line in _FACTS.items() if field not in known)


@dataclass(frozen=True, slots=True)
class Exported:
    """What a cluster has, and who it is; :meth:`manifests` and :meth:`snapshot` are the two ways to keep it."""

    target: Target
    state: ClusterState

    def manifests(self, *, roles: bool = True, layout: Layout = "principal") -> Export:
        """Files by path; where a built-in role says exactly what a principal has, with ``roles`` the role is written.

        A cluster that nobody declared gets a Cluster document to complete, files of teams a draft of an Ownership.
        """
        where = places(layout, self.state, {})
        export = export_manifests(self.state, cluster=self.target.name, style=ExportStyle(roles=roles, places=where))
        if layout == "team" and where:
            export = replace(export, files={**export.files, DRAFT_FILE: proven_draft(self.state, where, export.files)})
        if self.target.declaration is not None:
            return export
        # A snapshot's file may be called what no document can be, and says nothing of brokers.
        name, servers = document_name(self.target.name), self.target.bootstrap_servers or [NO_BROKER]
        missing = facts_to_add(self.target.facts)
        heading = "# State below spec of your connections file what no Kafka API exposes (docs/reviewing.md, Facts):\n"
        stub = (heading + missing if missing else "") + cluster_document(name, servers, {})
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
        known = target.facts
        request = ReadRequest(
            acls=acls,
            listings=LISTED,
            principal=known.principal if known else None,
            super_users=known.super_users if known else (),
        )
        return Exported(target, _in_scope(target.read(request), target))


def _in_scope(state: ClusterState, target: Target) -> ClusterState:
    """What the declaration answers for, and what runs left; for a cluster that nobody described, all there is.

    Markers stay as long as their bridges do: without them a bridge would look like what somebody wanted.
    """
    scope = target.declaration.scope if target.declaration else Scope()
    marked = {mark for mark, marker in markers(state.bindings).items() if marker.bridge in state.bindings}
    going_on = {binding for leftover in target.going_on(state) for binding in leftover.bindings} - marked
    names = (name for name in state.topics if name not in INTERNAL_TOPICS)
    others = [
        binding
        for binding in state.bindings
        if not scope.owns(binding) and (binding in going_on or not is_reserved(binding.pattern.name))
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
