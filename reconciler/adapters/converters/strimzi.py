"""Strimzi: ``KafkaUser`` and ``KafkaTopic`` resources, as its user and topic operators apply them (8541da1).

Sources: ``KafkaUserModel.getUserName``, ``SimpleAclRule``, ``TopicOperatorUtil.configValueAsString``.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from reconciler.adapters.converters.conversion import Conversion, Resource
from reconciler.adapters.converters.files import SourceFiles
from reconciler.adapters.converters.tree import SourceError, Tree
from reconciler.model import CLUSTER_NAME

_CLUSTER: Final = "strimzi.io/cluster"
_KINDS: Final = ("KafkaUser", "KafkaTopic")
_MANAGED: Final = ("strimzi.io/managed", "false")
_PAUSED: Final = ("strimzi.io/pause-reconciliation", "true")
_USER: Final = {
    "quotas": "quotas are not managed",
    "template": "Kubernetes fields of a user are not managed",
}


def read_strimzi(files: SourceFiles, conversion: Conversion) -> None:
    """All resources of YAML files, also of ``kubectl get -o yaml``; those of one cluster only."""
    found = [resource for name in files.ending(".yaml", ".yml", ".json") for resource in _resources(files, name)]
    mine = [node for node in found if node.text("kind") in _KINDS]
    for node in _of_cluster(mine, files.cluster, conversion):
        if node.text("kind") == "KafkaUser":
            _user(node, conversion)
        else:
            _topic(node, conversion)
    for node in found:
        if node.text("kind") not in _KINDS:
            conversion.add_unmanaged(
                node.where, f"{node.text('kind')} {_name(node)}", "neither a KafkaUser nor a KafkaTopic"
            )


def _resources(files: SourceFiles, name: str) -> Iterator[Tree]:
    for tree in files.trees(name):
        if (tree.text("kind") or "").endswith("List"):
            yield from tree.items("items")
        else:
            yield tree


def _of_cluster(nodes: list[Tree], wanted: str | None, conversion: Conversion) -> Iterator[Tree]:
    """The resources of the wanted cluster, or all if there is one cluster; raises :class:`SourceError` if several."""
    clusters = sorted({label for node in nodes if (label := _label(node)) is not None})
    if wanted is None and len(clusters) > 1:
        raise SourceError(f"the resources belong to several clusters: choose one of {', '.join(clusters)}")
    if wanted is not None and wanted not in clusters:
        raise SourceError(f"no resource belongs to a cluster {wanted!r}; there are: {', '.join(clusters) or 'none'}")
    for node in nodes:
        if wanted is None or _label(node) == wanted:
            yield node
        else:
            conversion.add_unmanaged(node.where, f"{node.text('kind')} {_name(node)}", f"it belongs to {_label(node)}")


def _label(node: Tree) -> str | None:
    return node.text("metadata", "labels", _CLUSTER)


def _name(node: Tree) -> str:
    return node.text("metadata", "name") or "without a name"


def _user(node: Tree, conversion: Conversion) -> None:
    spec, name = node.get("spec"), _name(node)
    if _is_set_aside(node, f"KafkaUser {name}", (_PAUSED,), conversion):
        return
    conversion.expect(spec, ("authentication", "authorization"), _USER)
    method = spec.text("authentication", "type")
    principal = f"User:CN={name}" if method in ("tls", "tls-external") else f"User:{name}"
    if method is not None:
        conversion.add_unmanaged(
            spec.get("authentication").where, f"{name} authentication {method}", "users are not managed"
        )
    kind = spec.text("authorization", "type")
    if kind not in (None, "simple"):
        conversion.skip(spec.get("authorization").where, f"KafkaUser {name}", f"authorization {kind!r} is not known")
        return
    conversion.expect(spec.get("authorization"), ("type", "acls"))
    for rule in spec.items("authorization", "acls"):
        conversion.expect(rule, ("type", "resource", "host", "operations", "operation"))
        conversion.expect(rule.get("resource"), ("type", "name", "patternType"))
        if "operations" in rule.fields() and "operation" in rule.fields():
            conversion.skip(rule.where, f"a rule of KafkaUser {name}", "it has operation and operations: write one")
            continue
        # Before API version v1 a rule has one operation, in the singular.
        operations = [*rule.texts("operations"), *filter(None, [rule.text("operation")])]
        conversion.add_binding(
            principal,
            _resource(rule.get("resource")),
            operations,
            rule.where,
            permission=rule.text_or("allow", "type"),
            host=rule.text_or("*", "host"),
        )
        if not operations:
            conversion.skip(rule.where, f"a rule of KafkaUser {name}", "it has no operation")


def _resource(node: Tree) -> Resource:
    kind = node.text("type") or ""
    name = CLUSTER_NAME if kind == "cluster" else node.text("name") or ""
    return Resource(kind, name, "literal" if kind == "cluster" else node.text("patternType") or "literal")


def _is_set_aside(node: Tree, subject: str, annotations: Sequence[tuple[str, str]], conversion: Conversion) -> bool:
    """Whether one of these annotations makes Strimzi ignore the resource; adds a remark if so."""
    for annotation, wanted in annotations:
        if (node.text("metadata", "annotations", annotation) or "").lower() == wanted:
            conversion.add_unmanaged(node.where, subject, f"{annotation} is {wanted}: Strimzi does not manage it")
            return True
    return False


def _topic(node: Tree, conversion: Conversion) -> None:
    spec = node.get("spec")
    name = spec.text("topicName") or _name(node)
    if _is_set_aside(node, f"KafkaTopic {name}", (_MANAGED, _PAUSED), conversion):
        return
    conversion.expect(spec, ("topicName", "partitions", "replicas", "config"))
    configs = {}
    for key, setting in spec.fields("config").items():
        several = not isinstance(setting.value, str | None)
        configs[key] = ",".join(setting.texts()) if several else setting.text() or ""
    conversion.add_topic(name, spec.text("partitions"), spec.text("replicas"), configs, node.where)
