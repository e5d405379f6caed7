"""Bindings that share a request: the same resource type, patterns that share a name, principals and hosts that meet.

An index, because one failed request of 1,000 must not cost a comparison with every later step.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import Annotated, Final

from reconciler.dataclass import dataclass
from reconciler.model.acl import WILDCARD, WILDCARD_PRINCIPAL, AclBinding, PatternType, ResourcePattern, ResourceType
from reconciler.model.addresses import hosts_meet
from reconciler.model.says import REQUIRED, Says
from reconciler.model.state import ClusterState


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
        """Keep literals and prefixes apart, and ``*``; they are sorted once somebody asks what is between two names."""
        single: dict[str, ResourcePattern] = {}
        self._prefix: dict[str, ResourcePattern] = {}
        for pattern in names:
            (single if pattern.pattern_type is PatternType.LITERAL else self._prefix)[pattern.name] = pattern
        wildcard = single.pop(WILDCARD, None)
        self._wildcard = [] if wildcard is None else [wildcard]
        self._single = single

    @cached_property
    def _prefix_names(self) -> list[str]:
        return sorted(self._prefix)

    @cached_property
    def _literal_names(self) -> list[str]:
        return sorted(self._single)

    def overlapping(self, pattern: ResourcePattern) -> Iterator[ResourcePattern]:
        """Every pattern here that some name matches together with ``pattern``."""
        yield from self._wildcard
        if pattern.is_wildcard:
            yield from map(self._single.__getitem__, self._literal_names)
            yield from self._prefix.values()
            return
        name = pattern.name
        # A name has few beginnings and an index may have many prefixes: so each beginning is looked up.
        for length in range(1, len(name)):
            if (shorter := self._prefix.get(name[:length])) is not None:
                yield shorter
        if pattern.pattern_type is PatternType.LITERAL:
            yield from (same for of_form in (self._single, self._prefix) if (same := of_form.get(name)) is not None)
        else:
            yield from (self._single[longer] for longer in _starting(self._literal_names, name))
            yield from (self._prefix[longer] for longer in _starting(self._prefix_names, name))

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
        return pattern.pattern_type is PatternType.LITERAL and name in self._single


NO_PATTERNS: Final = PatternIndex(())


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
    return {resource_type: PatternIndex(of_type) for resource_type, of_type in by_type.items()}


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


# Which patterns become covered or uncovered: what ``allow.everyone.if.no.acl.found`` turns into access.
#
# A resource is covered if any binding's pattern matches it, of any principal, host, operation or permission. With
# default-allow the first binding on an uncovered resource closes it for everyone else, and the last one that goes
# opens it to everyone (``StandardAuthorizerData``). No finite set of longer names covers a prefix, so a pattern is
# covered exactly if one other pattern contains it.


@dataclass(frozen=True, slots=True)
class CoverageChange:
    """Patterns whose names get their first binding (``closed``) or lose their last one (``opened``), sorted."""

    closed: Annotated[
        tuple[ResourcePattern, ...], Says("Patterns that get their first binding.", default=REQUIRED)
    ] = ()
    opened: Annotated[
        tuple[ResourcePattern, ...], Says("Patterns that lose their last binding.", default=REQUIRED)
    ] = ()

    def __bool__(self) -> bool:
        """Whether anything depends on default-allow at all."""
        return bool(self.closed or self.opened)


def coverage_change(before: Iterable[ResourcePattern], after: Iterable[ResourcePattern]) -> CoverageChange:
    """Compare the names that two sets of patterns match."""
    old, new = set(before), set(after)
    return CoverageChange(closed=_not_in(new - old, old), opened=_not_in(old - new, new))


def _not_in(candidates: set[ResourcePattern], patterns: set[ResourcePattern]) -> tuple[ResourcePattern, ...]:
    if not candidates:
        return ()
    indexes = pattern_indexes(patterns)
    return tuple(
        sorted(
            pattern
            for pattern in candidates
            if (index := indexes.get(pattern.resource_type)) is None or not index.contains(pattern)
        )
    )


def perhaps_in_use(patterns: Iterable[ResourcePattern], live: ClusterState) -> tuple[ResourcePattern, ...]:
    """Those whose names somebody may use now: all but patterns of topics or groups that hold no existing name."""
    # Only a whole listing shows that nobody has such a name; of other types than these two Kafka lists no names.
    names: dict[ResourceType, Collection[str]] = {}
    if live.topic_gap is None:
        names[ResourceType.TOPIC] = {*live.topics, *live.unreadable_topics}
    if live.groups is not None:
        names[ResourceType.GROUP] = live.groups
    return tuple(
        pattern
        for pattern in patterns
        if pattern.resource_type not in names or any(map(pattern.matches, names[pattern.resource_type]))
    )


def covering_patterns(live: ClusterState) -> set[ResourcePattern]:
    """The patterns that cover a resource, those of opaque entries included where their codes are known."""
    return {*(binding.pattern for binding in live.bindings), *opaque_patterns(live)}


def opaque_patterns(live: ClusterState) -> Iterator[ResourcePattern]:
    """Patterns of entries that the client cannot name but whose codes it kept."""
    for entry in live.opaque:
        if entry.resource_type is None or entry.pattern_type is None or not entry.name:
            continue
        try:
            yield ResourcePattern(ResourceType(entry.resource_type), entry.name, PatternType(entry.pattern_type))
        except ValueError:  # a code that this version of Kafka's vocabulary does not have
            continue
