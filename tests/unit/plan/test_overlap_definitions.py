"""Which bindings share a request, and which names patterns cover, stated pair by pair and name by name."""

from itertools import chain, combinations, product
from typing import Final

import pytest

from reconciler.model.acl import (
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.plan.overlap import OverlapIndex, PatternIndex, TopicReach, entries_meet, pattern_indexes

KINDS: Final = (PatternType.LITERAL, PatternType.PREFIXED)
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
#: Every name that a resource may have here.
NAMES: Final = tuple("".join(letters) for size in (1, 2, 3) for letters in product("*ab", repeat=size))


def patterns(kind: ResourceType, *names: str) -> list[ResourcePattern]:
    """Each name, literal and as a prefix."""
    return [ResourcePattern(kind, name, way) for name, way in product(names, KINDS)]


def few(things: list[ResourcePattern], most: int) -> chain[tuple[ResourcePattern, ...]]:
    """Every choice of so many."""
    return chain.from_iterable(combinations(things, count) for count in range(most + 1))


def covers(pattern: ResourcePattern, name: str) -> bool:
    """Whether brokers find it for a resource: LITERAL ``*`` not for a longer name that begins so, save a topic's."""
    passed_over = pattern.is_wildcard and len(name) > 1 and name.startswith("*") and pattern.resource_type is not TOPIC
    return pattern.matches(name) and not passed_over


@pytest.mark.parametrize("kind", [TOPIC, GROUP, ResourceType.TRANSACTIONAL_ID])
def test_what_contains_a_pattern_covers_each_of_its_names(kind: ResourceType) -> None:
    asked = patterns(kind, "a", "ab", "b", "*", "*a")
    for found in few(patterns(kind, "*", "*a", "a", "ab"), 3):
        index = PatternIndex(found)
        for pattern in asked:
            names = [name for name in NAMES if covers(pattern, name)]
            # For the wildcard itself: that it is there, as no choice of other patterns covers every name.
            one_covers = any(all(covers(one, name) for name in names) for one in found)
            assert index.contains(pattern) is one_covers, (found, pattern)


@pytest.mark.parametrize("kind", [TOPIC, GROUP])
def test_what_overlaps_a_pattern_matches_a_name_together_with_it(kind: ResourceType) -> None:
    names = ["".join(letters) for size in (1, 2, 3, 4) for letters in product("abc", repeat=size)]
    asked = patterns(kind, "a", "ab", "b", "abc", "*")
    for found in few(patterns(kind, "*", "a", "ab", "b", "abc"), 2):
        shared = {one: {name for name in [*names, "*"] if one.matches(name)} for one in {*found, *asked}}
        for pattern in asked:
            answers = [*PatternIndex(found).overlapping(pattern)]
            assert sorted(answers) == sorted(one for one in set(found) if shared[one] & shared[pattern])


def entries() -> list[AccessControlEntry]:
    hosts = ("*", "10.0.0.1", "10.0.0.2", "10.0.0.0/31")
    users = ("User:a", "User:b", WILDCARD_PRINCIPAL)
    return [
        AccessControlEntry(user, host, AclOperation.READ, AclPermissionType.ALLOW)
        for user, host in product(users, hosts)
    ]


def connections(entry: AccessControlEntry) -> set[tuple[str, str]]:
    """Those of two users from three addresses that an entry speaks of."""
    addresses = {
        "*": ("10.0.0.1", "10.0.0.2", "10.0.0.3"),
        "10.0.0.0/31": ("10.0.0.1",),
    }.get(entry.host, (entry.host,))
    users = ("User:a", "User:b") if entry.principal == WILDCARD_PRINCIPAL else (entry.principal,)
    return {*product(users, addresses)}


@pytest.mark.parametrize("any_entry", [False, True])
def test_entries_meet_where_one_connection_matches_both(any_entry: bool) -> None:
    pattern = ResourcePattern(TOPIC, "a")
    for one, other in product(entries(), repeat=2):
        meet = bool(connections(one) & connections(other))
        bindings = AclBinding(pattern, one), AclBinding(pattern, other)
        assert entries_meet(*bindings, any_entry=any_entry) is (any_entry or meet), (one, other)


@pytest.mark.parametrize("any_entry", [False, True])
def test_bindings_overlap_pair_by_pair_and_the_smallest_is_the_first(any_entry: bool) -> None:
    where = [*patterns(TOPIC, "a", "ab", "*"), ResourcePattern(GROUP, "a")]
    every = [AclBinding(pattern, entry) for pattern, entry in product(where, entries()[::5])]
    for found in (every, every[1::2], every[::-3], []):
        index = OverlapIndex(found, any_entry=any_entry)
        for asked in every:
            overlapping = [
                one
                for one in found
                if one.pattern.overlaps(asked.pattern) and entries_meet(one, asked, any_entry=any_entry)
            ]
            assert sorted(index.meeting(asked)) == sorted(overlapping)
            assert index.first(asked) == (min(overlapping) if overlapping else None)


def test_an_index_has_the_patterns_of_its_resource_type_and_topics_are_reached_by_theirs() -> None:
    every = [*patterns(TOPIC, "a", "ab", "*"), *patterns(GROUP, "b", "*")]
    for found in few(every, 2):
        indexes = pattern_indexes(found)
        assert indexes.keys() == {one.resource_type for one in found}
        for asked in every:
            answers = [*indexes[asked.resource_type].overlapping(asked)] if asked.resource_type in indexes else []
            assert sorted(answers) == sorted(one for one in found if one.overlaps(asked))
        for name in ("a", "ab", "b", "ba"):
            reached = any(one.resource_type is TOPIC and one.matches(name) for one in found)
            assert TopicReach(found).reaches(name) is reached
