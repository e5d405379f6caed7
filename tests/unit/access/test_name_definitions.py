"""Sets of names by their definition: which of all short names each holds, for every small set and every few of them."""

from collections.abc import Iterable, Sequence
from itertools import combinations, product

from reconciler.access.authorizer import PROBE
from reconciler.access.group import HostIndex
from reconciler.access.index import PrincipalIndex
from reconciler.access.names import (
    ALL_NAMES,
    ASTERISK_NAMES,
    LITERAL,
    NameCoverage,
    NameIndex,
    NameSet,
    ResourceSet,
    has_names,
    inside,
    is_name,
    less,
    literal,
    matches,
    meets,
    meets_any,
    outermost,
    shortest_name,
)
from reconciler.model.acl import CLUSTER_NAME, PatternType, ResourcePattern, ResourceType

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
#: No set has a text with ``c``: whatever sets say together, such a name is in no narrower one.
NAMES = ["".join(letters) for size in (1, 2, 3) for letters in product("ac*", repeat=size)]
TEXTS = ["", "a", "*", "aa", "a*", "*a", "**"]
PREFIXES = [NameSet(text) for text in TEXTS]
#: What patterns mean.
MEANT = sorted([*PREFIXES, *(literal(text) for text in TEXTS if text)])
SETS = sorted([*MEANT, ASTERISK_NAMES])
FEW = [list(few) for size in (0, 1, 2) for few in combinations(MEANT, size)] + [
    [ALL_NAMES, *few] for few in combinations(MEANT[1:], 2)
]


def held(key: NameSet, names: Iterable[str] = NAMES) -> set[str]:
    """The names of a set, read off its definition."""
    if key == ASTERISK_NAMES:
        return {name for name in names if name.startswith("*") and name != "*"}
    if key.kind == LITERAL:
        return {key.text} & set(names)
    return {name for name in names if name.startswith(key.text)}


def applied(key: NameSet, names: Iterable[str] = NAMES) -> set[str]:
    """The names to which a broker applies a binding whose pattern means the set: LITERAL ``*`` misses some."""
    return held(key, names) - held(ASTERISK_NAMES, names) if key == ALL_NAMES else held(key, names)


def own(key: NameSet, others: Iterable[NameSet]) -> set[str]:
    """The names of a set that are in no narrower one of ``others``."""
    return held(key).difference(*(held(other) for other in others if held(other) < held(key)))


def test_a_set_holds_what_it_is_defined_to_hold() -> None:
    assert ALL_NAMES in SETS
    for key in SETS:
        assert {name for name in NAMES if key.matches(name)} == held(key)
        assert key.literal is (len(held(key)) == 1)
        for other in SETS:
            assert key.contains(other) is (held(other) <= held(key)), (key, other)
            assert key.meets(other) is bool(held(other) & held(key)), (key, other)
            # A set sorts before its subsets.
            assert not held(other) < held(key) or key < other


def test_a_pattern_matches_what_brokers_apply_it_to() -> None:
    for text, kind in product(TEXTS[1:], (PatternType.LITERAL, PatternType.PREFIXED)):
        pattern = ResourcePattern(GROUP, text, kind)
        prefixed = kind is PatternType.PREFIXED
        expected = {
            name
            for name in NAMES
            if (name.startswith(text) if prefixed else name == text or (text == "*" and name[0] != "*"))
        }
        assert {name for name in NAMES if matches(pattern, name)} == expected


def test_the_sets_of_a_list_around_and_inside_one() -> None:
    for few in FEW:
        outer = outermost(few)
        assert outer == [key for key in sorted(few) if not any(held(key) < held(other) for other in few)]
        for key in SETS:
            assert inside(sorted(few), key) == [one for one in sorted(few) if held(one) <= held(key)] or (
                key == ASTERISK_NAMES
            )
            if key != ASTERISK_NAMES:
                assert meets_any(key, outer) is any(held(key) & held(one) for one in few)
                shared = [held(one) & held(key) for one in outer if held(one) & held(key)]
                assert [held(one) for one in meets([key], outer)] == shared
        assert meets(MEANT, outer) == [one for key in MEANT for one in meets([key], outer)]
    assert outermost([*MEANT, *MEANT]) == [ALL_NAMES]


def test_a_mask_is_that_of_all_sets_which_apply() -> None:
    for few in FEW:
        index = NameIndex({key: 1 << number for number, key in enumerate(few)})
        for name in NAMES:
            expected = sum(1 << number for number, key in enumerate(few) if name in applied(key))
            assert index.at(name) == expected, (few, name)
        for key in SETS:
            # Of every such name it is the same, so of any.
            alone = own(key, few)
            if alone and not (key in (ALL_NAMES, NameSet("*")) and ALL_NAMES in few):
                assert {index.at_names(key)} == {index.at(name) for name in alone}, (few, key)
        assert index.at_names(ALL_NAMES) == index.at("c")
        assert index.at_names(NameSet("*")) == index.at_names(ASTERISK_NAMES) == index.at("*c")


def test_coverage_is_of_what_some_pattern_applies_to() -> None:
    for few in FEW:
        coverage = NameCoverage(few)
        covered = set[str]().union(*map(applied, few))
        assert {name for name in NAMES if coverage.covers_name(name)} == covered
        for key in SETS:
            within = [one for one in sorted(few) if held(one) <= held(key)]
            assert coverage.within(key) == within, (few, key)
            if key not in (ALL_NAMES, NameSet("*")):
                # No finite set of longer names covers a prefix.
                finite = {name for one in few if one.literal for name in applied(one)}
                rest = covered - finite if not key.literal else covered
                assert coverage.covers(key) is ((bool(own(key, few)) and own(key, few) <= rest) or key in few), (
                    few,
                    key,
                )
            edges = coverage.edges_within(key)
            assert set(edges) <= set(within)
            starred = [one for one in edges if one.text.startswith("*")]
            for group in (starred, [one for one in edges if one not in starred]):
                assert outermost(group) == group
            if edges:
                assert set[str]().union(*map(held, edges)) >= {n for one in within for n in applied(one)}
            else:
                assert not within or coverage.covers(key)
            assert edges == sorted(edges)


def test_edges_are_left_out_only_of_what_is_covered_around() -> None:
    for few in FEW:
        coverage = NameCoverage(few)
        for key in MEANT:
            plain = key.text and not key.text.startswith("*")
            expected = not (plain and any(held(key) <= applied(one) for one in few))
            assert bool(coverage.edges_within(key)) is (expected and bool(coverage.within(key))), (few, key)


def test_what_is_newly_covered() -> None:
    for few, others in product(FEW[:80], FEW[::9]):
        coverage, other = NameCoverage(few), NameCoverage(others)
        expected = {
            key for key in few if key not in others and not any(held(key) <= applied(around) for around in others)
        }
        assert {key for key in few if not other.covers(key)} == expected
        assert all(map(coverage.covers, few))


def test_principals_with_a_name_in_common() -> None:
    patterns = [
        ResourcePattern(GROUP, text, kind) for text in TEXTS[1:] for kind in (PatternType.LITERAL, PatternType.PREFIXED)
    ]
    meant = {
        pattern: ALL_NAMES
        if pattern.is_wildcard
        else NameSet(pattern.name, LITERAL if pattern.pattern_type is PatternType.LITERAL else 0)
        for pattern in patterns
    }
    holders = [(f"User:{number}", (pattern, pattern)) for number, pattern in enumerate(patterns)]
    for size in (0, 1, 2):
        for zones in map(list, combinations(MEANT, size)):
            index = PrincipalIndex(lambda: iter(holders))
            expected = {
                who for who, (pattern, _) in holders if any(held(meant[pattern]) & held(zone) for zone in zones)
            }
            # The first answers look through all, later ones into a table.
            assert [index.meeting(zones) for _ in range(10)] == [expected] * 10


def test_a_principal_meets_by_any_of_its_patterns() -> None:
    first, second, third = (ResourcePattern(GROUP, text) for text in ("x", "y", "aa"))
    for patterns in ((first, second, third), (first, third, second), (third, first, second), (first, first, third)):
        index = PrincipalIndex(lambda of=patterns: iter([("User:a", of)]))  # type: ignore[misc]
        assert [index.meeting([NameSet("a")]) for _ in range(10)] == [{"User:a"}] * 10
        assert [index.meeting([NameSet("b")]) for _ in range(10)] == [set()] * 10


def test_hosts_with_rules_on_a_name() -> None:
    hosts = ("*", "10.0.0.1", "10.0.0.2")
    for few in FEW[::3]:
        # Some name sets have entries for any host alone.
        rules = {
            host: {key: 1 for number, key in enumerate(few) if host == "*" or (number + at) % 3 == 0}
            for at, host in enumerate(hosts)
        }
        index = HostIndex(rules)
        for key in SETS:
            narrower = [name for name in own(key, few) if key == literal("*") or name != "*"]
            if narrower and key != ALL_NAMES:
                expected = {h for h in hosts[1:] if any(narrower[0] in applied(one) for one in rules[h])}
                assert set(index.at(key)) == expected, (few, key)
            found = index.on(key, inside(sorted(few), key) if key != ASTERISK_NAMES else ())
            assert len(set(found)) == len(found)
            if key != ASTERISK_NAMES:
                shared = {h for h in hosts[1:] if any(applied(one) & held(key) for one in rules[h])}
                assert set(found) >= shared
                # A prefix that contains the zone and applies to all of it, or one inside: nothing else is told.
                assert {h for h in found if not any(held(one) & held(key) for one in rules[h])} == set()


def _names(kind: ResourceType) -> list[str]:
    """A small universe: for topics without asterisks; ``CLUSTER`` has one name."""
    if kind is CLUSTER:
        return [CLUSTER_NAME]
    return NAMES if kind is GROUP else [name for name in NAMES if "*" not in name]


def test_which_names_a_resource_can_have() -> None:
    for kind, name in product((TOPIC, GROUP, CLUSTER), [*NAMES, CLUSTER_NAME, "", ".", "..", "a" * 249, "a" * 250]):
        legal = {
            TOPIC: bool(name) and "*" not in name and name not in (".", "..") and len(name) < 250,
            GROUP: bool(name),
            CLUSTER: name == CLUSTER_NAME,
        }[kind]
        assert is_name(kind, name) is legal
        assert not name or has_names(kind, literal(name)) is legal
    for kind, key in product((TOPIC, GROUP, CLUSTER), SETS):
        assert has_names(kind, key) is bool(held(key, _names(kind))), (kind, key)


def _resource_sets(kind: ResourceType) -> list[ResourceSet]:
    found = []
    for key in SETS:
        parts = [other for other in SETS if held(other) < held(key)]
        for size in (0, 1, 2):
            apart = (cuts for cuts in combinations(parts, size) if outermost(cuts) == sorted(cuts))
            found += [ResourceSet(kind, key, tuple(sorted(cuts))) for cuts in apart]
    return found


def _in(resources: ResourceSet) -> set[str]:
    names = _names(resources.resource_type)
    return held(resources.names, names).difference(*(held(cut, names) for cut in resources.cuts))


def test_a_region_is_a_set_without_what_is_cut_out() -> None:
    for kind in (TOPIC, GROUP, CLUSTER):
        for resources in _resource_sets(kind):
            names = _in(resources)
            assert {name for name in _names(kind) if resources.contains(name)} == names
            assert resources.select(sorted(_names(kind))) == sorted(names)
            shortest = min(map(len, names), default=None)
            witness = resources.witness()
            assert (None if witness is None else len(witness)) == shortest, resources
            assert witness is None or (is_name(kind, witness) and resources.contains(witness))
            assert shortest_name(kind, resources.names, resources.cuts) == witness
            for key in SETS:
                assert resources.meets(key) is bool(names & held(key, _names(kind))), (resources, key)


def test_resource_sets_less_others_are_the_names_that_are_left() -> None:
    resource_sets = _resource_sets(GROUP)
    some: Sequence[ResourceSet] = [*resource_sets[::7], ResourceSet(TOPIC), ResourceSet(TOPIC, NameSet("a"))]
    for resources, other in product(some, some):
        left = less([resources], [other])
        expected = _in(resources) - (_in(other) if resources.resource_type is other.resource_type else set())
        parts = [_in(part) for part in left]
        assert set[str]().union(*parts) == expected, (resources, other)
        assert sum(map(len, parts)) == len(expected)
        assert all(part.resource_type is resources.resource_type for part in left)
        assert all(part.names.contains(cut) for part in left for cut in part.cuts)
    assert less([ResourceSet(GROUP)], [ResourceSet(GROUP, NameSet("a")), ResourceSet(GROUP, NameSet("b"))]) == [
        ResourceSet(GROUP, ALL_NAMES, (NameSet("a"), NameSet("b")))
    ]


def test_the_name_that_brokers_make_up_is_one_that_a_topic_can_have() -> None:
    assert is_name(TOPIC, PROBE)
