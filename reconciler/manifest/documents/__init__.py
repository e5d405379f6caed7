"""The kinds of documents. A new kind is one file here, its fields in one of ``models``, and one line in ``KINDS``.

Those of listed kinds are one file, :mod:`reconciler.manifest.documents.kind`.
"""

from collections.abc import Mapping
from typing import Any, Final

from reconciler.manifest.documents.acls import AclsKind, RoleKind
from reconciler.manifest.documents.cluster import ClusterKind, FleetKind
from reconciler.manifest.documents.kind import Kind, listed_documents
from reconciler.manifest.documents.ownership import OwnershipKind
from reconciler.manifest.documents.tests import AccessTestsKind, ClusterTestsKind
from reconciler.manifest.documents.topic_policy import TopicPolicyKind
from reconciler.manifest.documents.topics import TopicsKind

#: In the order in which people get to know them.
KINDS: Final[tuple[Kind[Any], ...]] = (
    ClusterKind(),
    AclsKind(),
    RoleKind(),
    TopicsKind(),
    *listed_documents(),
    AccessTestsKind(),
    ClusterTestsKind(),
    OwnershipKind(),
    TopicPolicyKind(),
    FleetKind(),
)
#: By the name that a document gives, sorted.
KINDS_BY_NAME: Final[Mapping[str, Kind[Any]]] = {kind.name: kind for kind in sorted(KINDS, key=lambda kind: kind.name)}
