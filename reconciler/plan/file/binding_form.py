"""Patterns to JSON, and bindings, patterns and places from it, which raises like ``dict`` and ``Enum`` do."""

from typing import Any

from reconciler.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    Origin,
    PatternType,
    ResourcePattern,
    ResourceType,
)


def pattern_side(pattern: ResourcePattern) -> dict[str, str]:
    """A pattern's three fields."""
    resource_type, name, pattern_type = pattern
    return {"resourceType": resource_type.name, "name": name, "patternType": pattern_type.name}


def binding_from(side: dict[str, Any]) -> AclBinding:
    """The inverse of ``binding_side``."""
    return AclBinding(
        pattern_from(side),
        AccessControlEntry(
            side["principal"],
            side["host"],
            AclOperation[side["operation"]],
            AclPermissionType[side["permissionType"]],
        ),
    )


def pattern_from(side: dict[str, Any]) -> ResourcePattern:
    """The inverse of ``pattern_side``."""
    return ResourcePattern(ResourceType[side["resourceType"]], side["name"], PatternType[side["patternType"]])


def origin_from(text: str | None) -> Origin | None:
    """The inverse of ``str(origin)``."""
    if text is None:
        return None
    file, line, column = text.rsplit(":", 2)
    return Origin(file, int(line), int(column))
