"""Lockout protection: what is created before, and deleted after, everything else on the cluster resource itself.

Under default-allow the first binding on the cluster shuts out whoever has none there: us, and the brokers. A bridge
on it would let everyone alter ACLs, so our own ALLOWs and theirs come first instead, in one request; where the last
binding on it goes, they go last.
"""

from collections.abc import Iterable

from reconciler.model import AclBinding, AclPermissionType, Change, ClusterState, ResourcePattern, ResourceType
from reconciler.plan.coverage import opaque_patterns
from reconciler.plan.facts import Facts
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings


def lockout_protection(
    changes: Iterable[Change], live: ClusterState, facts: Facts, *, default_allow: bool | None
) -> frozenset[AclBinding]:
    """ALLOWs of ours and of brokers on the cluster that frame the plan; none unless default-allow is declared on.

    The same for a plan that was begun and is resumed: what it does itself is not counted as there before.
    """
    if default_allow is not True:
        return frozenset()
    found = list(changes)
    created = {binding for binding in created_bindings(found) if _on_cluster(binding.pattern)}
    deleted = {binding for binding in deleted_bindings(found) if _on_cluster(binding.pattern)}
    others = {binding.pattern for binding in live.bindings - created - deleted}
    kept = any(map(_on_cluster, (*others, *opaque_patterns(live))))
    if kept or bool(created) is bool(deleted):  # covered on both sides, or on none
        return frozenset()
    ours = {*facts.inter_broker_principals, *([facts.principal] if facts.principal else [])}
    return frozenset(
        binding
        for binding in created or deleted
        if binding.entry.principal in ours and binding.entry.permission_type is AclPermissionType.ALLOW
    )


def _on_cluster(pattern: ResourcePattern) -> bool:
    return pattern.resource_type is ResourceType.CLUSTER
