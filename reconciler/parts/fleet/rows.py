"""Bindings as rows: the seven fields with Kafka's wire codes, their buckets, and whether they are in scope.

Rows sort as tuples; texts sort by code point, which is the order of their UTF-8 bytes.
"""

import hashlib
import json
import zlib
from collections.abc import Iterable
from enum import IntEnum
from typing import Final, TypeAlias

from reconciler.codec.values import SCOPE
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.scope import Scope

#: resource type, name, pattern type, principal, host, operation, permission type
Row: TypeAlias = tuple[int, str, int, str, str, int, int]

COLUMNS: Final = (
    "resource_type",
    "name",
    "pattern_type",
    "principal",
    "host",
    "operation",
    "permission_type",
)
TEXT_COLUMNS: Final = frozenset({"name", "principal", "host"})
#: About the most rows of a bucket: a task holds that many in memory at once, on each side.
BUCKET_ROWS: Final = 131_072


_RESOURCE_TYPES: Final = {int(item): item for item in ResourceType}
_PATTERN_TYPES: Final = {int(item): item for item in PatternType}
_OPERATIONS: Final = {int(item): item for item in AclOperation}
_PERMISSIONS: Final = {int(item): item for item in AclPermissionType}


class ScopeMembership(IntEnum):
    """Whether a live binding is in a scope."""

    OUTSIDE = 0
    OWNED = 1
    IGNORED = 2


def row_of(binding: AclBinding) -> Row:
    """The seven fields of a binding."""
    (resource_type, name, pattern_type), (principal, host, operation, permission_type) = binding
    return (int(resource_type), name, int(pattern_type), principal, host, int(operation), int(permission_type))


def binding_of(row: Row) -> AclBinding:
    """The inverse of :func:`row_of`; raises ``ValueError`` for codes that no binding has."""
    resource_type, name, pattern_type, principal, host, operation, permission_type = row
    try:  # an enumeration takes three times as long to look a code up
        pattern = ResourcePattern(_RESOURCE_TYPES[resource_type], name, _PATTERN_TYPES[pattern_type])
        rule = _OPERATIONS[operation], _PERMISSIONS[permission_type]
    except KeyError as error:
        raise ValueError(f"no binding has the code {error}") from error
    return AclBinding(pattern, AccessControlEntry(principal, host, *rule))


def whose(scope: Scope, binding: AclBinding) -> ScopeMembership:
    """As :func:`reconciler.plan.diff` counts live bindings."""
    if scope.owns(binding):
        return ScopeMembership.OWNED
    return ScopeMembership.IGNORED if scope.ignores(binding) else ScopeMembership.OUTSIDE


def bucket_count(rows: int, most: int = BUCKET_ROWS) -> int:
    """A power of two, so that a bucket of a coarse division is a union of buckets of a finer one."""
    needed = max(1, -(-rows // most))
    return 1 << (needed - 1).bit_length()


def bucket_of(row: Row, buckets: int) -> int:
    """The bucket of a row, by name and principal, so that neither a popular topic nor a busy principal fills one."""
    return zlib.crc32(f"{row[1]}\0{row[3]}".encode()) % buckets


def in_buckets(rows: Iterable[Row], buckets: int) -> list[list[Row]]:
    """The rows of each bucket, each in order."""
    found: list[list[Row]] = [[] for _ in range(buckets)]
    for row in rows:
        found[bucket_of(row, buckets)].append(row)
    for part in found:
        part.sort()
    return found


# Digests of rows that do not depend on the engine.
#
# SHA-256 over the columns of the sorted rows, one after the other: of a text column the lengths in bytes (32 bits,
# little-endian) and then the UTF-8 bytes, of a code column one byte a row. No two different lists of rows have the
# same input. Arrow holds columns in just this form, so its buffers are hashed as they are.


def scope_digest(scope: Scope) -> str:
    """Equal if two readings used the same scope to tell owned, ignored and outside rows apart."""
    text = json.dumps(SCOPE.write(scope), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
