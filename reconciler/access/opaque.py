"""Entries of kinds that the Kafka client cannot name: everything that each could mean, as bindings.

An answer that one of them could change is undecided. An entry whose codes are all known is an ordinary binding.
"""

from collections.abc import Iterator
from itertools import product

from reconciler.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)

_TYPES = tuple(kind for kind in ResourceType if kind >= ResourceType.TOPIC)
_PERMISSIONS = (AclPermissionType.DENY, AclPermissionType.ALLOW)
_PATTERN_TYPES = (PatternType.LITERAL, PatternType.PREFIXED)


def as_binding(entry: OpaqueBinding) -> AclBinding | None:
    """The binding that an entry is, or ``None`` if a code is lost or newer than this version knows."""
    # No binding has the code 0, so what is lost is refused as what is newer.
    kind, pattern_type, operation, permission = (
        code or 0 for code in (entry.resource_type, entry.pattern_type, entry.operation, entry.permission_type)
    )
    try:
        pattern = ResourcePattern(ResourceType(kind), entry.name, PatternType(pattern_type))
        rule = AclOperation(operation), AclPermissionType(permission)
        return AclBinding(pattern, AccessControlEntry(entry.principal, entry.host, *rule))
    except ValueError:
        return None


def widest(entry: OpaqueBinding) -> Iterator[AclBinding]:
    """Bindings that together cover every request that the entry could decide, whatever its lost codes are."""
    # A principal without a colon makes brokers fail for every principal (StandardAcl.parsePrincipal).
    principal = entry.principal if ":" in entry.principal else WILDCARD_PRINCIPAL
    permissions = [kind for kind in _PERMISSIONS if kind == entry.permission_type] or _PERMISSIONS
    known = [kind for kind in AclOperation if kind >= AclOperation.ALL and kind == entry.operation]
    for kind in [kind for kind in _TYPES if kind == entry.resource_type] or _TYPES:
        operation = known[0] if known else AclOperation.ALL
        for pattern, permission in product(_widest_patterns(entry, kind), permissions):
            yield AclBinding(pattern, AccessControlEntry(principal, entry.host, operation, permission))


def covering(entry: OpaqueBinding) -> Iterator[AclBinding]:
    """A binding that covers exactly what the entry covers, if its pattern is known."""
    if entry.resource_type in _TYPES and entry.pattern_type in _PATTERN_TYPES and entry.name:
        yield next(widest(entry))


def _widest_patterns(entry: OpaqueBinding, kind: ResourceType) -> tuple[ResourcePattern, ...]:
    if entry.pattern_type in _PATTERN_TYPES and entry.name:
        return (ResourcePattern(kind, entry.name, PatternType(entry.pattern_type)),)
    if entry.pattern_type is None and entry.name and entry.name != WILDCARD:
        return (ResourcePattern(kind, entry.name, PatternType.PREFIXED),)
    # Every name takes two patterns: LITERAL * does not match names that begin with an asterisk and are longer.
    return ResourcePattern(kind, WILDCARD), ResourcePattern(kind, WILDCARD, PatternType.PREFIXED)
