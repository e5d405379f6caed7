"""Confluent's exports, and resources of its operator.

Exports: ``confluent kafka acl list -o json`` or ``-o yaml``, and answers of its REST API, version 3.

The REST API returns topics and their configs separately. A topic without its configs among the files is skipped,
because declaring it without them would reset them.
"""

from collections.abc import Iterator
from typing import Final

from reconciler.parts.convert.conversion import Conversion, Resource
from reconciler.parts.convert.files import SourceError, SourceFiles, Tree
from reconciler.parts.convert.strimzi import add_other_kind, of_one_cluster, resources

#: What the REST API adds to each item: links and identities.
_REST: Final = ("kind", "metadata", "cluster_id")
_TOPIC_LINKS: Final = ("partitions", "configs", "partition_reassignments", "authorized_operations")
_SETTING_LINKS: Final = (
    "name",
    "value",
    "is_default",
    "is_read_only",
    "is_sensitive",
    "is_internal",
    "synonyms",
    "source",
)
_NO_SETTINGS: Final = "its settings are not here: add the answer of /topics/NAME/configs, or use reconciler export"


def read_confluent(files: SourceFiles, conversion: Conversion) -> None:
    """ACLs, topics and topic configs from any number of files; of one cluster only."""
    items = [item for name in files.ending(".json", ".yaml", ".yml") for item in _items(files, name)]
    clusters = sorted({cluster_id for item in items if (cluster_id := item.text("cluster_id")) is not None})
    if files.cluster is None and len(clusters) > 1:
        raise SourceError(f"the files speak of several clusters: choose one of {', '.join(clusters)}")
    if files.cluster is not None and files.cluster not in clusters:
        raise SourceError(f"nothing belongs to {files.cluster!r}; there are: {', '.join(clusters) or 'none'}")
    settings: dict[str, dict[str, str]] = {}
    topics = []
    for item in items:
        if files.cluster is not None and item.text("cluster_id") not in (None, files.cluster):
            conversion.add_unmanaged(item, item.text("kind") or "an entry", f"it belongs to {item.text('cluster_id')}")
        elif "value" in item.names() and item.text("topic_name") is not None:
            _setting(item, settings)
        elif item.text("topic_name") is not None:
            topics.append(item)
        elif "resource_type" in item.names():
            _acl(item, conversion)
        else:
            conversion.skip(item, item.text("kind") or "an entry", "neither an ACL, a topic nor a setting")
    for item in topics:
        _topic(item, settings, conversion)


def _items(files: SourceFiles, name: str) -> Iterator[Tree]:
    for tree in files.trees(name):
        if tree.is_mapping() and tree.text("kind"):
            yield from tree.items("data") if "data" in tree.names() else [tree]
            if tree.text("metadata", "next") is not None:
                raise SourceError(f"{name}: this is one page of several: {tree.text('metadata', 'next')}")
            tree.get("metadata").ignore()
        else:
            yield from tree.items()


def _acl(item: Tree, conversion: Conversion) -> None:
    item.ignore(*_REST)
    conversion.add_binding(
        item.text("principal") or "",
        Resource(item.text("resource_type") or "", item.text("resource_name") or "", item.text("pattern_type") or ""),
        (item.text("operation") or "",),
        item.where,
        permission=item.text("permission") or "",
        # Confluent Cloud has no hosts.
        host=item.text("host") or "*",
    )


def _setting(item: Tree, settings: dict[str, dict[str, str]]) -> None:
    """Keep what is set on the topic itself; everything else is a broker default."""
    item.ignore(*_REST, *_SETTING_LINKS)
    own = settings.setdefault(item.text("topic_name") or "", {})
    source = item.text("source")
    if source == "DYNAMIC_TOPIC_CONFIG" or (source is None and not item.flag("is_default")):
        own[item.text("name") or ""] = item.text("value") or ""


def _topic(item: Tree, settings: dict[str, dict[str, str]], conversion: Conversion) -> None:
    name = item.text("topic_name") or ""
    item.ignore(*_REST, *_TOPIC_LINKS)
    if item.flag("is_internal"):
        conversion.add_unmanaged(item, f"topic {name}", "Kafka keeps this topic itself")
    elif name not in settings:
        conversion.skip(item, f"topic {name}", _NO_SETTINGS)
    else:
        conversion.add_topic(
            name, item.text("partitions_count"), item.text("replication_factor"), settings[name], item.where
        )


# Confluent for Kubernetes: ``KafkaTopic``; its ``ConfluentRolebinding`` grants access that no ACL shows.
#
# Source: Confluent's reference of the API ``platform.confluent.io/v1beta1``: ``spec.name`` replaces the resource's
# name.

_GROUP: Final = "platform.confluent.io"
_BLOCKED: Final = "platform.confluent.io/block-reconcile"
#: Which cluster, and how the operator reaches it.
_REACHES: Final = ("kafkaClusterRef", "kafkaRest", "kafkaRestClassRef")
_RBAC: Final = "{} has the role {}: Confluent's RBAC grants access besides ACLs, and no manifest can declare it"


def read_confluent_operator(files: SourceFiles, conversion: Conversion) -> None:
    """All topics of YAML files, of one cluster."""
    names = files.ending(".yaml", ".yml", ".json")
    nodes = [node for name in names for node in resources(conversion.rendered(files, name))]
    for node in of_one_cluster([node for node in nodes if _is_topic(node)], _cluster, files.cluster, conversion):
        conversion.recognise()
        _operators_topic(node, conversion)
    for node in nodes:
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


def _operators_topic(node: Tree, conversion: Conversion) -> None:
    spec = node.get("spec")
    name = spec.text("name") or _name(node)
    if node.get("metadata", "annotations").flag(_BLOCKED):
        conversion.add_unmanaged(node, f"KafkaTopic {name}", f"{_BLOCKED} is true: the operator does not manage it")
        return
    spec.ignore(*_REACHES)
    conversion.add_topic(name, spec.text("partitionCount"), spec.text("replicas"), spec.settings("configs"), node.where)
