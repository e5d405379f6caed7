"""What a manifest can say of a live cluster, and why it cannot say the rest.

Kafka accepts texts that no connection has, that break or hang brokers, or that a reviewer could not see; manifests
do not. The rules are those of the manifests' reader; a property test holds the two together.
"""

from typing import Final

from reconciler.manifest import right_form, setting_problem
from reconciler.model import (
    CLUSTER_NAME,
    INTERNAL_TOPICS,
    METADATA_TOPIC,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
    Topic,
    is_reserved,
    topic_name_problem,
)
from reconciler.model.addresses import ip_range
from reconciler.model.characters import composed, is_visible

_VARIABLE: Final = "${"


def binding_problem(binding: AclBinding) -> str | None:
    """Why no manifest can declare ``binding``, or ``None``."""
    return _pattern_problem(binding.pattern) or _entry_problem(binding.pattern.resource_type, binding.entry)


def _entry_problem(resource_type: ResourceType, entry: AccessControlEntry) -> str | None:
    operation = entry.operation
    if operation is not AclOperation.ALL and operation not in SUPPORTED_OPERATIONS[resource_type]:
        return f"{resource_type.name} resources have no operation {operation.name}"
    return _principal_problem(entry.principal) or _host_problem(entry.host)


def _pattern_problem(pattern: ResourcePattern) -> str | None:
    if pattern.resource_type is ResourceType.CLUSTER:
        literal = pattern.pattern_type is PatternType.LITERAL
        return None if literal and pattern.name == CLUSTER_NAME else "the cluster is declared by its one name only"
    if pattern.is_wildcard:
        return None
    if is_reserved(pattern.name):
        return "the name is reserved for the reconciler"
    if pattern.resource_type is ResourceType.TOPIC:
        return _topic_name_problem(pattern)
    return _other_name_problem(pattern)


def _topic_name_problem(pattern: ResourcePattern) -> str | None:
    if pattern.pattern_type is PatternType.PREFIXED and pattern.name in (".", ".."):
        return None
    if pattern.pattern_type is PatternType.LITERAL and pattern.name == METADATA_TOPIC:
        return "Kafka keeps this topic itself"
    return topic_name_problem(pattern.name)


def _other_name_problem(pattern: ResourcePattern) -> str | None:
    if pattern.name[0] < WILDCARD:
        return "the name begins with a character below '*': an ACL on it can hang brokers"
    problem = text_problem(pattern.name)
    if problem is not None or pattern.resource_type is not ResourceType.USER:
        star = pattern.pattern_type is PatternType.PREFIXED and pattern.name.endswith(WILDCARD)
        return problem or ("a prefix that ends with '*', which stands for itself" if star else None)
    if pattern.pattern_type is PatternType.PREFIXED:
        return "a prefix of '*' is not a prefix" if pattern.name == WILDCARD else None
    return "the name is not a user" if pattern.name == WILDCARD_PRINCIPAL else _principal_problem(pattern.name)


def _principal_problem(text: str) -> str | None:
    if text == WILDCARD_PRINCIPAL:
        return None
    principal_type, colon, name = text.partition(":")
    if not colon:
        return "the principal has no type and colon: it breaks brokers up to 3.9"
    if not name.strip() or text != text.strip() or name != name.lstrip() or not principal_type.isalnum():
        return "the principal has no name, or spaces or other characters that no principal has"
    if principal_type != "User" and principal_type.lower() == "user":
        return "the principal's type is User in another case: it matches nobody"
    if name.endswith(WILDCARD) or (name.startswith(WILDCARD) and "=" not in name):
        return f"only {WILDCARD_PRINCIPAL} is a wildcard: the principal matches nobody"
    return text_problem(text)


def _host_problem(host: str) -> str | None:
    found = ip_range(host)
    if found is not None and found.first <= found.last:
        return None if str(found) == host else f"a manifest writes {found} for that range"
    return None if host == WILDCARD or _as_java_writes_it(host) else "no connection has that host: it matches nobody"


def _as_java_writes_it(host: str) -> bool:
    """Whether ``host`` is a text of ``InetAddress.getHostAddress``: IPv6 in full, lower case, no leading zeros."""
    return text_problem(host) is None and right_form(host) == host


def topic_problem(topic: Topic) -> str | None:
    """Why no manifest can declare the topic as it is, or ``None``."""
    if topic.name in INTERNAL_TOPICS or topic.name == METADATA_TOPIC:
        return "Kafka keeps this topic itself"
    if is_reserved(topic.name):
        return "the name is reserved for the reconciler"
    problem = topic_name_problem(topic.name)
    if problem is not None:
        return problem
    for name, setting in topic.configs.items():
        if text_problem(name) or text_problem(setting):
            return "a setting holds text that no manifest can hold"
    return next(filter(None, (setting_problem(name, text) for name, text in topic.configs.items())), None)


def text_problem(text: str) -> str | None:
    """Why a reviewer could not see all of ``text``, or what a manifest reads as a variable; ``None`` if it is fine."""
    if not is_visible(text):
        return "it holds a control, bidirectional or invisible character"
    if composed(text) != text:
        return "it is not in Unicode's composed form"
    return "it reads like a variable" if _VARIABLE in text else None
