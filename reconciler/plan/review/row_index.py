"""Rows of an access difference by the names and hosts that they speak of.

Whoever has many must not be asked about one by one: 60 topics from 400 hosts each are 24,000 rows.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from reconciler.access import DifferenceRow, Region
from reconciler.model import PatternType, ResourcePattern, ResourceType
from reconciler.plan.overlap import pattern_indexes


class _RowsByHost:
    """Rows, asked for those that may hold for a connection from one host."""

    def __init__(self) -> None:
        self._rows: list[DifferenceRow] = []
        self._of_hosts: dict[str, list[DifferenceRow]] = defaultdict(list)
        self._of_many: list[DifferenceRow] = []

    def add(self, row: DifferenceRow) -> None:
        self._rows.append(row)
        if row.hosts.any_host or any("/" in label for label in row.hosts.listed):
            self._of_many.append(row)
        else:
            for label in row.hosts.listed:
                self._of_hosts[label].append(row)

    def of(self, host: str | None) -> Iterator[DifferenceRow]:
        if host is None:
            yield from self._rows
        else:
            yield from self._of_hosts.get(host, ())
            yield from self._of_many


class RowIndex:
    """Rows, asked for those that may share a name with a pattern; what a region leaves out is not looked at.

    With ``host``, an exact address, rows that hold only for other addresses are left out.
    """

    def __init__(self, rows: Iterable[DifferenceRow]) -> None:
        """Keep them by the pattern of their regions."""
        self._by_pattern: dict[ResourcePattern, _RowsByHost] = defaultdict(_RowsByHost)
        self._by_type: dict[ResourceType, _RowsByHost] = defaultdict(_RowsByHost)
        for row in rows:
            self._by_pattern[pattern_of(row.region)].add(row)
            self._by_type[row.region.resource_type].add(row)
        self._indexes = pattern_indexes(self._by_pattern)

    def overlapping(self, pattern: ResourcePattern, host: str | None = None) -> Iterator[DifferenceRow]:
        """Every row whose region's pattern has a name in common with ``pattern``."""
        index = self._indexes.get(pattern.resource_type)
        if index is not None:
            for found in index.overlapping(pattern):
                yield from self._by_pattern[found].of(host)

    def on(self, resource_type: ResourceType, host: str | None = None) -> Iterator[DifferenceRow]:
        """Every row about resources of a type."""
        if (found := self._by_type.get(resource_type)) is not None:
            yield from found.of(host)


def pattern_of(region: Region) -> ResourcePattern:
    """The pattern that matches a region's names, those that it leaves out included."""
    key = region.names
    if not key.text:
        return ResourcePattern(region.resource_type, "*")
    kind = PatternType.LITERAL if key.literal else PatternType.PREFIXED
    return ResourcePattern(region.resource_type, key.text, kind)
