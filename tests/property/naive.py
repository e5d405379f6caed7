"""Kafka's authorizer read as slowly and plainly as possible: the judge of the laws, apart from the product's code."""

from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, PatternType, ResourceType

_DESCRIBED_BY = {"READ", "WRITE", "DELETE", "ALTER"}


class Ask(NamedTuple):
    """One request of one connection."""

    principal: str
    host: str
    operation: AclOperation
    resource_type: ResourceType
    name: str


def covers(binding: AclBinding, ask: Ask) -> bool:
    pattern = binding.pattern
    if pattern.resource_type != ask.resource_type:
        return False
    if pattern.pattern_type == PatternType.PREFIXED:
        return ask.name[: len(pattern.name)] == pattern.name
    return pattern.name in ("*", ask.name)


def applies(binding: AclBinding, ask: Ask) -> bool:
    entry = binding.entry
    if entry.principal not in (ask.principal, "User:*") or entry.host not in (ask.host, "*"):
        return False
    return _speaks_of(entry.operation, ask.operation, entry.permission_type)


@cache
def _speaks_of(entry_operation: AclOperation, asked: AclOperation, permission: AclPermissionType) -> bool:
    wanted, held = asked.name, entry_operation.name
    if held in ("ALL", wanted):
        return True
    if permission == AclPermissionType.DENY:
        return False
    return (wanted == "DESCRIBE" and held in _DESCRIBED_BY) or (
        wanted == "DESCRIBE_CONFIGS" and held == "ALTER_CONFIGS"
    )


def permitted(bindings: Collection[AclBinding], ask: Ask, *, default_allow: bool) -> bool:
    candidates = [binding for binding in bindings if covers(binding, ask)]
    if not candidates:
        return default_allow
    deciding = [binding.entry.permission_type for binding in candidates if applies(binding, ask)]
    return AclPermissionType.DENY not in deciding and AclPermissionType.ALLOW in deciding
