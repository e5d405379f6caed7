"""What each step contributes to a plan's access difference: a word for the line, and what already covers it.

A step is measured against the difference of the whole plan, not against the moment before it: replacing ten grants
by one prefix that permits the same is ten steps without effect, not ten revocations.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import Annotated, Final, TypeAlias

from reconciler.access.difference import DifferenceRow
from reconciler.access.hosts import is_dead
from reconciler.access.interpretation import Interpretation, Interpretations
from reconciler.access.lint.covering import covers
from reconciler.access.names import ASTERISK_NAMES, ResourceSet, has_names, literal, names_of
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    CLUSTER_NAME,
    IMPLICATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import DesiredState, Origin
from reconciler.model.flavor import KafkaVersion
from reconciler.model.says import REQUIRED, Says
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.overlap import OverlapIndex, PatternIndex, pattern_indexes
from reconciler.plan.review.access_change import Transition, pattern_of
from reconciler.plan.step import Step

# Rows of an access difference by the names and hosts that they speak of.
#
# Whoever has many must not be asked about one by one: 60 topics from 400 hosts each are 24,000 rows.


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
    """Rows, asked for those that may share a name with a pattern; what a resource set leaves out is not looked at.

    With ``host``, an exact address, rows that hold only for other addresses are left out.
    """

    def __init__(self, rows: Iterable[DifferenceRow]) -> None:
        """Keep them by the pattern of their resource sets."""
        self._by_pattern: dict[ResourcePattern, _RowsByHost] = defaultdict(_RowsByHost)
        self._by_type: dict[ResourceType, _RowsByHost] = defaultdict(_RowsByHost)
        for row in rows:
            self._by_pattern[pattern_of(row.resources)].add(row)
            self._by_type[row.resources.resource_type].add(row)
        self._indexes = pattern_indexes(self._by_pattern)

    def overlapping(self, pattern: ResourcePattern, host: str | None = None) -> Iterator[DifferenceRow]:
        """Every row whose resource set's pattern has a name in common with ``pattern``."""
        index = self._indexes.get(pattern.resource_type)
        if index is not None:
            for other in index.overlapping(pattern):
                yield from self._by_pattern[other].of(host)

    def on(self, resource_type: ResourceType, host: str | None = None) -> Iterator[DifferenceRow]:
        """Every row about resources of a type."""
        if (rows := self._by_type.get(resource_type)) is not None:
            yield from rows.of(host)


#: What CLUSTER grants on every topic (``ControllerApis``).
_ON_EVERY_TOPIC: Final = frozenset({AclOperation.CREATE, AclOperation.DELETE})
_Group: TypeAlias = tuple[ResourceType, str, AclPermissionType]


class EffectKind(StrEnum):
    """What an ACL step does to access, in the plan's final reckoning."""

    GRANT = "grant"
    REVOKE = "revoke"
    NARROWS = "narrows"
    #: Of a DENY next to a new ALLOW: nobody loses anything, for nobody had it, and the ALLOW grants less.
    NARROWS_NEW = "narrows-new"
    WIDENS = "widens"
    REDUNDANT = "redundant"
    NO_EFFECT = "no-effect"


@dataclass(frozen=True, slots=True)
class Effect:
    """A step's effect; ``covered_by`` is the binding that makes it redundant, ``origin`` where that is declared."""

    kind: Annotated[EffectKind, Says("What becomes of access.", "grant")]
    covered_by: Annotated[
        AclBinding | None,
        Says("The binding that grants or denies the same, or overrides it.", default=REQUIRED),
    ] = None
    origin: Annotated[
        Origin | None,
        Says("Where that binding is declared; null where it is not.", "acls.yaml:8:16", default=REQUIRED),
    ] = None


#: Those without a covering binding, one object each: reports compare the effects of neighbours.
_PLAIN: Final = {kind: Effect(kind) for kind in EffectKind}


def effects(steps: Sequence[Step], transition: Transition, desired: DesiredState) -> tuple[Effect | None, ...]:
    """One for each step of a transition, ``None`` for topics."""
    rows, covering = _TransitionRows(transition), _Covers(transition.after.interpretations)
    # A DENY that comes with its ALLOW in one plan changes nothing on its own; it narrows what the ALLOW would grant.
    created = [binding for step in steps if step.change.before is None and (binding := touched_binding(step.change))]
    allows = OverlapIndex((item for item in created if _allows(item)), any_entry=False)

    def of(step: Step) -> Effect | None:
        binding = touched_binding(step.change)
        if binding is None:
            return None
        new = step.change.before is None
        effect = _effect(binding, new, rows, covering, desired)
        if effect.kind is EffectKind.NO_EFFECT and new and _narrows(binding, allows, transition.after.kafka_version):
            return _PLAIN[EffectKind.NARROWS_NEW]
        return effect

    return tuple(map(of, steps))


def _allows(binding: AclBinding) -> bool:
    return binding.entry.permission_type is AclPermissionType.ALLOW


def _narrows(binding: AclBinding, allows: OverlapIndex, version: KafkaVersion) -> bool:
    """Whether a DENY takes from one of ``allows``."""
    if _allows(binding) or is_dead(binding.entry.host, version):
        return False
    denied = granted_operations(binding.entry.operation, AclPermissionType.DENY)
    return any(
        not denied.isdisjoint(granted_operations(allow.entry.operation, AclPermissionType.ALLOW))
        and not is_dead(allow.entry.host, version)
        for allow in allows.meeting(binding)
    )


def _effect(
    binding: AclBinding, created: bool, rows: "_TransitionRows", covering: "_Covers", desired: DesiredState
) -> Effect:
    allow = _allows(binding)
    # First: the last binding on a name takes from one principal and gives to all, and the line should say the worse.
    if not created and rows.opens(binding):
        return _PLAIN[EffectKind.WIDENS]
    if rows.touch(binding, gained=allow is created):
        match allow, created:
            case True, True:
                return _PLAIN[EffectKind.GRANT]
            case True, False:
                return _PLAIN[EffectKind.REVOKE]
            case False, True:
                return _PLAIN[EffectKind.NARROWS]
            case _:
                return _PLAIN[EffectKind.WIDENS]
    if created and rows.closes(binding):
        return _PLAIN[EffectKind.NARROWS]
    other = covering.cover(binding)
    if other is None:
        return _PLAIN[EffectKind.NO_EFFECT]
    declared = desired.bindings.get(other)
    return Effect(EffectKind.REDUNDANT, other, None if declared is None else declared.origin)


@cache
def granted_operations(operation: AclOperation, permission_type: AclPermissionType) -> frozenset[AclOperation]:
    """What an entry speaks of; ALLOW implies, DENY does not."""
    if operation is AclOperation.ALL:
        return frozenset(other for other in AclOperation if other > AclOperation.ALL)
    implied = IMPLICATIONS.get(operation) if permission_type is AclPermissionType.ALLOW else None
    return frozenset({operation} if implied is None else {operation, implied})


class _TransitionRows:
    """The rows of a transition by principal, asked whether a binding has a share in one."""

    def __init__(self, transition: Transition) -> None:
        self._transition = transition
        self._rows: dict[str | None, list[DifferenceRow]] = defaultdict(list)
        self._indexes: dict[str, RowIndex] = {}
        for row in transition.difference.all_rows():
            self._rows[row.principal].append(row)

    def touch(self, binding: AclBinding, *, gained: bool) -> bool:
        version = self._transition.after.kafka_version
        if is_dead(binding.entry.host, version):
            return False
        spoken = granted_operations(binding.entry.operation, binding.entry.permission_type)
        return any(
            _speaks_of(binding, spoken, row, row.gained if gained else row.lost)
            and row.hosts.may_meet(binding.entry.host, version)
            for row in self._near(binding, spoken)
        )

    def opens(self, binding: AclBinding) -> bool:
        """Whether names that it leaves are then, perhaps, open to everybody: more than it takes from one principal."""
        return _uncovered(self._transition.after.interpretations.most, binding)

    def closes(self, binding: AclBinding) -> bool:
        """Whether names that it comes to are, perhaps, open to everybody before."""
        return _uncovered(self._transition.before.interpretations.most, binding)

    def _near(self, binding: AclBinding, spoken: Set[AclOperation]) -> Iterator[DifferenceRow]:
        """The rows that a binding may have a share in; what CLUSTER grants on topics and the other way included."""
        index, host = self._of(binding.entry.principal), binding.entry.host
        item = None if host == WILDCARD or "/" in host else host
        yield from index.overlapping(binding.pattern, item)
        # There may be a row for each of hundreds of hosts, so they are looked at only if they can matter.
        kind = binding.pattern.resource_type
        if kind is ResourceType.CLUSTER and not spoken.isdisjoint(_ON_EVERY_TOPIC):
            yield from index.on(ResourceType.TOPIC, item)
        elif kind is ResourceType.TOPIC and AclOperation.WRITE in spoken:
            yield from index.on(ResourceType.CLUSTER, item)

    def _of(self, principal: str) -> RowIndex:
        """A principal's rows; those of ``User:*`` are everybody's."""
        if principal not in self._indexes:
            everybody = principal == WILDCARD_PRINCIPAL
            rows = chain.from_iterable(self._rows.values()) if everybody else self._rows.get(principal, ())
            self._indexes[principal] = RowIndex(rows)
        return self._indexes[principal]


def _uncovered(world: Interpretation, binding: AclBinding) -> bool:
    """Whether default-allow gives names of a binding's pattern to everybody, for no binding covers them."""
    kind, key = binding.pattern.resource_type, names_of(binding.pattern)
    # CLUSTER has one name, whatever else a prefix would match.
    names = literal(CLUSTER_NAME) if kind is ResourceType.CLUSTER else key
    return world.default_allow and not world.coverage(kind).covers(names) and has_names(kind, key)


def _speaks_of(
    binding: AclBinding, spoken: Set[AclOperation], row: DifferenceRow, moved: frozenset[AclOperation]
) -> bool:
    """Whether a binding with these operations bears on what moved, on some name of the row."""
    match binding.pattern.resource_type, row.resources.resource_type:
        case ResourceType.CLUSTER, ResourceType.TOPIC:
            return not moved.isdisjoint(spoken & _ON_EVERY_TOPIC)
        case ResourceType.TOPIC, ResourceType.CLUSTER:
            return AclOperation.WRITE in spoken and AclOperation.IDEMPOTENT_WRITE in moved
        case own, other if own is other:
            return not spoken.isdisjoint(moved) and _shares_a_name(binding.pattern, row.resources)
    return False


def _shares_a_name(pattern: ResourcePattern, resources: ResourceSet) -> bool:
    matched = replace(resources, cuts=(*resources.cuts, ASTERISK_NAMES)) if pattern.is_wildcard else resources
    return matched.meets(names_of(pattern))


class _Covers:
    """Bindings of one state, asked for one that says all that another says; a principal's are grouped when asked of."""

    def __init__(self, state: Interpretations) -> None:
        self._state = state
        self._groups: dict[_Group, tuple[PatternIndex, Mapping[ResourcePattern, Sequence[AclBinding]]]] = {}

    def cover(self, binding: AclBinding) -> AclBinding | None:
        """The smallest other binding that covers ``binding`` by itself, or ``None``."""
        # A binding of User:* covers one of a single principal, and nothing else of another principal does.
        principals = dict.fromkeys((binding.entry.principal, WILDCARD_PRINCIPAL))
        candidates = (other for principal in principals for other in self._candidates(binding, principal))
        return min((other for other in candidates if other != binding and _covers(other, binding)), default=None)

    def _candidates(self, binding: AclBinding, principal: str) -> Iterator[AclBinding]:
        group = binding.pattern.resource_type, principal, binding.entry.permission_type
        if group not in self._groups:
            patterns: dict[ResourcePattern, list[AclBinding]] = defaultdict(list)
            for item in self._state.bindings_of(group[0], principal):
                if item.entry.permission_type is group[2]:
                    patterns[item.pattern].append(item)
            self._groups[group] = PatternIndex(patterns), patterns
        index, by_pattern = self._groups[group]
        for pattern in index.overlapping(binding.pattern):
            yield from by_pattern[pattern]


def _covers(other: AclBinding, binding: AclBinding) -> bool:
    kind = binding.entry.permission_type
    wanted = granted_operations(binding.entry.operation, kind)
    return (
        covers(other.pattern, binding.pattern)
        and other.entry.host in (WILDCARD, binding.entry.host)
        and wanted <= granted_operations(other.entry.operation, kind)
    )
