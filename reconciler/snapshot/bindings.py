"""The bindings of a snapshot, grouped by pattern: rows ``[principal, host, permission, operation, …]``.

150,000 bindings as single objects would repeat the names of the fields and the pattern 150,000 times. Groups and rows
are read and written one at a time, because a snapshot may hold millions of bindings.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import repeat
from typing import Annotated, Any, Final, NamedTuple, cast

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import TEXT, Codec, Lines, SchemaError, unexpected
from reconciler.codec.objects import Record
from reconciler.codec.values import NAME, OPERATION, PATTERN_TYPE, PERMISSION, RESOURCE_TYPE
from reconciler.model.acl import AccessControlEntry, AclBinding, PatternType, ResourcePattern, ResourceType
from reconciler.model.says import Says
from reconciler.ports import NONE_KNOWN

_ENTRIES: Final = "entries"
_PERMISSION: Final = PERMISSION.write
_OPERATION: Final = OPERATION.write
_new_binding: Final = partial(tuple.__new__, AclBinding)
#: So many rows are remembered: those of one principal are near each other, as a rule.
_MOST_ROWS: Final = 1 << 10


class PatternGroup(NamedTuple):
    """The entries of one pattern: one after another where they are written, by row where they were read."""

    resource_type: Annotated[ResourceType, RESOURCE_TYPE, Says("The type of resource.", "TOPIC")]
    pattern_type: Annotated[PatternType, PATTERN_TYPE, Says("How the name is compared.", "LITERAL")]
    name: Annotated[str, NAME, Says("The name.", "orders")]
    entries: Annotated[
        Iterable[Any],
        Says("Sorted rows of principal, host, permission, and one or more operations in the order of their codes."),
    ]

    @property
    def pattern(self) -> ResourcePattern:
        """The pattern of all entries."""
        return ResourcePattern(self.resource_type, self.name, self.pattern_type)


def bindings_codec(*, closed: bool) -> Codec[frozenset[AclBinding]]:
    """The codec of ``acls``; ``closed`` refuses fields that this version does not know."""
    group = _group_codec(closed=closed)

    def read(value: Any) -> frozenset[AclBinding]:
        if value.__class__ is frozenset:  # no JSON: what read_items made of a file that is read bit by bit
            return cast("frozenset[AclBinding]", value)
        if value.__class__ is not list:
            raise unexpected("an array", value)
        try:
            return read_items(value, closed=closed)
        except SchemaError:
            return _read_in_order(value, group)

    def write(bindings: frozenset[AclBinding]) -> Lines:
        # Sorted by pattern first and then within each: half the time of sorting a million bindings at once.
        groups: defaultdict[ResourcePattern, list[AccessControlEntry]] = defaultdict(list)
        for pattern, entry in bindings:
            groups[pattern].append(entry)
        return Lines(
            group.write(PatternGroup(kind, form, name, sorted(groups[pattern])))
            for pattern in sorted(groups)
            for kind, name, form in [pattern]
        )

    return Codec(read, write, {"type": "array", "items": group.schema})


def read_items(
    items: Iterable[Any], *, closed: bool, known: Mapping[ResourcePattern, ResourcePattern] = NONE_KNOWN
) -> frozenset[AclBinding]:
    """The bindings of the items of ``acls``, asked for one at a time; patterns of ``known`` are these objects.

    Raises :class:`SchemaError`, which need not say what is wrong nor where.
    """
    read, count, same = _group_codec(_Rows().read, closed=closed).read, 0, known.get

    def bindings() -> Iterator[AclBinding]:
        nonlocal count
        for item in items:
            group = read(item)
            pattern = group.pattern
            pattern = same(pattern, pattern)
            for row in group.entries:
                count += len(row)
                # Without the constructor, which is a Python call for each of millions.
                yield from map(_new_binding, zip(repeat(pattern), row))

    # Not of a set, of which it would be a copy with twice the room.
    found = frozenset(bindings())
    if len(found) != count:
        raise SchemaError("a binding occurs twice")
    return found


def _read_in_order(items: list[Any], group: Record[PatternGroup]) -> frozenset[AclBinding]:
    """The same, raising :class:`SchemaError` with the first problem and its place."""
    found: set[AclBinding] = set()
    for index, item in enumerate(items):
        try:
            _add(found, group.read(item))
        except SchemaError as error:
            raise error.inside(index) from None
    return frozenset(found)


def _group_codec(read_rows: Callable[[Any], Iterable[Any]] | None = None, *, closed: bool) -> Record[PatternGroup]:
    entries = Codec(read_rows or _Rows().read, _write_rows, _SCHEMA)
    return record_of(PatternGroup, closed=closed, codecs={_ENTRIES: entries})


def _add(found: set[AclBinding], group: PatternGroup) -> None:
    pattern = group.pattern
    for index, row in enumerate(group.entries):
        for entry in row:
            binding = AclBinding(pattern, entry)
            if binding in found:
                raise SchemaError(f"{binding} occurs twice").inside(index).inside(_ENTRIES)
            found.add(binding)


class _Rows:
    """Reads rows; equal entries are one, and equal texts: of one principal there are hundreds."""

    __slots__ = ("_entries", "_known", "_texts")

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[AccessControlEntry, ...]] = {}
        self._entries: dict[AccessControlEntry, AccessControlEntry] = {}
        self._texts: dict[str, str] = {}

    def read(self, value: Any) -> list[tuple[AccessControlEntry, ...]]:
        if value.__class__ is not list:
            raise unexpected("an array", value)
        found: list[tuple[AccessControlEntry, ...]] = []
        try:
            for row in value:
                found.append(self._row(row))  # noqa: PERF401 - its length is the place of an error
        except SchemaError as error:
            raise error.inside(len(found)) from None
        return found

    def _row(self, row: Any) -> tuple[AccessControlEntry, ...]:
        if row.__class__ is not list:
            raise unexpected("an array", row)
        try:
            found = self._known.get(tuple(row))
        except TypeError:  # an array or an object, which is no text
            found = None
        return self._new_row(row) if found is None else found

    def _new_row(self, row: list[Any]) -> tuple[AccessControlEntry, ...]:
        if len(row) < 4:
            raise SchemaError("a row is [principal, host, permission, operation, …]")
        item = self._texts.setdefault
        principal, host, permission = TEXT.read(row[0]), TEXT.read(row[1]), PERMISSION.read(row[2])
        principal, host = item(principal, principal), item(host, host)
        entries = [AccessControlEntry(principal, host, OPERATION.read(name), permission) for name in row[3:]]
        found = tuple(map(self._entries.setdefault, entries, entries))
        if len(self._known) >= _MOST_ROWS:
            self._known.clear()
        self._known[principal, host, *[item(word, word) for word in row[2:]]] = found
        return found


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


_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "array",
    "items": {
        "type": "array",
        "minItems": 4,
        "items": [TEXT.schema, TEXT.schema, PERMISSION.schema],
        "additionalItems": OPERATION.schema,
    },
}
