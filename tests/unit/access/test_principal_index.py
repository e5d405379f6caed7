"""Whom a question about names is about: the same by looking through bindings, and by the index that comes later."""

import random
from collections.abc import Iterator

from reconciler.access.index import Index, PrincipalIndex
from reconciler.access.names import ALL_NAMES, ASTERISK_NAMES, NameCoverage, NameSet, literal, names_of
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.flavor import ASSUMED_VERSION

TEXTS = ("a", "ab", "abc", "b", "*", "*x", "a*")
ZONES = [ALL_NAMES, *map(NameSet, TEXTS), *map(literal, TEXTS)]


def _bindings(chance: random.Random) -> set[AclBinding]:
    return {
        AclBinding(
            ResourcePattern(ResourceType.GROUP, chance.choice(TEXTS), PatternType(chance.choice((3, 4)))),
            AccessControlEntry(f"User:{chance.randrange(5)}", "*", AclOperation.READ, AclPermissionType.ALLOW),
        )
        for _ in range(6)
    }


def test_every_question_has_the_same_answer_first_and_later() -> None:
    chance = random.Random(1)
    for _ in range(100):
        bindings = _bindings(chance)
        index = Index(bindings, ASSUMED_VERSION)
        for zones in ([zone] for zone in ZONES * 2):
            fresh = Index(bindings, ASSUMED_VERSION).principals(ResourceType.GROUP, zones)
            (zone,) = zones
            naive = {b.entry.principal for b in bindings if names_of(b.pattern).meets(zone)}
            assert index.principals(ResourceType.GROUP, zones) == fresh == naive
        for _ in range(10):
            several = chance.sample(ZONES, 3)
            naive = {b.entry.principal for b in bindings if any(names_of(b.pattern).meets(zone) for zone in several)}
            found = Index(bindings, ASSUMED_VERSION).principals(ResourceType.GROUP, several)
            assert index.principals(ResourceType.GROUP, several) == found == naive


def test_only_the_first_questions_look_at_every_binding() -> None:
    asked = 0
    pattern = ResourcePattern(ResourceType.GROUP, "a")

    def holders() -> Iterator[tuple[str, list[ResourcePattern]]]:
        nonlocal asked
        asked += 1
        return iter([("User:a", [pattern])])

    index = PrincipalIndex(holders)
    assert asked == 0
    assert [index.meeting([NameSet("a")]) for _ in range(20)] == [{"User:a"}] * 20
    assert asked == 9


def test_coverage_is_what_some_pattern_matches() -> None:
    chance = random.Random(2)
    for _ in range(200):
        keys = {names_of(b.pattern) for b in _bindings(chance)}
        one = NameCoverage(keys)
        for zone in (*ZONES, ASTERISK_NAMES):
            inside = [key for key in sorted(keys) if zone.contains(key)]
            assert one.within(zone) == inside, (keys, zone)
        for zone in ZONES:
            spared = zone.text.startswith("*") and zone != literal("*")
            around = [key for key in keys if key.contains(zone) and not (key == ALL_NAMES and spared)]
            assert one.covers(zone) is bool(around), (keys, zone)


def test_who_is_named_is_known() -> None:
    index = Index(_bindings(random.Random(3)), ASSUMED_VERSION)
    named = {principal for _, principal in index.group_keys()}
    assert all(map(index.knows, named))
    assert not index.knows("User:anyone-else")


def test_an_index_after_changes_answers_as_one_of_the_same_bindings() -> None:
    """Each comes from any that was before it, and is asked after others have come of it, too."""
    chance = random.Random(4)
    for _ in range(60):
        indexes = [(Index(first := _bindings(chance), ASSUMED_VERSION), first)]
        for _ in range(12):
            index, there = chance.choice(indexes)
            removed = {one for one in _bindings(chance) | there if chance.random() < 0.4}
            added = {one for one in _bindings(chance) if chance.random() < 0.4}
            if chance.random() < 0.5:
                index.coverage(ResourceType.GROUP)
            indexes.append((index.with_changes(added, removed), (there - removed) | added))
        for index, there in chance.sample(indexes, len(indexes)):
            keys = {names_of(one.pattern) for one in there}
            coverage, anew = index.coverage(ResourceType.GROUP), NameCoverage(keys)
            for zone in (*ZONES, ASTERISK_NAMES):
                assert coverage.covers(zone) is anew.covers(zone), (there, zone)
                assert coverage.within(zone) == anew.within(zone), (there, zone)
                assert coverage.edges_within(zone) == anew.edges_within(zone), (there, zone)
            for name in (*TEXTS, "abcd", "**", "c"):
                assert coverage.covers_name(name) is anew.covers_name(name), (there, name)
            for zones in ([zone] for zone in ZONES):
                naive = {one.entry.principal for one in there if names_of(one.pattern).meets(zones[0])}
                assert index.principals(ResourceType.GROUP, zones) == naive
        for (one, there), (other, then) in zip(indexes, chance.sample(indexes, len(indexes)), strict=True):
            changed = {(item.pattern.resource_type, item.entry.principal) for item in there ^ then}
            assert one.changed_groups(other) == sorted(changed)
