"""Whom a question about names is about: the same by looking through bindings, and by the index that comes later."""

import random
from collections.abc import Iterator

from reconciler.access.index import Index, NameCoverage, PrincipalIndex
from reconciler.access.names import ALL_NAMES, ASTERISK_NAMES, NameSet, literal, names_of
from reconciler.access.operations import ASSUMED_VERSION
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

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
            fresh = Index(bindings, ASSUMED_VERSION).principals(ResourceType.GROUP).meeting(zones)
            (zone,) = zones
            naive = {b.entry.principal for b in bindings if names_of(b.pattern).meets(zone)}
            assert index.principals(ResourceType.GROUP).meeting(zones) == fresh == naive
        for _ in range(10):
            several = chance.sample(ZONES, 3)
            naive = {b.entry.principal for b in bindings if any(names_of(b.pattern).meets(zone) for zone in several)}
            found = Index(bindings, ASSUMED_VERSION).principals(ResourceType.GROUP).meeting(several)
            assert index.principals(ResourceType.GROUP).meeting(several) == found == naive


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
    assert asked == 5


def test_coverage_is_what_some_pattern_matches() -> None:
    chance = random.Random(2)
    for _ in range(200):
        keys, others = ({names_of(b.pattern) for b in _bindings(chance)} for _ in range(2))
        one, other = NameCoverage(keys), NameCoverage(others)
        for zone in (*ZONES, ASTERISK_NAMES):
            inside = [key for key in sorted(keys) if zone.contains(key)]
            assert one.within(zone) == inside, (keys, zone)
        for zone in ZONES:
            spared = zone.text.startswith("*") and zone != literal("*")
            around = [key for key in keys if key.contains(zone) and not (key == ALL_NAMES and spared)]
            assert one.covers(zone) is bool(around), (keys, zone)
        newly = one.newly(other)
        assert set(newly) == {key for key in keys - others if not other.covers(key)}
        assert not any(other.covers(key) for key in newly)


def test_who_is_named_is_known() -> None:
    index = Index(_bindings(random.Random(3)), ASSUMED_VERSION)
    named = {principal for _, principal in index.group_keys()}
    assert all(map(index.knows, named))
    assert not index.knows("User:anyone-else")
