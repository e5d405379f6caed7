"""The kinds of documents. A new kind is one file here, its fields in one of ``models``, and one line in ``KINDS``."""

from collections.abc import Mapping
from typing import Final

from reconciler.manifest.kinds.access_tests import AccessTestsKind
from reconciler.manifest.kinds.acls import AclsKind
from reconciler.manifest.kinds.cluster.declaration import ClusterKind
from reconciler.manifest.kinds.cluster_tests import ClusterTestsKind
from reconciler.manifest.kinds.fleet import FleetKind
from reconciler.manifest.kinds.groups import GroupsKind
from reconciler.manifest.kinds.interface import Kind
from reconciler.manifest.kinds.ownership import OwnershipKind
from reconciler.manifest.kinds.quotas import QuotasKind
from reconciler.manifest.kinds.role import RoleKind
from reconciler.manifest.kinds.topic_policy.declaration import TopicPolicyKind
from reconciler.manifest.kinds.topics.declaration import TopicsKind
from reconciler.manifest.kinds.users import UsersKind

#: In the order in which people get to know them.
KINDS: Final[tuple[Kind, ...]] = (
    ClusterKind(),
    AclsKind(),
    RoleKind(),
    TopicsKind(),
    QuotasKind(),
    GroupsKind(),
    UsersKind(),
    AccessTestsKind(),
    ClusterTestsKind(),
    OwnershipKind(),
    TopicPolicyKind(),
    FleetKind(),
)
#: By the name that a document gives, sorted.
KINDS_BY_NAME: Final[Mapping[str, Kind]] = {kind.name: kind for kind in sorted(KINDS, key=lambda kind: kind.name)}

__all__ = ["KINDS", "KINDS_BY_NAME", "Kind"]
