"""ACLs in reports: bindings that differ in their operation only share a line."""

from collections.abc import Hashable, Sequence
from typing import Final

from reconciler.model.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from reconciler.model.characters import as_name
from reconciler.model.listing import Change, Delete
from reconciler.model.topic import INTERNAL_TOPICS
from reconciler.plan.kinds.acl import CREATE_ACL, DELETE_ACL, touched_binding, touched_bindings
from reconciler.plan.review.topics import TopicReview
from reconciler.results.words import binding_words, pattern_words
from reconciler.show.kinds.interface import Alike, Detail, Words

TYPES: Final = (AclBinding,)
NOUN: Final = "ACL"
METRIC: Final = "acl"
ACTIONS: Final = {CREATE_ACL: "create", DELETE_ACL: "delete"}

_HARMLESS_ON_CLUSTER: Final = frozenset(
    {AclOperation.IDEMPOTENT_WRITE, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS}
)


def shared(change: Change) -> Hashable:
    """All of a binding but its operation."""
    binding = touched_binding(change)
    return None if binding is None else (binding.pattern, binding.entry[:2], binding.entry.permission_type)


def alike(changes: Sequence[Change]) -> Alike:
    """Operations, permission and sort of pattern: names, principals and hosts may differ."""
    bindings = touched_bindings(changes)
    kind, _, pattern_type = bindings[0].pattern
    principal, host, _, permission = bindings[0].entry
    sort = ("every",) if bindings[0].pattern.is_wildcard else (pattern_type,)
    everybody, anywhere = principal == WILDCARD_PRINCIPAL, host == WILDCARD
    operations = tuple(binding.entry.operation for binding in bindings)
    gravity = min(_gravity(change, binding) for change, binding in zip(changes, bindings, strict=True))
    return Alike(gravity, (kind, *sort, permission, operations, everybody, anywhere))


def _gravity(change: Change, binding: AclBinding) -> int:
    """The cluster, everybody, all names, what opens, internal topics, what narrows, prefixes, single names."""
    pattern, entry = binding.pattern, binding.entry
    if pattern.resource_type is ResourceType.CLUSTER:
        return 6 if entry.operation in _HARMLESS_ON_CLUSTER else 0
    if entry.principal == WILDCARD_PRINCIPAL:
        return 1
    if pattern.is_wildcard:
        return 2
    if isinstance(change, Delete) and entry.permission_type is AclPermissionType.DENY:
        return 3
    if pattern.resource_type is ResourceType.TOPIC and any(map(pattern.matches, INTERNAL_TOPICS)):
        return 3
    if isinstance(change, Delete) or entry.permission_type is AclPermissionType.DENY:
        return 4
    return 7 if pattern.pattern_type is PatternType.LITERAL else 6


def many(changes: Sequence[Change], text: str, review: TopicReview) -> str:
    """``10,500 ACLs: 80 principals ALLOW READ on 700 TOPIC names``."""
    bindings = touched_bindings(changes)
    entry = bindings[0].entry
    operations = ", ".join(dict.fromkeys(binding.entry.operation.name for binding in bindings))
    who = {binding.entry.principal for binding in bindings}
    patterns = {binding.pattern for binding in bindings}
    hosts = {binding.entry.host for binding in bindings} - {WILDCARD}
    kind, _, pattern_type = bindings[0].pattern
    names = "names" if pattern_type is PatternType.LITERAL else "prefixes"
    on = pattern_words(bindings[0].pattern) if len(patterns) == 1 else f"{len(patterns):,} {kind.name} {names}"
    subject = as_name(entry.principal) if len(who) == 1 else f"{len(who):,} principals"
    where = f" from {entry.host if len(hosts) == 1 else f'{len(hosts):,} hosts'}" if hosts else ""
    said = f"{subject} {entry.permission_type.name} {operations} on {on}{where}"
    return f"{len(bindings):,} ACLs: {said}"


def name(changes: Sequence[Change]) -> str:
    """``User:a on TOPIC payments``."""
    (pattern, entry), *_ = touched_bindings(changes)
    host = "" if entry.host == WILDCARD else f" from {entry.host}"
    return f"{as_name(entry.principal)} on {pattern_words(pattern)}{host}"


def details(changes: Sequence[Change], review: TopicReview) -> tuple[Detail, ...]:
    """None: a binding is said on its line."""
    return ()


def words(changes: Sequence[Change], review: TopicReview) -> Words:
    """``User:a ALLOW READ, WRITE on TOPIC payments``."""
    bindings = touched_bindings(changes)
    operations = ", ".join(binding.entry.operation.name for binding in bindings)
    return Words(bindings[0].entry.principal, binding_words(bindings[0], operations))
