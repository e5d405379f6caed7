"""Locks: a principal that is denied everything until a person unlocks it.

A lock is DENY ALL from every host on LITERAL ``*`` of each resource type (of CLUSTER on its one name), with a mark: a
binding on a reserved name that says whose lock it is, since when and why. All of it is created by one request, which
Kafka writes as one batch (``AclControlManager.createAcls``), so a lock is there as a whole or not at all.

Whoever may alter ACLs can write a mark, and can deny without one: a forged lock takes access away and gives none. So
every mark counts that is spelled as this tool spells it. DENYs of this form without a mark are ACLs like any other.
"""

import datetime
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple
from urllib.parse import unquote

from reconciler.model.acl import (
    CLUSTER_NAME,
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import as_name
from reconciler.model.desired import moment_text
from reconciler.model.markers import KEPT, MARK_ENTRY, instant, stamp, word
from reconciler.model.scope import on_reserved_names
from reconciler.model.state import ClusterState

#: What a lock denies: every name of every type. CLUSTER is one resource, and ``*`` is not its name.
LOCKED_PATTERNS: Final = tuple(
    ResourcePattern(kind, CLUSTER_NAME if kind is ResourceType.CLUSTER else WILDCARD)
    for kind in ResourceType
    if kind >= ResourceType.TOPIC
)
#: So many characters of a reason are kept: the mark is a name, which every listing of ACLs carries.
LONGEST_REASON: Final = 300
_OPEN: Final = "open"
_NAME: Final = re.compile(r"__kr\.lock\.([0-9]{8}T[0-9]{6}Z)\.([0-9]{8}T[0-9]{6}Z|open)((?:\.[^.]*){4})", re.ASCII)


class LockMark(NamedTuple):
    """What a mark says: who is locked, since when, until when if somebody named an end, by whom and why."""

    principal: str
    since: datetime.datetime
    until: datetime.datetime | None = None
    operator: str = ""
    ticket: str = ""
    reason: str = ""

    @property
    def binding(self) -> AclBinding:
        """The mark on the cluster. It grants nobody anything."""
        stated = (self.principal, self.operator, self.ticket, self.reason)
        words = ".".join(map(word, stated))
        end = _OPEN if self.until is None else stamp(self.until)
        name = f"__kr.lock.{stamp(self.since)}.{end}.{words}"
        return AclBinding(ResourcePattern(ResourceType.TOPIC, name), MARK_ENTRY)

    @property
    def words(self) -> str:
        """``since 2026-11-26T18:20:00Z by alice@ops, INC-7: key leaked``, each text of others quoted."""
        by = f" by {as_name(self.operator)}" if self.operator else ""
        why = ": ".join(as_name(text) for text in (self.ticket, self.reason) if text)
        return f"since {moment_text(self.since)}{by}{f', {why}' if why else ''}"


class Lock(NamedTuple):
    """A lock that is there: its marks, the newest last, and those of its DENYs that are ``missing``."""

    principal: str
    marks: tuple[LockMark, ...]
    missing: tuple[AclBinding, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether it denies everything."""
        return not self.missing

    @property
    def until(self) -> datetime.datetime | None:
        """When it is to end; ``None`` where a mark names no end."""
        ends = [mark.until for mark in self.marks]
        return None if None in ends else max(end for end in ends if end is not None)


def lock_denials(principal: str) -> tuple[AclBinding, ...]:
    """The DENYs of a lock."""
    entry = AccessControlEntry(principal, WILDCARD, AclOperation.ALL, AclPermissionType.DENY)
    return tuple(AclBinding(pattern, entry) for pattern in LOCKED_PATTERNS)


def is_lock_denial(binding: AclBinding) -> bool:
    """Whether a binding has the form of a lock's DENY, marked or not."""
    pattern, (_, host, operation, permission) = binding
    form = host == WILDCARD and operation is AclOperation.ALL and permission is AclPermissionType.DENY
    return form and pattern in LOCKED_PATTERNS


def read_lock_mark(binding: AclBinding) -> LockMark | None:
    """What a binding marks, or ``None`` where it is no mark of a lock."""
    if binding.entry != MARK_ENTRY or (match := _NAME.fullmatch(binding.pattern.name)) is None:
        return None
    principal, operator, ticket, reason = map(unquote, match[3][1:].split("."))
    try:
        mark = LockMark(principal, instant(match[1]), _end(match[2]), operator, ticket, reason)
        # Written again and compared: only the one spelling that this tool writes counts.
        return mark if ":" in principal and mark.binding == binding else None
    except ValueError:
        return None


def locks(bindings: Collection[AclBinding]) -> dict[str, Lock]:
    """The locks among live ``bindings``, by principal; one that lacks DENYs is there with those missing."""
    marks: dict[str, list[LockMark]] = {}
    for mark in _marks(bindings):
        marks.setdefault(mark.principal, []).append(mark)
    return {
        principal: Lock(
            principal,
            tuple(sorted(marks[principal], key=lambda mark: (mark.since, mark.binding))),
            tuple(denial for denial in lock_denials(principal) if denial not in bindings),
        )
        for principal in sorted(marks)
    }


def lock_marks(bindings: Iterable[AclBinding]) -> frozenset[AclBinding]:
    """The marks among ``bindings``: no report lists them as leftovers, and nothing but ``unlock`` removes them."""
    return frozenset(mark.binding for mark in _marks(bindings))


def denials_of_locks(bindings: Collection[AclBinding], unlocking: str | None = None) -> frozenset[AclBinding]:
    """The live DENYs of all locks but the one of ``unlocking``: no plan creates or deletes them."""
    held = {mark.principal for mark in _marks(bindings)} - {unlocking}
    return frozenset(denial for principal in held for denial in lock_denials(principal) if denial in bindings)


def without_locks(
    state: ClusterState, unlocking: str | None = None, but: Collection[AclBinding] = frozenset()
) -> ClusterState:
    """The state without the DENYs of locks, the world that plans are made in: what is so there is so after an unlock.

    ``but`` are DENYs that stay because a plan creates them. With its lock a principal may do nothing at all, so what no
    moment of a plan permits here, none permits with the lock.
    """
    gone = denials_of_locks(state.bindings, unlocking).difference(but)
    return replace(state, bindings=state.bindings - gone) if gone else state


def unmarked_locks(bindings: Collection[AclBinding]) -> dict[str, tuple[AclBinding, ...]]:
    """The principals with all DENYs of a lock and no mark: somebody may have deleted the mark."""
    candidates = {binding.entry.principal for binding in bindings if is_lock_denial(binding)}
    marked = {mark.principal for mark in _marks(bindings)} if candidates else set()
    whole = ((name, lock_denials(name)) for name in sorted(candidates - marked))
    return {name: denials for name, denials in whole if all(denial in bindings for denial in denials)}


def _marks(bindings: Iterable[AclBinding]) -> Iterator[LockMark]:
    return filter(None, map(read_lock_mark, on_reserved_names(bindings)))


def _end(text: str) -> datetime.datetime | None:
    return None if text == _OPEN else instant(text)


# What an unlock leaves for a day: a server that finds a lock gone has to know whether a person ended it.

_UNLOCKED: Final = re.compile(r"__kr\.unlock\.([0-9]{8}T[0-9]{6}Z)\.([^.]+)", re.ASCII)


class UnlockMark(NamedTuple):
    """That the lock of a principal was ended at an instant, by a person."""

    principal: str
    at: datetime.datetime

    @property
    def binding(self) -> AclBinding:
        """The mark on the cluster."""
        name = f"__kr.unlock.{stamp(self.at)}.{word(self.principal)}"
        return AclBinding(ResourcePattern(ResourceType.TOPIC, name), MARK_ENTRY)


def read_unlock_mark(binding: AclBinding) -> UnlockMark | None:
    """What a binding marks, or ``None`` where it is no mark of an unlock."""
    if binding.entry != MARK_ENTRY or (match := _UNLOCKED.fullmatch(binding.pattern.name)) is None:
        return None
    try:
        mark = UnlockMark(unquote(match[2]), instant(match[1]))
        return mark if mark.binding == binding else None
    except ValueError:
        return None


def unlocked_at(bindings: Iterable[AclBinding]) -> dict[str, datetime.datetime]:
    """When locks were ended last, by principal, as far as marks still say it."""
    ended: dict[str, datetime.datetime] = {}
    for mark in filter(None, map(read_unlock_mark, on_reserved_names(bindings))):
        ended[mark.principal] = max(mark.at, ended.get(mark.principal, mark.at))
    return ended


def unlock_marks(bindings: Iterable[AclBinding], now: datetime.datetime | None) -> frozenset[AclBinding]:
    """The marks of unlocks that are not old yet; without a time none is."""
    marks = filter(None, map(read_unlock_mark, on_reserved_names(bindings)))
    return frozenset(mark.binding for mark in marks if now is None or abs(now - mark.at) < KEPT)
