"""Two states under a mark, who is asked about them, and what each of them must never see."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import DesiredTopic, Origin
from reconciler.model.topic import Topic
from tests.faults.asking import Watch, watches_between

#: How many names a change moves: each one is a step, and 150 are more than one batch.
NAMES = 60
_USERS = ("alice", "bob")
_PLACE = Origin("team.yaml", 1, 1)


@dataclass(frozen=True)
class Change:
    """``topics`` are there before; ``wanted_topics`` are what is declared of them."""

    before: frozenset[AclBinding]
    after: frozenset[AclBinding]
    watches: list[Watch]
    topics: tuple[Topic, ...] = ()
    wanted_topics: dict[str, DesiredTopic] = field(default_factory=dict)


Make: TypeAlias = Callable[[str], Change]


def acl(name: str, principal: str, permission: str = "ALLOW", *, prefix: bool = False) -> AclBinding:
    """What a principal may see of a topic's settings."""
    pattern = ResourcePattern(ResourceType.TOPIC, name, PatternType.PREFIXED if prefix else PatternType.LITERAL)
    entry = AccessControlEntry(principal, "*", AclOperation.DESCRIBE_CONFIGS, AclPermissionType[permission])
    return AclBinding(pattern, entry)


def _change(mark: str, before: Iterable[AclBinding], after: Iterable[AclBinding]) -> Change:
    old, new = frozenset(before), frozenset(after)
    names = [f"{mark}{kind}{number}" for kind in ("", "pay", "secret") for number in range(0, NAMES, 6)]
    return Change(old, new, watches_between(old, new, _USERS, names, default_allow=False))


def _denied(mark: str, principal: str) -> set[AclBinding]:
    return {acl(f"{mark}secret{number}", principal, "DENY") for number in range(NAMES)}


def _literals(mark: str, principal: str) -> set[AclBinding]:
    return {acl(f"{mark}{number}", principal) for number in range(NAMES)}


def literals_become_a_prefix_with_a_carve_out(mark: str) -> Change:
    return _change(
        mark, _literals(mark, "User:alice"), {acl(mark, "User:alice", prefix=True), *_denied(mark, "User:*")}
    )


def a_prefix_becomes_literals(mark: str) -> Change:
    return _change(
        mark, {acl(mark, "User:alice", prefix=True), *_denied(mark, "User:*")}, _literals(mark, "User:alice")
    )


def a_prefix_is_widened_with_carve_outs(mark: str) -> Change:
    narrow = {acl(f"{mark}pay", "User:alice", prefix=True)}
    return _change(mark, narrow, {acl(mark, "User:alice", prefix=True), *_denied(mark, "User:alice")})


def everyone_becomes_named_principals(mark: str) -> Change:
    everyone = {acl(mark, "User:*", prefix=True), *_denied(mark, "User:*")}
    return _change(mark, everyone, _literals(mark, "User:alice"))


def a_principal_is_renamed(mark: str) -> Change:
    shared = acl(f"{mark}pay", "User:*", prefix=True)

    def rights(principal: str) -> set[AclBinding]:
        return {acl(mark, principal, prefix=True), *_denied(mark, principal)}

    return _change(mark, {shared, *rights("User:alice")}, {shared, *rights("User:bob")})


def topics_come_and_go(mark: str) -> Change:
    """Bob may see whatever is called new, of which there is nothing yet; when there is, it is alice's alone."""
    kept = {acl(f"{mark}kept{number}", "User:alice") for number in range(3)}
    old = {acl(f"{mark}old{number}", "User:alice") for number in range(NAMES)}
    new = {acl(f"{mark}new{number}", "User:alice") for number in range(NAMES)}
    topics = {
        f"{mark}old{number}": DesiredTopic(Topic(f"{mark}old{number}"), _PLACE, absent=True) for number in range(5)
    }
    for number in range(5):
        topics[f"{mark}new{number}"] = DesiredTopic(Topic(f"{mark}new{number}", 1, 1), _PLACE)
    for number in range(3):
        wanted = Topic(f"{mark}kept{number}", 2, 1, {"retention.ms": "7200000"})
        topics[wanted.name] = DesiredTopic(wanted, _PLACE)
    there = [Topic(f"{mark}old{number}", 1, 1) for number in range(5)]
    there += [Topic(f"{mark}kept{number}", 1, 1, {"retention.ms": "3600000"}) for number in range(3)]
    watches = [
        Watch("alice", (), tuple(f"{mark}kept{number}" for number in range(3))),
        Watch("bob", tuple(f"{mark}old{number}" for number in range(5)), (), tuple(f"{mark}new{n}" for n in range(5))),
    ]
    before = frozenset({*kept, *old, acl(f"{mark}new", "User:bob", prefix=True)})
    return Change(before, frozenset(kept | new), watches, tuple(there), topics)


CHANGES: list[Make] = [
    literals_become_a_prefix_with_a_carve_out,
    a_prefix_becomes_literals,
    a_prefix_is_widened_with_carve_outs,
    everyone_becomes_named_principals,
    a_principal_is_renamed,
    topics_come_and_go,
]
