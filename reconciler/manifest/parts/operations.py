"""The operations of a rule, checked against the resource types it names."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from reconciler.manifest.parts.fields import OPERATIONS
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, scalars
from reconciler.model import SUPPORTED_OPERATIONS, AclOperation, AclPermissionType, ResourceType

_PERMISSIONS = {"allow": AclPermissionType.ALLOW, "deny": AclPermissionType.DENY}
_TWICE = Trouble(Code.DUPLICATE_BINDING, "this operation is in the list twice", "remove one of them")


class Permission(NamedTuple):
    """What a rule permits or refuses."""

    permission_type: AclPermissionType
    operations: tuple[AclOperation, ...]


#: Mostly a few kinds of rules are written for thousands of principals.
_permission: Final = lru_cache(maxsize=256)(Permission)


def permission(rule: MappingNode, kinds: list[ResourceType], findings: Findings) -> Permission | None:
    """The operations under ``allow`` or ``deny``; ``None`` where there is neither.

    Unknown operations are left to the models.
    """
    for field, permission_type in _PERMISSIONS.items():
        if field not in rule.values:
            continue
        operations: dict[AclOperation, None] = {}
        for node in scalars(rule.values[field]):
            operation = OPERATIONS.get(node.plain)
            if operation is None:
                continue
            for kind in kinds:
                trouble = operation_problem(operation, kind)
                if trouble is not None:
                    findings.add(trouble, node)
            if operation in operations:
                findings.add(_TWICE, node)
            operations[operation] = None
        return _permission(permission_type, tuple(operations))
    return None


def named_operations(node: Node | None, kinds: Iterable[ResourceType], findings: Findings) -> tuple[AclOperation, ...]:
    """The operations of a field that claims or consents, each once; unknown ones are left to the models.

    One that a resource does not have is reported: a claim about it would hold, or fail, for no reason.
    """
    operations: dict[AclOperation, None] = {}
    for item in scalars(node):
        operation = OPERATIONS.get(item.plain)
        if operation is None:
            continue
        for kind in dict.fromkeys(kinds):
            trouble = operation_problem(operation, kind)
            if trouble is not None:
                findings.add(trouble, item)
        operations[operation] = None
    return tuple(operations)


def administration_problem(kind: ResourceType) -> Trouble | None:
    """Why nobody can administer such a resource; ``None`` if there is something to do but to describe it."""
    if SUPPORTED_OPERATIONS[kind] > {AclOperation.DESCRIBE}:
        return None
    message = f"{kind.name} has nothing to administer: nothing ever asks for more than DESCRIBE"
    return Trouble(Code.UNSUPPORTED_OPERATION, message, "remove it from this test")


def operation_problem(operation: AclOperation, kind: ResourceType) -> Trouble | None:
    """Why nothing ever asks for the operation on such a resource; ``None`` if it has it."""
    if operation is AclOperation.ALL or operation in SUPPORTED_OPERATIONS[kind]:
        return None
    supported = sorted(known.name for known in SUPPORTED_OPERATIONS[kind])
    message = f"{kind.name} has no operation {operation.name}: Kafka never checks it there"
    return Trouble(Code.UNSUPPORTED_OPERATION, message, f"it has {', '.join(supported)} and ALL")
