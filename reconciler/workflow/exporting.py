"""Manifests from a cluster: what it has, in scope, as files that plan to nothing against it."""

from dataclasses import dataclass, replace
from typing import Final

from reconciler.adapters.snapshot import snapshot_text
from reconciler.model import INTERNAL_TOPICS, ClusterState, Scope
from reconciler.ports import ReadRequest
from reconciler.report.export import Export, cluster_document, export_manifests
from reconciler.report.export.file_names import document_name
from reconciler.workflow.clusters import Target, open_any
from reconciler.workflow.options import ConnectionOptions, Tell, ignore

#: Stands where brokers belong and nobody has said which; no such name is ever found.
NO_BROKER: Final = "your-broker.example:9093"
_STUB: Final = """\
# What no API tells, for you to add below spec (docs/manifests.md, Cluster):
#   principal: User:…                    the principal that this tool logs in as
#   superUsers: [User:…]                 the brokers' super.users
#   allowEveryoneIfNoAclFound: false     the brokers' allow.everyone.if.no.acl.found
"""


@dataclass(frozen=True, slots=True)
class Exported:
    """What a cluster has, and who it is; :meth:`manifests` and :meth:`snapshot` are the two ways to keep it."""

    target: Target
    state: ClusterState

    def manifests(self, *, roles: bool = True) -> Export:
        """Files by path; where a built-in role says exactly what a principal has, with ``roles`` the role is written.

        A cluster that nobody declared gets a Cluster document to complete.
        """
        export = export_manifests(self.state, cluster=self.target.name, roles=roles)
        if self.target.declaration is not None:
            return export
        # A snapshot's file may be called what no document can be, and says nothing of brokers.
        name, servers = document_name(self.target.name), self.target.bootstrap_servers or [NO_BROKER]
        stub = _STUB + cluster_document(name, servers, {})
        return replace(export, files={"cluster.yaml": stub, **export.files})

    def snapshot(self) -> str:
        """The text of a snapshot file."""
        return snapshot_text(self.state)


def export(
    path: str | None,
    cluster: str,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    acls: bool = True,
    tell: Tell = ignore,
) -> Exported:
    """Read a cluster, perhaps one that nobody declared yet; nothing is written. Raises a :class:`WorkflowError`."""
    with open_any(path, cluster, connection, tell) as (_, target):
        declaration = target.declaration
        request = ReadRequest(
            acls=acls,
            quotas=True,
            principal=declaration.principal if declaration else None,
            super_users=declaration.super_users if declaration else (),
        )
        return Exported(target, _in_scope(target.read(request), target))


def _in_scope(state: ClusterState, target: Target) -> ClusterState:
    """What the declaration answers for; for a cluster that nobody described, all but our own short-lived names."""
    scope = target.declaration.scope if target.declaration else Scope()
    names = (name for name in state.topics if name not in INTERNAL_TOPICS)
    return replace(
        state,
        bindings=frozenset(binding for binding in state.bindings if scope.owns(binding)),
        topics={name: state.topics[name] for name in names if scope.owns_topic(name, declared=True)},
        quotas=None
        if state.quotas is None
        else frozenset(quota for quota in state.quotas if scope.owns_quota(quota.entity, declared=True)),
    )
