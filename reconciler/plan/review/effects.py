"""What each step contributes to a plan's access difference: a word for the line, and what already covers it.

A step is measured against the difference of the whole plan, not against the moment before it: replacing ten grants
by one prefix that permits the same is ten steps without effect, not ten revocations.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from reconciler.access.operations import IMPLICATIONS
from reconciler.access.table import key_of
from reconciler.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    CreateAcl,
    DeleteAcl,
    DesiredState,
    Origin,
    ResourceType,
)
from reconciler.plan.overlap import PatternIndex
from reconciler.plan.review.consequence import Consequence, narrower
from reconciler.plan.step import Step

_Group: TypeAlias = tuple[ResourceType, str, AclPermissionType]


class EffectKind(StrEnum):
    """What an ACL step does to access, in the plan's final reckoning."""

    GRANT = "grant"
    REVOKE = "revoke"
    NARROWS = "narrows"
    WIDENS = "widens"
    REDUNDANT = "redundant"
    NO_EFFECT = "no-effect"


@dataclass(frozen=True, slots=True)
class Effect:
    """A step's effect; ``covered_by`` is the binding that makes it redundant, ``origin`` where that is declared."""

    kind: EffectKind
    covered_by: AclBinding | None = None
    origin: Origin | None = None


def effects(
    steps: Sequence[Step], rows: Iterable[Consequence], after: Collection[AclBinding], desired: DesiredState
) -> tuple[Effect | None, ...]:
    """One for each step, ``None`` for topics. ``after`` are the bindings of the state that the plan makes."""
    known, covers = _Rows(rows), _Covers(after)
    return tuple(
        _effect(step.change, known, covers, desired) if isinstance(step.change, CreateAcl | DeleteAcl) else None
        for step in steps
    )


def _effect(change: CreateAcl | DeleteAcl, rows: "_Rows", covers: "_Covers", desired: DesiredState) -> Effect:
    allow = change.binding.entry.permission_type is AclPermissionType.ALLOW
    created = isinstance(change, CreateAcl)
    if rows.touch(change.binding, gained=allow is created):
        match allow, created:
            case True, True:
                return Effect(EffectKind.GRANT)
            case True, False:
                return Effect(EffectKind.REVOKE)
            case False, True:
                return Effect(EffectKind.NARROWS)
            case _:
                return Effect(EffectKind.WIDENS)
    other = covers.cover(change.binding)
    if other is None:
        return Effect(EffectKind.NO_EFFECT)
    declared = desired.bindings.get(other)
    return Effect(EffectKind.REDUNDANT, other, None if declared is None else declared.origin)


def granted_operations(operation: AclOperation, permission_type: AclPermissionType) -> set[AclOperation]:
    """What an entry speaks of; ALLOW implies, DENY does not."""
    if operation is AclOperation.ALL:
        return {found for found in AclOperation if found > AclOperation.ALL}
    implied = IMPLICATIONS.get(operation) if permission_type is AclPermissionType.ALLOW else None
    return {operation} if implied is None else {operation, implied}


class _Rows:
    """Consequences by principal, asked whether a binding has a share in one."""

    def __init__(self, rows: Iterable[Consequence]) -> None:
        self._by_principal: dict[str | None, list[Consequence]] = defaultdict(list)
        for row in rows:
            self._by_principal[row.principal].append(row)

    def touch(self, binding: AclBinding, *, gained: bool) -> bool:
        spoken = granted_operations(binding.entry.operation, binding.entry.permission_type)
        key = key_of(binding.pattern)
        for row in self._of(binding.entry.principal):
            moved = row.gained if gained else row.lost
            if spoken.isdisjoint(moved):
                continue
            if row.region.resource_type is binding.pattern.resource_type and narrower(row.region.key, key) is not None:
                return True
            if _reaches_beyond(binding.pattern.resource_type, row.region.resource_type):
                return True
        return False

    def _of(self, principal: str) -> Iterator[Consequence]:
        if principal == WILDCARD_PRINCIPAL:
            for rows in self._by_principal.values():
                yield from rows
        else:
            yield from self._by_principal.get(principal, ())


def _reaches_beyond(own: ResourceType, other: ResourceType) -> bool:
    """CLUSTER grants on topics, and WRITE on a topic lets an idempotent producer start (``reconciler.access``)."""
    return (own, other) in (
        (ResourceType.CLUSTER, ResourceType.TOPIC),
        (ResourceType.TOPIC, ResourceType.CLUSTER),
    )


class _Covers:
    """Bindings of one state, asked for one that says all that another says; grouped when first asked."""

    def __init__(self, bindings: Collection[AclBinding]) -> None:
        self._bindings = bindings
        self._indexes: dict[_Group, PatternIndex] = {}

    @cached_property
    def _groups(self) -> Mapping[_Group, Sequence[AclBinding]]:
        grouped: dict[_Group, list[AclBinding]] = defaultdict(list)
        for binding in self._bindings:
            grouped[self._group(binding, binding.entry.principal)].append(binding)
        return dict(grouped)

    @staticmethod
    def _group(binding: AclBinding, principal: str) -> _Group:
        return binding.pattern.resource_type, principal, binding.entry.permission_type

    def cover(self, binding: AclBinding) -> AclBinding | None:
        """The smallest other binding that covers ``binding`` by itself, or ``None``."""
        principals = dict.fromkeys((binding.entry.principal, WILDCARD_PRINCIPAL))
        found = (other for principal in principals for other in self._candidates(binding, principal))
        return min((other for other in found if other != binding and _covers(other, binding)), default=None)

    def _candidates(self, binding: AclBinding, principal: str) -> Iterator[AclBinding]:
        group = self._group(binding, principal)
        if group not in self._groups:
            return
        if group not in self._indexes:
            self._indexes[group] = PatternIndex(other.pattern for other in self._groups[group])
        patterns = set(self._indexes[group].overlapping(binding.pattern))
        yield from (other for other in self._groups[group] if other.pattern in patterns)


def _covers(other: AclBinding, binding: AclBinding) -> bool:
    kind = binding.entry.permission_type
    wanted = granted_operations(binding.entry.operation, kind)
    return (
        other.pattern.contains(binding.pattern)
        and other.entry.host in (WILDCARD, binding.entry.host)
        and wanted <= granted_operations(other.entry.operation, kind)
    )
