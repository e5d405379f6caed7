"""Operations as bits: OR the masks of all entries that match a request, and every operation is decided at once.

A mask has three parts of 16 bits, with bit N for the operation with Kafka's code N: what ALLOWs name, what DENYs name
(shifted by 16), and what ALLOWs only imply (shifted by 32). A DENY never implies anything.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from reconciler.model.acl import SUPPORTED_OPERATIONS, AccessControlEntry, AclOperation, AclPermissionType, ResourceType
from reconciler.model.flavor import KafkaVersion

_O = AclOperation

#: The release whose rules hold where nothing else is known: ranges of hosts are texts.
ASSUMED_VERSION: Final[KafkaVersion] = (4, 3)

DENIED: Final = 16
IMPLIED: Final = 32
#: Every operation that a request can ask for.
OPERATIONS: Final = tuple(operation for operation in AclOperation if operation > _O.ALL)
EVERY: Final = sum(1 << operation for operation in OPERATIONS)

#: What an ALLOW of the key also grants (``StandardAuthorizerData.IMPLIES_DESCRIBE``, ``IMPLIES_DESCRIBE_CONFIGS``).
IMPLICATIONS: Final = {
    _O.READ: _O.DESCRIBE,
    _O.WRITE: _O.DESCRIBE,
    _O.DELETE: _O.DESCRIBE,
    _O.ALTER: _O.DESCRIBE,
    _O.ALTER_CONFIGS: _O.DESCRIBE_CONFIGS,
}


def bits(operations: Iterable[AclOperation]) -> int:
    """One bit for each operation; ALL stands for every one."""
    found = 0
    for operation in operations:
        found |= EVERY if operation is _O.ALL else 1 << operation
    return found


@lru_cache(maxsize=8_192)
def operations_in(mask: int) -> frozenset[AclOperation]:
    """The operations whose bits are set in the lowest part."""
    return frozenset(operation for operation in OPERATIONS if mask >> operation & 1)


def permitted(mask: int) -> int:
    """What a mask permits, as bits: named or implied by an ALLOW and not named by a DENY."""
    return (mask | mask >> IMPLIED) & ~(mask >> DENIED) & EVERY


def entry_mask(operation: AclOperation, permission_type: AclPermissionType) -> int:
    """The mask of one entry; see :data:`ENTRY_MASKS`."""
    named = bits([operation])
    if permission_type is AclPermissionType.DENY:
        return named << DENIED
    implied = IMPLICATIONS.get(operation)
    return named if implied is None else named | 1 << implied + IMPLIED


#: By permission type and operation: the mask of one entry.
ENTRY_MASKS: Final = {
    permission_type: tuple(
        entry_mask(operation, permission_type) if operation >= _O.ALL else 0 for operation in AclOperation
    )
    for permission_type in (AclPermissionType.DENY, AclPermissionType.ALLOW)
}

#: The same folded to one part: an entry allows, denies or implies these operations.
_ABOUT: Final = {
    kind: tuple((mask | mask >> DENIED | mask >> IMPLIED) & EVERY for mask in masks)
    for kind, masks in ENTRY_MASKS.items()
}


def about(entry: AccessControlEntry, mask: int) -> bool:
    """Whether an entry allows or denies one of the operations: by name, through ALL, or because an ALLOW implies it."""
    return bool(_ABOUT[entry.permission_type][entry.operation] & mask)


def supported(resource_type: ResourceType, version: KafkaVersion) -> frozenset[AclOperation]:
    """The operations that a broker of that release checks on a resource type (``AclEntry.supportedOperations``)."""
    known = SUPPORTED_OPERATIONS[resource_type]
    if version < (4, 1):
        known -= {_O.TWO_PHASE_COMMIT}
    if version < (4, 0) and resource_type is ResourceType.GROUP:
        known -= {_O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS}
    return known
