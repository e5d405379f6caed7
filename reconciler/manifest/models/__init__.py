"""Pydantic models of the manifests: the types of fields, and the source of the JSON Schemas."""

from collections.abc import Mapping
from typing import Final

from reconciler.manifest.models.access_tests import AccessTestsDocument
from reconciler.manifest.models.acls import AclsDocument
from reconciler.manifest.models.cluster import ClusterDocument
from reconciler.manifest.models.fields import ManifestModel
from reconciler.manifest.models.fleet import FleetDocument
from reconciler.manifest.models.metadata import API_VERSION
from reconciler.manifest.models.ownership import OwnershipDocument
from reconciler.manifest.models.role import RoleDocument
from reconciler.manifest.models.topic_policy import TopicPolicyDocument
from reconciler.manifest.models.topics import TopicsDocument

#: The kinds of this version; the models come from the table, so a kind is known in one place.
MODELS: Final[Mapping[str, type[ManifestModel]]] = {
    "AccessTests": AccessTestsDocument,
    "Acls": AclsDocument,
    "Cluster": ClusterDocument,
    "Fleet": FleetDocument,
    "Ownership": OwnershipDocument,
    "Role": RoleDocument,
    "TopicPolicy": TopicPolicyDocument,
    "Topics": TopicsDocument,
}

__all__ = [
    "API_VERSION",
    "MODELS",
    "AccessTestsDocument",
    "AclsDocument",
    "ClusterDocument",
    "FleetDocument",
    "OwnershipDocument",
    "RoleDocument",
    "TopicPolicyDocument",
    "TopicsDocument",
]
