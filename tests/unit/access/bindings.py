"""Bindings in one line: ``TOPIC:P:pay User:a@* ALLOW READ``, as kafka's own notes write them."""

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

_PATTERN_TYPES = {"L": PatternType.LITERAL, "P": PatternType.PREFIXED}


def pattern(text: str) -> ResourcePattern:
    """``TOPIC:P:pay`` or ``TOPIC:L:*``."""
    kind, pattern_type, name = text.split(":", 2)
    return ResourcePattern(ResourceType[kind], name, _PATTERN_TYPES[pattern_type])


def binding(text: str) -> AclBinding:
    """One binding; the principal has no spaces."""
    where, who, permission, operation = text.split(" ")
    principal, _, host = who.rpartition("@")
    return AclBinding(
        pattern(where), AccessControlEntry(principal, host, AclOperation[operation], AclPermissionType[permission])
    )


def bindings(*texts: str) -> list[AclBinding]:
    """Several."""
    return [binding(text) for text in texts]
