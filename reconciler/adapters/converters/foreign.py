"""Resources of other tools, in files where many tools keep theirs: which grant access to Kafka or hold a topic.

A resource that no converter reads may be anything. Two words decide, because a list of kinds is never complete: one
that names Kafka or a product of it, and one that names access or topics.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from reconciler.adapters.converters.container_calls import calls_tools
from reconciler.adapters.converters.conversion import Conversion
from reconciler.adapters.converters.tree import Tree

_KAFKA: Final = re.compile(r"kafka|confluent|redpanda|jikkou|ns4kafka|strimzi|aiven|msk|cloudkarafka|instaclustr", re.I)
#: Kinds whose names say enough: of ns4kafka, which has no API group, and of Conduktor.
_KNOWN: Final = re.compile(r"AccessControlEntry|ApplicationInstance")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ACCESS: Final = frozenset(
    ("acl", "acls", "role", "roles", "rolebinding", "permission", "permissions", "grant", "grants", "authorization")
)
_USER: Final = frozenset(("user", "account", "application", "identity"))
#: AWS IAM decides for Amazon MSK by actions, in any kind of policy document.
_IAM: Final = "kafka-cluster:"
_GRANTS: Final = "it grants or denies access to Kafka, and this converter does not read it"
_HOLDS: Final = "it is a topic, and this converter does not read it"
_HOLDS_WITH_ACCESS: Final = "it is a topic with access to it, and this converter does not read it"
_CALLS: Final = "it calls Kafka's tools: convert it with --from kafka-acls-script, or all with --from auto"
PRINCIPALS: Final = "it names principals of Kafka, in a form that is not known: nothing of it is converted"
PRINCIPAL: Final = re.compile(r"\bUser:(?:CN=)?[\w*]")
_INSIDE: Final = "it holds resources of Kafka inside: convert what it renders or applies"
#: The API version of a resource of Kafka, by itself or in a text that holds YAML.
_VERSION: Final = re.compile(
    r"(?:\A|apiVersion:\s*[\"']?)[\w.-]*(?:kafka|confluent|redpanda|jikkou|strimzi)[\w.-]*/v[0-9]", re.I
)
_BY_IAM: Final = "AWS IAM grants access to Kafka here, besides ACLs: keep it in view, no manifest can declare it"


def add_foreign(conversion: Conversion, node: Tree, kind: str, subject: str, *, unmanaged: str) -> None:
    """Remarks on a resource of another tool: not converted if it seems to decide who may do what, else unmanaged.

    ``kind`` is how its own tool calls it, with its API group or its provider; ``unmanaged`` is the reason for the rest.
    """
    reason = _access(node, kind)
    if reason is not None:
        conversion.skip(node, subject, reason)
    else:
        conversion.add_unmanaged(node, subject, unmanaged)


def _access(node: Tree, kind: str) -> str | None:
    if any(_IAM in text for text in node.all_texts()):
        return _BY_IAM
    if calls_tools(node):
        return _CALLS
    if any(_VERSION.search(text) for text in _texts_inside(node)):
        return _INSIDE
    if _KNOWN.search(kind):
        return _GRANTS
    if not _KAFKA.search(kind):
        return PRINCIPALS if any(PRINCIPAL.match(text) for text in node.all_texts()) else None
    words = _words(kind)
    if words & _ACCESS:
        return _GRANTS
    inside = any(_words(key) & _ACCESS for key in node.all_keys())
    if "topic" in words:
        return _HOLDS_WITH_ACCESS if inside else _HOLDS
    # A user is a login: nothing for a manifest, unless rules stand inside.
    return _GRANTS if inside and words & _USER else None


def _texts_inside(node: Tree) -> Iterator[str]:
    """Every text below the fields of a resource, but for its own API version."""
    if isinstance(node.value, Mapping):
        for name, value in node.value.items():
            if name not in ("apiVersion", "metadata"):
                yield from value.all_texts()


def _words(name: str) -> set[str]:
    """The words of a name in any case: ``KafkaTopicAclEntry`` and ``aiven_kafka_acl`` both hold ``acl``."""
    return {word.lower() for word in _WORD.findall(name)}
