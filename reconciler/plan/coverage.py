"""Which patterns become covered or uncovered: what ``allow.everyone.if.no.acl.found`` turns into access.

A resource is covered if any binding's pattern matches it, of any principal, host, operation or permission. With
default-allow the first binding on an uncovered resource closes it for everyone else, and the last one that goes
opens it to everyone (``StandardAuthorizerData``). No finite set of longer names covers a prefix, so a pattern is
covered exactly if one other pattern contains it.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Annotated

from reconciler.codec import REQUIRED, Says
from reconciler.dataclass import dataclass
from reconciler.model import ClusterState, PatternType, ResourcePattern, ResourceType
from reconciler.plan.overlap import pattern_indexes


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
    known: dict[ResourceType, Collection[str]] = {}
    if live.topic_gap is None:
        known[ResourceType.TOPIC] = {*live.topics, *live.unreadable_topics}
    if live.groups is not None:
        known[ResourceType.GROUP] = live.groups
    return tuple(
        pattern
        for pattern in patterns
        if pattern.resource_type not in known or any(map(pattern.matches, known[pattern.resource_type]))
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
