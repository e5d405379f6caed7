"""Bindings that share a request: the same resource type, patterns that share a name, principals and hosts that meet.

An index, because one failed request of 1,000 must not cost a comparison with every later step.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator

from reconciler.model import WILDCARD, WILDCARD_PRINCIPAL, AclBinding, PatternType, ResourcePattern, ResourceType
from reconciler.model.addresses import hosts_meet


def entries_meet(a: AclBinding, b: AclBinding, *, any_entry: bool) -> bool:
    """Whether some connection may match both entries; operations are not compared, for ALL and implication.

    Ranges of hosts count as such for brokers of every release: to those before 4.4 they only hold back more.

    With ``any_entry`` they always meet: a resource is covered by a binding of any principal and any host.
    """
    if any_entry:
        return True
    principals = a.entry.principal, b.entry.principal
    if principals[0] != principals[1] and WILDCARD_PRINCIPAL not in principals:
        return False
    return hosts_meet(a.entry.host, b.entry.host)


class PatternIndex:
    """Patterns of one resource type, asked for those that share a name with another."""

    def __init__(self, names: Iterable[ResourcePattern]) -> None:
        """Keep literals and prefixes sorted; ``*`` apart."""
        patterns = set(names)
        self._wildcard = [pattern for pattern in patterns if pattern.is_wildcard]
        self._literal = sorted(p for p in patterns if p.pattern_type is PatternType.LITERAL and not p.is_wildcard)
        self._prefix = {p.name: p for p in patterns if p.pattern_type is PatternType.PREFIXED}
        self._prefix_names = sorted(self._prefix)
        self._literal_names = [pattern.name for pattern in self._literal]

    def overlapping(self, pattern: ResourcePattern) -> Iterator[ResourcePattern]:
        """Every pattern here that some name matches together with ``pattern``."""
        yield from self._wildcard
        if pattern.is_wildcard:
            yield from self._literal
            yield from self._prefix.values()
            return
        name = pattern.name
        # A name has few beginnings and an index may have many prefixes: so each beginning is looked up.
        for length in range(1, len(name)):
            if (shorter := self._prefix.get(name[:length])) is not None:
                yield shorter
        if pattern.pattern_type is PatternType.LITERAL:
            yield from self._between(name, exact=True)
            if (same := self._prefix.get(name)) is not None:
                yield same
        else:
            yield from self._between(name, exact=False)
            yield from (self._prefix[found] for found in _starting(self._prefix_names, name))

    def _between(self, name: str, *, exact: bool) -> Iterator[ResourcePattern]:
        start = bisect_left(self._literal_names, name)
        for index in range(start, len(self._literal_names)):
            found = self._literal_names[index]
            if found != name if exact else not found.startswith(name):
                return
            yield self._literal[index]

    def contains(self, pattern: ResourcePattern) -> bool:
        """Whether one pattern here covers every name that ``pattern`` matches.

        A broker that looks for a name such as ``*x`` passes LITERAL ``*`` over (``StandardAuthorizerData``), so that
        does not cover it. No topic has such a name.
        """
        name = pattern.name
        below = name.startswith(WILDCARD) and pattern.resource_type is not ResourceType.TOPIC
        if self._wildcard and (pattern.is_wildcard or not below):
            return True
        if pattern.is_wildcard:
            return False
        if any(name[:length] in self._prefix for length in range(1, len(name) + 1)):
            return True
        return pattern.pattern_type is PatternType.LITERAL and any(True for _ in self._between(name, exact=True))


class OverlapIndex:
    """Bindings, asked for those that overlap another one."""

    def __init__(self, bindings: Iterable[AclBinding], *, any_entry: bool) -> None:
        """With ``any_entry`` (default-allow) bindings of different principals and hosts overlap too."""
        self._any_entry = any_entry
        self._by_pattern: dict[ResourcePattern, list[AclBinding]] = defaultdict(list)
        for binding in bindings:
            self._by_pattern[binding.pattern].append(binding)
        self._patterns = pattern_indexes(self._by_pattern)

    def first(self, binding: AclBinding) -> AclBinding | None:
        """The smallest binding here that overlaps ``binding``, or ``None``."""
        return min(self.meeting(binding), default=None)

    def meeting(self, binding: AclBinding) -> Iterator[AclBinding]:
        """Every binding here that overlaps ``binding``."""
        index = self._patterns.get(binding.pattern.resource_type)
        for pattern in () if index is None else index.overlapping(binding.pattern):
            yield from (
                other for other in self._by_pattern[pattern] if entries_meet(binding, other, any_entry=self._any_entry)
            )


def pattern_indexes(patterns: Iterable[ResourcePattern]) -> dict[ResourceType, PatternIndex]:
    """One index for each resource type that occurs."""
    by_type: dict[ResourceType, list[ResourcePattern]] = defaultdict(list)
    for pattern in patterns:
        by_type[pattern.resource_type].append(pattern)
    return {resource_type: PatternIndex(found) for resource_type, found in by_type.items()}


def _starting(names: list[str], prefix: str) -> Iterator[str]:
    for index in range(bisect_left(names, prefix), len(names)):
        if not names[index].startswith(prefix):
            return
        yield names[index]


class TopicReach:
    """Whether some TOPIC pattern matches a name."""

    def __init__(self, patterns: Iterable[ResourcePattern]) -> None:
        """Index the TOPIC patterns among ``patterns``."""
        self._index = pattern_indexes(patterns).get(ResourceType.TOPIC)

    def reaches(self, name: str) -> bool:
        """Whether one of them matches ``name``."""
        return self._index is not None and self._index.contains(ResourcePattern(ResourceType.TOPIC, name))
