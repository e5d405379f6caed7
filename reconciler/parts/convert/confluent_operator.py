"""Confluent for Kubernetes: ``KafkaTopic``; its ``ConfluentRolebinding`` grants access that no ACL shows.

Source: Confluent's reference of the API ``platform.confluent.io/v1beta1``: ``spec.name`` replaces the resource's name.
"""

from typing import Final

from reconciler.parts.convert.conversion import Conversion
from reconciler.parts.convert.files import SourceFiles
from reconciler.parts.convert.strimzi import add_other_kind, of_one_cluster, resources
from reconciler.parts.convert.tree import Tree

_GROUP: Final = "platform.confluent.io"
_BLOCKED: Final = "platform.confluent.io/block-reconcile"
#: Which cluster, and how the operator reaches it.
_REACHES: Final = ("kafkaClusterRef", "kafkaRest", "kafkaRestClassRef")
_RBAC: Final = "{} has the role {}: Confluent's RBAC grants access besides ACLs, and no manifest can declare it"


def read_confluent_operator(files: SourceFiles, conversion: Conversion) -> None:
    """All topics of YAML files, of one cluster."""
    names = files.ending(".yaml", ".yml", ".json")
    found = [node for name in names for node in resources(files.rendered(name, conversion))]
    for node in of_one_cluster([node for node in found if _is_topic(node)], _cluster, files.cluster, conversion):
        conversion.recognise()
        _topic(node, conversion)
    for node in found:
        if _kind(node) == (_GROUP, "ConfluentRolebinding"):
            role, principal = node.text("spec", "role"), node.text("spec", "principal", "name")
            conversion.skip(node, f"ConfluentRolebinding {_name(node)}", _RBAC.format(principal, role))
        elif not _is_topic(node):
            add_other_kind(node, conversion, "neither a KafkaTopic nor a ConfluentRolebinding")


def _kind(node: Tree) -> tuple[str, str]:
    return (node.text("apiVersion") or "").partition("/")[0], node.text("kind") or ""


def _is_topic(node: Tree) -> bool:
    return _kind(node) == (_GROUP, "KafkaTopic")


def _name(node: Tree) -> str:
    return node.text("metadata", "name") or "without a name"


def _cluster(node: Tree) -> str | None:
    """The cluster that a topic names; the one in its own namespace has no other name."""
    reference = node.get("spec", "kafkaClusterRef")
    parts = [text for field in ("namespace", "name") if (text := reference.text(field)) is not None]
    return "/".join(parts) or None


def _topic(node: Tree, conversion: Conversion) -> None:
    spec = node.get("spec")
    name = spec.text("name") or _name(node)
    if node.get("metadata", "annotations").flag(_BLOCKED):
        conversion.add_unmanaged(node, f"KafkaTopic {name}", f"{_BLOCKED} is true: the operator does not manage it")
        return
    spec.ignore(*_REACHES)
    conversion.add_topic(name, spec.text("partitionCount"), spec.text("replicas"), spec.settings("configs"), node.where)
