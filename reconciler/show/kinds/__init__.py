"""What reports say of each kind of resource, found by the type of a change's sides."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, Protocol

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
from reconciler.model.kinds import kind_finder, listed_kind, listed_types
from reconciler.model.listing import Change, ListedItem, resource_of, values_of
from reconciler.model.topic import INTERNAL_TOPICS
from reconciler.plan.kinds.acl import CREATE_ACL, DELETE_ACL, touched_binding, touched_bindings
from reconciler.plan.review.topics import TopicReview
from reconciler.results.words import binding_words, pattern_words
from reconciler.show.document import Alike, Detail, Words
from reconciler.show.kinds.topic import Topics


class Kind(Protocol):
    """A kind of resource. Every function takes changes of this kind only; nothing that it returns is escaped."""

    @property
    def TYPES(self) -> tuple[type, ...]:
        """Which types the sides of its changes have."""
        ...

    @property
    def NOUN(self) -> str:
        """What one of it is called; an ``s`` makes the plural."""
        ...

    @property
    def METRIC(self) -> str:
        """The label ``kind`` of metrics."""
        ...

    @property
    def ACTIONS(self) -> Mapping[str, str]:
        """The label ``action`` of metrics, by the action of plan files: ``CreateAcl`` is ``create``."""
        ...

    def shared(self, change: Change) -> Hashable:
        """Changes next to each other that have this in common share a line; ``None``: this one has its own."""
        ...

    def alike(self, changes: Sequence[Change]) -> Alike:
        """How grave changes that share a line are, and what very many such lines have in common that share another."""
        ...

    def many(self, changes: Sequence[Change], text: str, review: TopicReview) -> str:
        """The words for changes of one shape, how many they are first; ``text`` is what the first ones are called.

        With what a person has to know of all of them together: ``review`` is as in :meth:`words`.
        """
        ...

    def name(self, changes: Sequence[Change]) -> str:
        """How changes that share a line are told from others of their shape."""
        ...

    def details(self, changes: Sequence[Change], review: TopicReview) -> tuple[Detail, ...]:
        """The details of :meth:`words`, which are all that is asked of most of very many lines."""
        ...

    def words(self, changes: Sequence[Change], review: TopicReview) -> Words:
        """The words for changes that share a line; ``review`` has the brokers' defaults and what goes with a topic."""
        ...


class ReportedKind(ABC):
    """What reports ask of a listed kind: its ``noun``, and ``at_end``, what the end of one does."""

    noun: ClassVar[str]
    at_end: ClassVar[str]

    @abstractmethod
    def shown(self, name: str, value: Any) -> str:
        """A value of a name as a person writes it."""

    def dim_lines(self, change: Change) -> tuple[str, ...]:
        """Lines below the values; none."""
        return ()

    def notes(self, change: Change) -> tuple[str, ...]:
        """What holds for every change of this sort; nothing."""
        return ()


#: What a sign in front of a step means, and its style.
VERBS: Final = {"+": "create", "~": "alter", "-": "delete"}
ROLES: Final = {"+": "add", "~": "change", "-": "remove"}


def sign_of(change: Change) -> str:
    """``+`` where something is created, ``-`` where it is deleted, ``~`` where it changes."""
    return "+" if change.before is None else "-" if change.after is None else "~"


class ListedKind:
    """One listed kind."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self._resource = resource

    @cached_property
    def special(self) -> ReportedKind:
        """What is special about it."""
        kind: ReportedKind = listed_kind(self._resource)
        return kind

    @property
    def TYPES(self) -> tuple[type, ...]:
        """The type of its resources."""
        return (self._resource,)

    @property
    def NOUN(self) -> str:
        """What one of it is called."""
        return self.special.noun

    @property
    def METRIC(self) -> str:
        """The same, in one word."""
        return self.NOUN.replace(" ", "-").lower()

    @property
    def ACTIONS(self) -> Mapping[str, str]:
        """``CreateQuota`` is ``create``."""
        return {f"{verb.capitalize()}{self._resource.NOUN}": verb for verb in ("create", "alter", "delete")}

    def shared(self, change: Change) -> Hashable:
        """Never: each resource has a line of its own."""
        return None

    def alike(self, changes: Sequence[Change]) -> Alike:
        """The values before and after."""
        before, after = values_of(changes[0].before), values_of(changes[0].after)
        gravity = 4 if changes[0].after is None else 6
        return Alike(gravity, (tuple(before.items()), tuple(after.items())))

    def many(self, changes: Sequence[Change], text: str, review: TopicReview) -> str:
        """``300 quotas``."""
        return f"{len(changes):,} {self.NOUN}s"

    def name(self, changes: Sequence[Change]) -> str:
        """``user alice``."""
        return str(resource_of(changes[0]).key)

    def details(self, changes: Sequence[Change], review: TopicReview) -> tuple[Detail, ...]:
        """A line for each value."""
        return self.words(changes, review).details

    def words(self, changes: Sequence[Change], review: TopicReview) -> Words:
        """``quota of user alice``, a line for each value that is set, altered or removed, and what the kind adds."""
        change = changes[0]
        item = resource_of(change)
        before, after = values_of(change.before), values_of(change.after)
        role = ROLES[sign_of(change)]
        moved = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
        lines = tuple(Detail(role, f"{name}{self._sides(name, before.get(name), after.get(name))}") for name in moved)
        more = (Detail("dim", line) for line in self.special.dim_lines(change))
        return Words(item.principal or str(item.key), item.subject, (*lines, *more), self.special.notes(change))

    def _sides(self, name: str, before: Any, after: Any) -> str:
        if before is None and after is not None:
            return f" = {self.special.shown(name, after)}"
        return f": {self._side(name, before)} → {self._side(name, after)}"

    def _side(self, name: str, value: Any) -> str:
        return "not set" if value is None else self.special.shown(name, value)


_HARMLESS_ON_CLUSTER: Final = frozenset(
    {AclOperation.IDEMPOTENT_WRITE, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS}
)


class Acls:
    """ACLs: bindings that differ in their operation only share a line."""

    TYPES = (AclBinding,)
    NOUN = "ACL"
    METRIC = "acl"
    ACTIONS: ClassVar[Mapping[str, str]] = {CREATE_ACL: "create", DELETE_ACL: "delete"}

    def shared(self, change: Change) -> Hashable:
        """All of a binding but its operation."""
        binding = touched_binding(change)
        return None if binding is None else (binding.pattern, binding.entry[:2], binding.entry.permission_type)

    def alike(self, changes: Sequence[Change]) -> Alike:
        """Operations, permission and sort of pattern: names, principals and hosts may differ."""
        bindings = touched_bindings(changes)
        kind, _, pattern_type = bindings[0].pattern
        principal, host, _, permission = bindings[0].entry
        sort = ("every",) if bindings[0].pattern.is_wildcard else (pattern_type,)
        everybody, anywhere = principal == WILDCARD_PRINCIPAL, host == WILDCARD
        operations = tuple(binding.entry.operation for binding in bindings)
        gravity = min(_gravity(change, binding) for change, binding in zip(changes, bindings, strict=True))
        return Alike(gravity, (kind, *sort, permission, operations, everybody, anywhere))

    def many(self, changes: Sequence[Change], text: str, review: TopicReview) -> str:
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
        summary = f"{subject} {entry.permission_type.name} {operations} on {on}{where}"
        return f"{len(bindings):,} ACLs: {summary}"

    def name(self, changes: Sequence[Change]) -> str:
        """``User:a on TOPIC payments``."""
        (pattern, entry), *_ = touched_bindings(changes)
        host = "" if entry.host == WILDCARD else f" from {entry.host}"
        return f"{as_name(entry.principal)} on {pattern_words(pattern)}{host}"

    def details(self, changes: Sequence[Change], review: TopicReview) -> tuple[Detail, ...]:
        """None: a binding is said on its line."""
        return ()

    def words(self, changes: Sequence[Change], review: TopicReview) -> Words:
        """``User:a ALLOW READ, WRITE on TOPIC payments``."""
        bindings = touched_bindings(changes)
        operations = ", ".join(binding.entry.operation.name for binding in bindings)
        return Words(bindings[0].entry.principal, binding_words(bindings[0], operations))


def _gravity(change: Change, binding: AclBinding) -> int:
    """The cluster, everybody, all names, what opens, internal topics, what narrows, prefixes, single names."""
    pattern, entry = binding.pattern, binding.entry
    if pattern.resource_type is ResourceType.CLUSTER:
        return 6 if entry.operation in _HARMLESS_ON_CLUSTER else 0
    if entry.principal == WILDCARD_PRINCIPAL:
        return 1
    if pattern.is_wildcard:
        return 2
    if change.after is None and entry.permission_type is AclPermissionType.DENY:
        return 3
    if pattern.resource_type is ResourceType.TOPIC and any(map(pattern.matches, INTERNAL_TOPICS)):
        return 3
    if change.after is None or entry.permission_type is AclPermissionType.DENY:
        return 4
    return 7 if pattern.pattern_type is PatternType.LITERAL else 6


KINDS: Final[tuple[Kind, ...]] = (Acls(), Topics(), *map(ListedKind, listed_types()))
kind_of: Final = kind_finder(KINDS)
