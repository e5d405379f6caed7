"""Where a plan needs bridges under default-allow: what they keep open, and what they cannot.

The first binding on an uncovered resource closes it for everyone, the last one that goes opens it. Between that and
their own binding, those whom both states permit would be refused. A bridge, ``ALLOW User:* ALL`` from before the first
step until after the last, leaves the resource as open as one of the two states has it, less what is denied: on each
pattern that shares no name with a pattern of the other state, and on each other existing name whose coverage changes.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import groupby
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model.acl import WILDCARD, AclBinding, AclPermissionType, PatternType, ResourcePattern, ResourceType
from reconciler.model.listing import Change
from reconciler.model.markers import BRIDGED_TYPES, bridge_on
from reconciler.model.scope import Selector, is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan import overlap
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings, touched_binding
from reconciler.plan.kinds.topic import created_topics, deleted_topics
from reconciler.plan.observed import Facts
from reconciler.plan.phase import Phase, barriers
from reconciler.plan.proposal import Plan, Terms, bindings_after
from reconciler.plan.step import Bridge, Bridges, Means, Side, Step, Unbridged

_NEW_NAMES: Final = "names that do not exist yet cannot be bridged"
_UNKNOWN_NAMES: Final = "which names exist is not known, so none can be bridged"
_BREAKING: Final = "brokers may fail or hang on a binding whose name begins so"
_HIDDEN_NAMES: Final = "topics may be hidden from us, and those cannot be bridged"
_NO_PROBE: Final = "without a barrier probe default-allow cannot be observed, so nothing is bridged"
_OPAQUE: Final = "ACLs of kinds that the client cannot name hide default-allow from the probe, so nothing is bridged"
#: The names of the topics by which a probe observes default-allow, one of each run.
_ASKED: Final = ResourcePattern(ResourceType.TOPIC, "__kr-flag.", PatternType.PREFIXED)


def bridges(live: ClusterState, steps: Sequence[Step], terms: Terms) -> Bridges:
    """What performing ``steps`` on ``live`` needs; ``live`` holds every existing topic and no bridge of a run."""
    if terms.default_allow is not True:
        return Bridges()
    before, opaque = live.bindings, set(overlap.opaque_patterns(live))
    after = bindings_after(before, steps)
    old = overlap.covering_patterns(live)
    new = {*opaque, *(binding.pattern for binding in after)}
    change = overlap.coverage_change(old, new)
    ground = _Ground(live, terms, steps)
    olds, news = overlap.pattern_indexes(old), overlap.pattern_indexes(new)
    needs = [
        *_Sweep(ground, Side.CLOSING, change.closed, olds, _Holders(after, olds)).results(),
        *_Sweep(ground, Side.OPENING, change.opened, news, _Holders(before, news)).results(),
    ]
    # Apply cannot see whether default-allow is on, so it would keep or drop a bridge by guess: say that none protects.
    if (reason := _unobservable(live, old, terms)) is not None:
        needs = [
            Unbridged(item.pattern, item.side, reason, item.principals) if isinstance(item, Bridge) else item
            for item in needs
        ]
    # A name may change coverage by a binding on itself and by one on a prefix: it is told once.
    return Bridges(
        tuple(sorted({item for item in needs if isinstance(item, Bridge)})),
        tuple(sorted({item for item in needs if isinstance(item, Unbridged)})),
    )


def _unobservable(live: ClusterState, covering: Iterable[ResourcePattern], terms: Terms) -> str | None:
    """Why no run could observe default-allow now, so that it would put up no bridge."""
    if terms.probe is None:
        return _NO_PROBE
    # As the probe does: it asks about a topic that nothing covers, and then covers it.
    if live.opaque:
        return _OPAQUE
    hiding = min((pattern for pattern in covering if pattern.contains(_ASKED)), default=None)
    return None if hiding is None else f"bindings on {hiding} hide default-allow from the probe, so nothing is bridged"


class _Holders:
    """Who holds an ALLOW on names of a pattern that no pattern of the other state covers."""

    def __init__(self, bindings: Iterable[AclBinding], other: dict[ResourceType, overlap.PatternIndex]) -> None:
        self._other = other
        self._principals: dict[ResourcePattern, set[str]] = {}
        for binding in bindings:
            if binding.entry.permission_type is AclPermissionType.ALLOW:
                self._principals.setdefault(binding.pattern, set()).add(binding.entry.principal)
        self._indexes = overlap.pattern_indexes(self._principals)

    def on(self, pattern: ResourcePattern) -> tuple[str, ...]:
        other = self._other.get(pattern.resource_type, overlap.NO_PATTERNS)
        meeting = self._indexes.get(pattern.resource_type, overlap.NO_PATTERNS).overlapping(pattern)
        return tuple(sorted({name for own in meeting if not other.contains(own) for name in self._principals[own]}))


@dataclass(slots=True)
class _Ground:
    """What may be bridged at all: existing names, the declaration's limits, and what the plan does itself."""

    live: ClusterState
    terms: Terms
    steps: Sequence[Step]
    names: dict[ResourceType, list[str]] = field(init=False)
    created: set[AclBinding] = field(init=False)
    deleted: set[AclBinding] = field(init=False)
    #: Topics that come or go with the plan: a bridge would open them to everyone before they are fit for it.
    moving: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = {ResourceType.TOPIC: sorted({*self.live.topics, *self.live.unreadable_topics})}
        if self.live.groups is not None:
            self.names[ResourceType.GROUP] = sorted(self.live.groups)
        self.created = set(created_bindings(step.change for step in self.steps))
        self.deleted = set(deleted_bindings(step.change for step in self.steps))
        changes = [step.change for step in self.steps]
        self.moving = {topic.name: "creates" for topic in created_topics(changes)}
        self.moving |= {topic.name: "deletes" for topic in deleted_topics(changes)}

    def existing(self, pattern: ResourcePattern) -> Iterator[str]:
        names = self.names.get(pattern.resource_type, [])
        if pattern.pattern_type is PatternType.PREFIXED:
            for index in range(bisect_left(names, pattern.name), len(names)):
                if not names[index].startswith(pattern.name):
                    return
                yield names[index]
        elif pattern.is_wildcard:
            yield from names

    def barred(self, pattern: ResourcePattern) -> str | None:
        """Why ``pattern`` may not be bridged."""
        facts, scope = self.terms.facts, self.terms.scope
        # ALLOW ALL on the cluster would let everyone alter ACLs: lockout protection keeps us and brokers in instead.
        if pattern.resource_type is ResourceType.CLUSTER:
            return "the cluster itself is never bridged"
        if pattern.resource_type not in BRIDGED_TYPES:
            return f"{pattern.resource_type.name} resources are never bridged"
        if any(_speaks_of(selector, pattern) for selector in facts.protect):
            return "protected names are never bridged"
        if any(_speaks_of(selector, pattern) for selector in (*scope.exclude, *scope.ignore)):
            return "names that are excluded or ignored are never bridged"
        if scope.include is not None and not any(_includes(selector, pattern) for selector in scope.include):
            return "names out of scope are never bridged"
        if pattern.resource_type is ResourceType.TOPIC and (name := self._moved(pattern)) is not None:
            return f"the plan {self.moving[name]} topic {name}, which nobody else shall see meanwhile"
        return None

    def _moved(self, pattern: ResourcePattern) -> str | None:
        if pattern.pattern_type is PatternType.LITERAL and not pattern.is_wildcard:
            return pattern.name if pattern.name in self.moving else None
        return next((name for name in self.moving if pattern.matches(name)), None)


@dataclass(slots=True)
class _Sweep:
    """One direction: ``changing`` patterns, the other state's patterns, and who holds what on the covered side."""

    ground: _Ground
    side: Side
    changing: Sequence[ResourcePattern]
    other: dict[ResourceType, overlap.PatternIndex]
    holders: _Holders

    def results(self) -> Iterator[Bridge | Unbridged]:
        whole: set[ResourcePattern] = set()
        partly: list[tuple[ResourcePattern, str]] = []
        # A bridge on a wide pattern keeps the patterns inside it open too, so those come later and need none.
        for pattern in sorted(self.changing, key=_widest_first):
            if not whole.isdisjoint(_containing(pattern)):
                continue
            reason = self.ground.barred(pattern) or self._met(pattern)
            if reason is None:
                whole.add(pattern)
                yield self._bridge(pattern)
            else:
                partly.append((pattern, reason))
        names: set[ResourcePattern] = set()
        for pattern, reason in partly:
            if self._is_unborn(pattern):
                continue
            yield Unbridged(pattern, self.side, reason, self.holders.on(pattern))
            names.update(self._names(pattern))
        yield from self._single({name for name in names if whole.isdisjoint(_containing(name))})

    def _met(self, pattern: ResourcePattern) -> str | None:
        """Why the whole of a pattern cannot be bridged that shares names with the other state."""
        index = self.other.get(pattern.resource_type, overlap.NO_PATTERNS)
        if not any(True for _ in index.overlapping(pattern)):
            return None
        if pattern.resource_type not in self.ground.names:
            return _UNKNOWN_NAMES
        hidden = pattern.resource_type is ResourceType.TOPIC and self.ground.live.topic_gap
        return _HIDDEN_NAMES if hidden else _NEW_NAMES

    def _is_unborn(self, pattern: ResourcePattern) -> bool:
        """Whether it is the name of a topic that the plan creates: nobody uses it yet."""
        single = pattern.resource_type is ResourceType.TOPIC and pattern.pattern_type is PatternType.LITERAL
        return single and self.ground.moving.get(pattern.name) == "creates"

    def _names(self, pattern: ResourcePattern) -> Iterator[ResourcePattern]:
        """Existing names under a pattern whose coverage changes."""
        index = self.other.get(pattern.resource_type, overlap.NO_PATTERNS)
        for name in self.ground.existing(pattern):
            literal = ResourcePattern(pattern.resource_type, name)
            if not is_reserved(name) and not index.contains(literal):
                yield literal

    def _single(self, names: set[ResourcePattern]) -> Iterator[Bridge | Unbridged]:
        for pattern in names:
            reason = self.ground.barred(pattern) or (_BREAKING if pattern.name <= WILDCARD else None)
            if reason is None:
                yield self._bridge(pattern)
            else:
                yield Unbridged(pattern, self.side, reason, self.holders.on(pattern))

    def _bridge(self, pattern: ResourcePattern) -> Bridge:
        binding, means = bridge_on(pattern), Means.BRIDGE
        if self.side is Side.CLOSING and binding in self.ground.created:
            means = Means.CREATED_FIRST
        elif self.side is Side.OPENING and binding in self.ground.deleted:
            means = Means.DELETED_LAST
        return Bridge(pattern, self.side, means, self.holders.on(pattern))


def _widest_first(pattern: ResourcePattern) -> tuple[bool, bool, int, ResourcePattern]:
    return not pattern.is_wildcard, pattern.pattern_type is PatternType.LITERAL, len(pattern.name), pattern


def _containing(pattern: ResourcePattern) -> Iterator[ResourcePattern]:
    """Every pattern that contains ``pattern``, itself included."""
    yield pattern
    if not pattern.name.startswith(WILDCARD):  # it does not cover longer names that begin so
        yield ResourcePattern(pattern.resource_type, WILDCARD)
    if not pattern.is_wildcard:
        for length in range(1, len(pattern.name) + 1):
            yield ResourcePattern(pattern.resource_type, pattern.name[:length], PatternType.PREFIXED)


def _speaks_of(selector: Selector, pattern: ResourcePattern) -> bool:
    if selector.names is None or selector.resource_type is not pattern.resource_type:
        return False
    return any(own.overlaps(pattern) for own in selector.names.patterns(pattern.resource_type))


def _includes(selector: Selector, pattern: ResourcePattern) -> bool:
    """An item that speaks of principals only includes every name that they have bindings on."""
    if selector.names is None:
        return True
    if selector.resource_type is not pattern.resource_type:
        return False
    return any(own.contains(pattern) for own in selector.names.patterns(pattern.resource_type))


# Lockout protection: what is created before, and deleted after, everything else on the cluster resource itself.
#
# Under default-allow the first binding on the cluster shuts out whoever has none there: us, and the brokers. A bridge
# on it would let everyone alter ACLs, so our own ALLOWs and theirs come first instead, in one request; where the last
# binding on it goes, they go last.


def lockout_protection(
    changes: Iterable[Change], live: ClusterState, facts: Facts, *, default_allow: bool | None
) -> frozenset[AclBinding]:
    """ALLOWs of ours and of brokers on the cluster that frame the plan; none unless default-allow is declared on.

    The same for a plan that was begun and is resumed: what it does itself is not counted as there before.
    """
    if default_allow is not True:
        return frozenset()
    all_changes = list(changes)
    created = {binding for binding in created_bindings(all_changes) if _on_cluster(binding.pattern)}
    deleted = {binding for binding in deleted_bindings(all_changes) if _on_cluster(binding.pattern)}
    others = {binding.pattern for binding in live.bindings - created - deleted}
    kept = any(map(_on_cluster, (*others, *overlap.opaque_patterns(live))))
    if kept or bool(created) is bool(deleted):  # covered on both sides, or on none
        return frozenset()
    ours = {*facts.inter_broker_principals, *([facts.principal] if facts.principal else [])}
    return frozenset(
        binding
        for binding in created or deleted
        if binding.entry.principal in ours and binding.entry.permission_type is AclPermissionType.ALLOW
    )


def _on_cluster(pattern: ResourcePattern) -> bool:
    return pattern.resource_type is ResourceType.CLUSTER


# In which order a run goes.


def stages(steps: Sequence[Step], moved: Collection[AclBinding] | None) -> list[tuple[Phase, list[Step]]]:
    """The steps by phase. ``moved`` are those whose binding serves as a bridge: performed first, or last.

    ``None``: the run builds no bridge. Otherwise there is a phase before, and one after, everything else.
    """
    if moved is None:
        return [(phase, list(group)) for phase, group in groupby(steps, key=lambda step: step.phase)]
    by_phase: dict[Phase, list[Step]] = {Phase.CREATE_FIRST: [], Phase.DELETE_LAST: []}
    for step in steps:
        phase = step.phase
        if touched_binding(step.change) in moved:
            phase = Phase.CREATE_FIRST if step.change.before is None else Phase.DELETE_LAST
        by_phase.setdefault(phase, []).append(step)
    return sorted(by_phase.items(), key=lambda stage: stage[0])


# After which phases apply may have to wait for every broker.


def possible_barriers(plan: Plan) -> tuple[Phase, ...]:
    """After which phases there may be a barrier: those that the steps call for, and those that only bridges do."""
    phases = {step.phase for step in plan.steps}
    return barriers({*phases, Phase.CREATE_FIRST, Phase.DELETE_LAST}) if plan.bridges.wanted else plan.barriers
