"""Rows of an access difference by the names that they speak of: whoever has many must not be asked about one by one."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from reconciler.access import DifferenceRow, Region
from reconciler.model import PatternType, ResourcePattern, ResourceType
from reconciler.plan.overlap import pattern_indexes


class RowIndex:
    """Rows, asked for those that may share a name with a pattern; what a region leaves out is not looked at."""

    def __init__(self, rows: Iterable[DifferenceRow]) -> None:
        """Keep them by the pattern of their regions."""
        self._by_pattern: dict[ResourcePattern, list[DifferenceRow]] = defaultdict(list)
        self._by_type: dict[ResourceType, list[DifferenceRow]] = defaultdict(list)
        for row in rows:
            self._by_pattern[pattern_of(row.region)].append(row)
            self._by_type[row.region.resource_type].append(row)
        self._indexes = pattern_indexes(self._by_pattern)

    def overlapping(self, pattern: ResourcePattern) -> Iterator[DifferenceRow]:
        """Every row whose region's pattern has a name in common with ``pattern``."""
        index = self._indexes.get(pattern.resource_type)
        if index is not None:
            for found in index.overlapping(pattern):
                yield from self._by_pattern[found]

    def on(self, resource_type: ResourceType) -> Sequence[DifferenceRow]:
        """Every row about resources of a type."""
        return self._by_type.get(resource_type, ())


def pattern_of(region: Region) -> ResourcePattern:
    """The pattern that matches a region's names, those that it leaves out included."""
    key = region.names
    if not key.text:
        return ResourcePattern(region.resource_type, "*")
    kind = PatternType.LITERAL if key.literal else PatternType.PREFIXED
    return ResourcePattern(region.resource_type, key.text, kind)
