"""topicctl: topics and ACLs (segmentio/topicctl, 9c1f75c).

Sources: ``pkg/config/topic.go``, ``acl.go``, ``meta.go`` and ``load.go``, which replaces environment variables.
"""

from collections.abc import Sequence
from typing import Final

from reconciler.parts.convert.conversion import Conversion, Resource
from reconciler.parts.convert.files import SourceError, SourceFiles, Tree

_META: Final = ("region", "environment", "description", "labels", "consumers")
_PLACEMENT: Final = "topicctl places the replicas of this topic: declare replicaAssignments if that matters"
_ENVIRONMENT: Final = "it names an environment variable: convert what topicctl reads, as `envsubst` prints it"


def read_topicctl(files: SourceFiles, conversion: Conversion) -> None:
    """Topics and ACLs of one cluster, which each of them names."""
    trees = [tree for name in files.ending(".yaml", ".yml") for tree in conversion.rendered(files, name)]
    documents = [tree for tree in trees if tree.is_mapping() and not _is_cluster(tree, conversion)]
    clusters = sorted({cluster for tree in documents if (cluster := tree.text("meta", "cluster")) is not None})
    if files.cluster is None and len(clusters) > 1:
        raise SourceError(f"the files are of several clusters: choose one of {', '.join(clusters)}")
    if files.cluster is not None and files.cluster not in clusters:
        raise SourceError(f"nothing belongs to {files.cluster!r}; there are: {', '.join(clusters) or 'none'}")
    for tree in documents:
        cluster, name = tree.text("meta", "cluster"), tree.text("meta", "name") or ""
        if files.cluster is not None and cluster != files.cluster:
            conversion.add_unmanaged(tree, name, f"it belongs to {cluster}")
        elif any("$" in text for text in tree.all_texts()):
            conversion.skip(tree, name, _ENVIRONMENT)
        else:
            _document(tree, name, conversion)


def _is_cluster(tree: Tree, conversion: Conversion) -> bool:
    """Whether it says how to reach a cluster, which declares nothing in it."""
    if "bootstrapAddrs" not in tree.get("spec").names():
        return False
    conversion.add_unmanaged(tree, "a cluster", "how to reach a cluster belongs into a connections file")
    return True


def _document(tree: Tree, name: str, conversion: Conversion) -> None:
    spec = tree.get("spec")
    tree.get("meta").ignore(*_META)
    if "acls" in spec.names():
        _acls(spec.items("acls"), conversion)
    elif "partitions" in spec.names():
        _topic(name, spec, conversion)
    else:
        conversion.skip(tree, name or "a document", "neither a topic nor ACLs of topicctl")


def _acls(acls: Sequence[Tree], conversion: Conversion) -> None:
    for acl in acls:
        of = acl.get("resource")
        resource = Resource(of.text("type") or "", of.text("name") or "", of.text("patternType") or "")
        conversion.add_binding(
            of.text("principal") or "",
            resource,
            operations := acl.texts("operations"),
            acl.where,
            permission=of.text("permission") or "allow",
            host=of.text("host") or "*",
        )
        if not operations:
            conversion.skip(acl, f"an ACL of {of.text('principal')}", "it has no operation")


def _topic(name: str, spec: Tree, conversion: Conversion) -> None:
    configs = spec.settings("settings")
    minutes = spec.text("retentionMinutes")
    if minutes is not None and minutes.isascii() and minutes.isdigit() and int(minutes):
        configs["retention.ms"] = str(int(minutes) * 60_000)
    elif minutes not in (None, "0"):
        conversion.skip(spec.where, f"topic {name}", f"retentionMinutes {minutes!r} is no number of minutes")
        return
    if (spec.text("placement", "strategy") or "").startswith("static"):
        conversion.skip(spec.get("placement"), f"placement of topic {name}", _PLACEMENT)
    spec.ignore("placement", "migration")
    conversion.add_topic(name, spec.text("partitions"), spec.text("replicationFactor"), configs, spec.where)
