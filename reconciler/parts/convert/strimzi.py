"""Strimzi: ``KafkaUser`` and ``KafkaTopic`` resources, as its user and topic operators apply them (8541da1).

Sources: ``KafkaUserModel.getUserName``, ``QuotaUtils``, ``SimpleAclRule``, ``TopicOperatorUtil.configValueAsString``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from reconciler.model.acl import CLUSTER_NAME
from reconciler.model.frozen import FrozenMap
from reconciler.model.kinds.quota import QuotaEntity
from reconciler.parts.convert.conversion import Conversion, Resource, add_foreign
from reconciler.parts.convert.files import SourceError, SourceFiles, Tree

_CLUSTER: Final = "strimzi.io/cluster"
_GROUP: Final = "kafka.strimzi.io"
#: What makes a Kustomization more than a list of files.
_CHANGES: Final = frozenset(
    ("namePrefix", "nameSuffix", "patches", "patchesJson6902", "patchesStrategicMerge", "replacements", "components")
)
_KINDS: Final = ("KafkaUser", "KafkaTopic")
_MANAGED: Final = ("strimzi.io/managed", "false")
_PAUSED: Final = ("strimzi.io/pause-reconciliation", "true")
_USER: Final = {"template": "Kubernetes fields of a user are not managed"}
#: ``ScramCredentialsOperator``.
_ITERATIONS: Final = "4096"
#: Kafka's key for each field of a user's quotas; jikkou has the first three, by the same names.
QUOTA_FIELDS: Final = FrozenMap(
    {
        "producerByteRate": "producer_byte_rate",
        "consumerByteRate": "consumer_byte_rate",
        "requestPercentage": "request_percentage",
        "controllerMutationRate": "controller_mutation_rate",
    }
)


def read_strimzi(files: SourceFiles, conversion: Conversion) -> None:
    """All resources of YAML files, also of ``kubectl get -o yaml``; those of one cluster only."""
    names = files.ending(".yaml", ".yml", ".json")
    nodes = [node for name in names for node in resources(conversion.rendered(files, name))]
    mine = [node for node in nodes if _is_ours(node)]
    for node in of_one_cluster(mine, _label, files.cluster, conversion):
        conversion.recognise()
        if node.text("kind") == "KafkaUser":
            _user(node, conversion)
        else:
            _topic(node, conversion)
    for node in nodes:
        if not _is_ours(node):
            add_other_kind(node, conversion, "neither a KafkaUser nor a KafkaTopic")


def _is_ours(node: Tree) -> bool:
    # Other operators have a KafkaTopic and a KafkaUser too, with other fields.
    group = (node.text("apiVersion") or "").partition("/")[0]
    return node.text("kind") in _KINDS and group in ("", _GROUP)


def resources(trees: Iterable[Tree]) -> Iterator[Tree]:
    """The resources of Kubernetes documents, lists taken apart; what decides nothing about Kafka counts as read.

    A document that is no resource stays unread, and so is named.
    """
    for tree in trees:
        if not tree.is_mapping():
            continue
        # Not every kind that ends so is a list: Crossplane's AccessControlList is one ACL.
        listed = (tree.text("kind") or "").endswith("List") and "spec" not in tree.names()
        if listed:
            tree.ignore("apiVersion", "metadata")
        for node in tree.items("items") if listed else (tree,):
            node.ignore("apiVersion", "kind", "status")
            node.get("metadata").ignore()
            yield node


def add_other_kind(node: Tree, conversion: Conversion, unmanaged: str) -> None:
    """Remarks on a resource of a kind that is not read; ``unmanaged`` is the reason where it decides nothing."""
    kind = node.text("kind") or "a document without a kind"
    if kind == "Kustomization" and _CHANGES & set(node.names()):
        conversion.skip(node, kind, "it changes resources: convert what `kustomize build` prints")
    else:
        full = f"{node.text('apiVersion') or ''} {kind}"
        add_foreign(conversion, node, full, f"{kind} {_name(node)}", unmanaged=unmanaged)


def of_one_cluster(
    nodes: Sequence[Tree], cluster_of: Callable[[Tree], str | None], wanted: str | None, conversion: Conversion
) -> Iterator[Tree]:
    """The resources of the wanted cluster, or all if there is one cluster; raises :class:`SourceError` if several."""
    clusters = sorted({label for node in nodes if (label := cluster_of(node)) is not None})
    if wanted is None and len(clusters) > 1:
        raise SourceError(f"the resources belong to several clusters: choose one of {', '.join(clusters)}")
    if wanted is not None and wanted not in clusters:
        raise SourceError(f"no resource belongs to a cluster {wanted!r}; there are: {', '.join(clusters) or 'none'}")
    for node in nodes:
        if wanted is None or cluster_of(node) == wanted:
            yield node
        else:
            conversion.add_unmanaged(node, f"{node.text('kind')} {_name(node)}", f"it belongs to {cluster_of(node)}")


def _label(node: Tree) -> str | None:
    return node.text("metadata", "labels", _CLUSTER)


def _name(node: Tree) -> str:
    return node.text("metadata", "name") or "without a name"


def _user(node: Tree, conversion: Conversion) -> None:
    spec, name = node.get("spec"), _name(node)
    if _is_set_aside(node, f"KafkaUser {name}", (_PAUSED,), conversion):
        return
    conversion.set_aside(spec, _USER)
    method = spec.text("authentication", "type")
    principal = f"User:CN={name}" if method in ("tls", "tls-external") else f"User:{name}"
    if method == "scram-sha-512":
        spec.get("authentication").ignore()  # where its password is
        conversion.add_user(name, method, _ITERATIONS, spec.where)
    elif method is not None:
        subject = f"{name} authentication {method}"
        conversion.add_unmanaged(spec.get("authentication"), subject, "no manifest has this way to log in")
    user = principal.removeprefix("User:")
    conversion.add_quota(QuotaEntity.of(user), quota_limits(spec.get("quotas")), spec.get("quotas").where)
    kind = spec.text("authorization", "type")
    if kind not in (None, "simple"):
        conversion.skip(spec.get("authorization"), f"KafkaUser {name}", f"authorization {kind!r} is not known")
        return
    add_rules(principal, f"KafkaUser {name}", spec.get("authorization"), conversion)


def quota_limits(quotas: Tree) -> dict[str, str]:
    """The limits of a user by Kafka's keys; what is left out, or null, is unlimited."""
    return {key: text for name, key in QUOTA_FIELDS.items() if (text := quotas.text(name)) is not None}


def add_rules(principal: str, subject: str, authorization: Tree, conversion: Conversion) -> None:
    """The ACLs of a user, in the form that Redpanda's operator took over from Strimzi."""
    for rule in authorization.items("acls"):
        if "operations" in rule.names() and "operation" in rule.names():
            conversion.skip(rule, f"a rule of {subject}", "it has operation and operations: write one")
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
            conversion.skip(rule, f"a rule of {subject}", "it has no operation")


def _resource(node: Tree) -> Resource:
    kind = node.text("type") or ""
    if kind == "cluster":
        # Strimzi reads neither for the cluster, which has one name.
        node.ignore("name", "patternType")
    name = CLUSTER_NAME if kind == "cluster" else node.text("name") or ""
    return Resource(kind, name, "literal" if kind == "cluster" else node.text("patternType") or "literal")


def _is_set_aside(node: Tree, subject: str, annotations: Sequence[tuple[str, str]], conversion: Conversion) -> bool:
    """Whether one of these annotations makes Strimzi ignore the resource; adds a remark if so."""
    for annotation, wanted in annotations:
        if (node.text("metadata", "annotations", annotation) or "").lower() == wanted:
            conversion.add_unmanaged(node, subject, f"{annotation} is {wanted}: Strimzi does not manage it")
            return True
    return False


def _topic(node: Tree, conversion: Conversion) -> None:
    spec = node.get("spec")
    name = spec.text("topicName") or _name(node)
    if _is_set_aside(node, f"KafkaTopic {name}", (_MANAGED, _PAUSED), conversion):
        return
    configs = {}
    for key, setting in spec.fields("config").items():
        several = not isinstance(setting.value, str | None)
        configs[key] = ",".join(setting.texts()) if several else setting.text() or ""
    conversion.add_topic(name, spec.text("partitions"), spec.text("replicas"), configs, node.where)
