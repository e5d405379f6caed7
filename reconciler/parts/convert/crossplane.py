"""Crossplane's provider-kafka: ``AccessControlList``, ``Topic`` and ``User``, of a cluster or of a namespace.

Sources: the resource definitions of crossplane-contrib/provider-kafka, and ``user.go`` for the iterations.
"""

from typing import Final

from reconciler.parts.convert.conversion import Conversion, Resource
from reconciler.parts.convert.files import SourceFiles, Tree
from reconciler.parts.convert.strimzi import add_other_kind, of_one_cluster, resources

_GROUPS: Final = ("kafka.crossplane.io", "kafka.m.crossplane.io")
_KINDS: Final = {"acl": "AccessControlList", "topic": "Topic", "user": "User"}
_NAME: Final = "crossplane.io/external-name"
_PAUSED: Final = "crossplane.io/paused"
#: What Crossplane does with a resource, and how it reaches the cluster.
_ASIDE: Final = ("providerConfigRef", "providerRef", "deletionPolicy", "writeConnectionSecretToRef")
#: ``defaultScramIterations``.
_ITERATIONS: Final = "4096"


def read_crossplane(files: SourceFiles, conversion: Conversion) -> None:
    """All resources of YAML files, of one provider configuration: that is one cluster."""
    names = files.ending(".yaml", ".yml", ".json")
    nodes = [node for name in names for node in resources(conversion.rendered(files, name))]
    for node in of_one_cluster([node for node in nodes if _is_ours(node)], _cluster, files.cluster, conversion):
        conversion.recognise()
        _resource(node, conversion)
    for node in nodes:
        if not _is_ours(node):
            add_other_kind(node, conversion, "no resource of provider-kafka")


def _is_ours(node: Tree) -> bool:
    first, _, group = (node.text("apiVersion") or "").partition("/")[0].partition(".")
    return group in _GROUPS and _KINDS.get(first) == node.text("kind")


def _cluster(node: Tree) -> str | None:
    return node.text("spec", "providerConfigRef", "name") or node.text("spec", "providerRef", "name")


def _resource(node: Tree, conversion: Conversion) -> None:
    spec, kind = node.get("spec"), node.text("kind") or ""
    name = node.text("metadata", "annotations", _NAME) or node.text("metadata", "name") or ""
    policies = spec.texts("managementPolicies")
    if node.get("metadata", "annotations").flag(_PAUSED) or (policies and not {"*", "Create"} & set(policies)):
        conversion.add_unmanaged(
            node, f"{kind} {name}", "Crossplane only observes it, or is paused: it creates nothing"
        )
        return
    spec.ignore(*_ASIDE)
    wanted = spec.get("forProvider")
    if kind == "Topic":
        partitions, replicas = wanted.text("partitions"), wanted.text("replicationFactor")
        conversion.add_topic(name, partitions, replicas, wanted.settings("config"), node.where)
    elif kind == "User":
        wanted.ignore("passwordSecretRef")
        for mechanism in wanted.texts("mechanisms") or ["SCRAM-SHA-512"]:
            conversion.add_user(name, mechanism, _ITERATIONS, node.where)
    else:
        conversion.add_binding(
            wanted.text("resourcePrincipal") or "",
            Resource(
                wanted.text("resourceType") or "",
                wanted.text("resourceName") or "",
                wanted.text("resourcePatternTypeFilter") or "",
            ),
            (wanted.text("resourceOperation") or "",),
            node.where,
            permission=wanted.text("resourcePermissionType") or "",
            host=wanted.text("resourceHost") or "",
        )
