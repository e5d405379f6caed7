"""Bindings as rows: the seven fields with Kafka's wire codes, their buckets, and whether they are in scope.

Rows sort as tuples; texts sort by code point, which is the order of their UTF-8 bytes.
"""

import hashlib
import json
import zlib
from collections.abc import Iterable
from enum import IntEnum
from operator import itemgetter
from typing import Final, Generic, TypeAlias, TypeVar

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

T = TypeVar("T")

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
    """As :func:`reconciler.plan.kinds.diff` counts live bindings."""
    if scope.owns(binding):
        return ScopeMembership.OWNED
    return ScopeMembership.IGNORED if scope.ignores(binding) else ScopeMembership.OUTSIDE


def bucket_count(rows: int, most: int = BUCKET_ROWS) -> int:
    """A power of two, so that a bucket of a coarse division is a union of buckets of a finer one."""
    needed = max(1, -(-rows // most))
    return 1 << (needed - 1).bit_length()


def bucket_of(name: str, principal: str, buckets: int) -> int:
    """The bucket of a row: by both, so that neither a popular topic nor a busy principal fills one."""
    return zlib.crc32(f"{name}\0{principal}".encode()) % buckets


class BucketBindings(Generic[T]):
    """The bindings of one bucket, each with what is said of it. They become rows when they are asked for.

    A row takes ten times the room of a place in a list: of millions of bindings only one bucket's are there at once.
    """

    __slots__ = ("_beside", "_bindings")

    def __init__(self) -> None:
        """Empty."""
        self._bindings: list[AclBinding] = []
        self._beside: list[T] = []

    def add(self, binding: AclBinding, beside: T) -> None:
        """One more."""
        self._bindings.append(binding)
        self._beside.append(beside)

    def taken(self) -> tuple[list[Row], list[T]]:
        """The rows in order, and what is said of each; the part is empty then."""
        found = sorted(zip(map(row_of, self._bindings), self._beside, strict=True), key=itemgetter(0))
        self._bindings, self._beside = [], []
        return [row for row, _ in found], [beside for _, beside in found]


def in_buckets(bindings: Iterable[tuple[AclBinding, T]], buckets: int) -> list[BucketBindings[T]]:
    """The bindings of each bucket, with what is said of them; each binding is there once."""
    found: list[BucketBindings[T]] = [BucketBindings() for _ in range(buckets)]
    for binding, beside in bindings:
        (_, name, _), (principal, *_) = binding
        found[bucket_of(name, principal, buckets)].add(binding, beside)
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
