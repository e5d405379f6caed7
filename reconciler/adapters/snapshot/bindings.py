"""The bindings of a snapshot, grouped by pattern: rows ``[principal, host, permission, operation, …]``.

150,000 bindings as single objects would repeat the names of the fields and the pattern 150,000 times. Groups and rows
are read and written one at a time, because a snapshot may hold a million bindings.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from reconciler.codec import TEXT, Codec, Lines, Record, SchemaError, field, record, unexpected
from reconciler.codec.values import NAME, OPERATION, PATTERN_TYPE, PERMISSION, RESOURCE_TYPE
from reconciler.model import AccessControlEntry, AclBinding, PatternType, ResourcePattern, ResourceType

_ENTRIES: Final = "entries"
_PERMISSION: Final = PERMISSION.write
_OPERATION: Final = OPERATION.write


class Group(NamedTuple):
    """The entries of one pattern: one after another where they are written, by row where they were read."""

    pattern: ResourcePattern
    entries: Iterable[Any]


def bindings_codec(*, closed: bool) -> Codec[frozenset[AclBinding]]:
    """The codec of ``acls``; ``closed`` refuses fields that this version does not know."""
    group = _group_codec(closed=closed)

    def read(value: Any) -> frozenset[AclBinding]:
        if value.__class__ is not list:
            raise unexpected("an array", value)
        found: set[AclBinding] = set()
        for index, item in enumerate(value):
            try:
                _add(found, group.read(item))
            except SchemaError as error:
                raise error.inside(index) from None
        return frozenset(found)

    def write(bindings: frozenset[AclBinding]) -> Lines:
        # Sorted by pattern first and then within each: half the time of sorting a million bindings at once.
        groups: defaultdict[ResourcePattern, list[AccessControlEntry]] = defaultdict(list)
        for pattern, entry in bindings:
            groups[pattern].append(entry)
        return Lines(group.write(Group(pattern, sorted(groups[pattern]))) for pattern in sorted(groups))

    return Codec(read, write, {"type": "array", "items": group.schema})


def _group_codec(*, closed: bool) -> Record[Group]:
    return record(
        _group,
        field("resourceType", RESOURCE_TYPE, "The type of resource.", "TOPIC", attr="pattern.resource_type"),
        field("patternType", PATTERN_TYPE, "How the name is compared.", "LITERAL", attr="pattern.pattern_type"),
        field("name", NAME, "The name.", "orders", attr="pattern.name"),
        field(
            _ENTRIES,
            _ROWS,
            "Sorted rows of principal, host, permission, and one or more operations in the order of their codes.",
        ),
        closed=closed,
    )


def _group(
    resource_type: ResourceType, pattern_type: PatternType, name: str, entries: Iterable[list[AccessControlEntry]]
) -> Group:
    return Group(ResourcePattern(resource_type, name, pattern_type), entries)


def _add(found: set[AclBinding], group: Group) -> None:
    for index, row in enumerate(group.entries):
        for entry in row:
            binding = AclBinding(group.pattern, entry)
            if binding in found:
                raise SchemaError(f"{binding} occurs twice").inside(index).inside(_ENTRIES)
            found.add(binding)


def _read_rows(value: Any) -> list[list[AccessControlEntry]]:
    if value.__class__ is not list:
        raise unexpected("an array", value)
    found: list[list[AccessControlEntry]] = []
    try:
        for row in value:
            found.append(_read_row(row))  # noqa: PERF401 - its length is the place of an error
    except SchemaError as error:
        raise error.inside(len(found)) from None
    return found


def _read_row(row: Any) -> list[AccessControlEntry]:
    if row.__class__ is not list:
        raise unexpected("an array", row)
    if len(row) < 4:
        raise SchemaError("a row is [principal, host, permission, operation, …]")
    principal, host, permission = TEXT.read(row[0]), TEXT.read(row[1]), PERMISSION.read(row[2])
    return [AccessControlEntry(principal, host, OPERATION.read(name), permission) for name in row[3:]]


def _write_rows(entries: Iterable[AccessControlEntry]) -> Lines:
    """The entries of one pattern, in their order, by principal, host and permission."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for principal, host, operation, permission in entries:
        row = principal, host, _PERMISSION(permission)
        if row in rows:
            rows[row].append(_OPERATION(operation))
        else:
            rows[row] = [*row, _OPERATION(operation)]
    return Lines(tuple(rows[row]) for row in sorted(rows))


_ROWS: Final[Codec[Iterable[Any]]] = Codec(
    _read_rows,
    _write_rows,
    {
        "type": "array",
        "items": {
            "type": "array",
            "minItems": 4,
            "items": [TEXT.schema, TEXT.schema, PERMISSION.schema],
            "additionalItems": OPERATION.schema,
        },
    },
)
