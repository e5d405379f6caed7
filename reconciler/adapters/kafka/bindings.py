"""ACL bindings as rows of wire codes, and which of them the Kafka client can carry."""

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from reconciler.adapters.kafka.limits import text_problem
from reconciler.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)

#: principal, host, operation, permission type.
EntryRow: TypeAlias = tuple[str, str, int | None, int | None]
#: resource type, name, pattern type, entries; a code is ``None`` if the reader lost it.
ResourceRow: TypeAlias = tuple[int | None, str, int | None, list[EntryRow]]

_TYPES: Final = {
    int(t): t for t in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID)
}
_PATTERNS: Final = {int(p): p for p in (PatternType.LITERAL, PatternType.PREFIXED)}
_OPERATIONS: Final = {int(o): o for o in AclOperation if AclOperation.ALL <= o <= AclOperation.IDEMPOTENT_WRITE}
_PERMISSIONS: Final = {int(p): p for p in (AclPermissionType.DENY, AclPermissionType.ALLOW)}


class ListedAcls(NamedTuple):
    """The ACLs of a listing: bindings, and entries of kinds that the client cannot write back."""

    bindings: frozenset[AclBinding]
    opaque: tuple[OpaqueBinding, ...]


def unsupported_by_client(binding: AclBinding) -> str | None:
    """Why confluent-kafka cannot carry ``binding``, or ``None`` if it can (librdkafka's ACL enums end at 5 and 12).

    It passes C strings on, so a text with a NUL character would be sent as a different, shorter text.
    """
    resource_type, operation = binding.pattern.resource_type, binding.entry.operation
    if resource_type not in _TYPES:
        return f"the Kafka client cannot carry ACLs on {resource_type.name} resources"
    if operation not in _OPERATIONS:
        return f"the Kafka client cannot carry the operation {operation.name}"
    return text_problem(binding.pattern.name, binding.entry.principal, binding.entry.host)


def read_rows(rows: Iterable[ResourceRow]) -> ListedAcls:
    """Rows as bindings. An entry that the client could not write back becomes opaque, so that no plan touches it.

    The reader that produced the rows does not change what is opaque, only how much is known about it.
    """
    bindings: set[AclBinding] = set()
    opaque: list[OpaqueBinding] = []
    entries: dict[EntryRow, AccessControlEntry | None] = {}
    for resource_type, name, pattern_type, entry_rows in rows:
        pattern = _pattern(resource_type, name, pattern_type)
        for row in entry_rows:
            # Entries repeat on many resources; sharing the objects saves time and memory on large listings.
            if row not in entries:
                entries[row] = _entry(row)
            entry = entries[row]
            if pattern is None or entry is None:
                opaque.append(OpaqueBinding(name, row[0], row[1], resource_type, pattern_type, row[2], row[3]))
            else:
                bindings.add(AclBinding(pattern, entry))
    return ListedAcls(frozenset(bindings), tuple(opaque))


def _pattern(resource_type: int | None, name: str, pattern_type: int | None) -> ResourcePattern | None:
    known_type, known_pattern = _TYPES.get(resource_type or 0), _PATTERNS.get(pattern_type or 0)
    if known_type is None or known_pattern is None or not name or text_problem(name):
        return None
    return ResourcePattern(known_type, name, known_pattern)


def _entry(row: EntryRow) -> AccessControlEntry | None:
    principal, host, operation, permission = row
    known_operation, known_permission = _OPERATIONS.get(operation or 0), _PERMISSIONS.get(permission or 0)
    if known_operation is None or known_permission is None or text_problem(principal, host):
        return None
    return AccessControlEntry(principal, host, known_operation, known_permission)
