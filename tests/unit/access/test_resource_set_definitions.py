"""Regions of constant effect, sets of host classes and grants, by their definition over small trees and lists."""

import random
from collections.abc import Iterable
from itertools import combinations

import pytest

from reconciler.access.assertions import OperationGrants
from reconciler.access.authorizer import Authorizer
from reconciler.access.hosts import ClassSet, Hosts, RangeIndex, host_classes, is_dead
from reconciler.access.index import Index
from reconciler.access.interpretation import Work, unnamed_principal
from reconciler.access.names import ALL_NAMES, ASTERISK_NAMES, NameSet, ResourceSet, literal
from reconciler.access.resource_sets import NodeTree, ResourceClasses, ResourceSets, Span
from reconciler.model.acl import AclOperation, AclPermissionType, ResourceType
from reconciler.model.flavor import KafkaVersion
from tests.property.access_naive import host_applies
from tests.unit.access.test_name_definitions import NAMES, SETS, applied, held
from tests.worlds import bindings

GROUP = ResourceType.GROUP
VERSION = (4, 4)
CHANCE = 60


def _trees(seed: int, count: int) -> list[NodeTree]:
    chance = random.Random(seed)
    return [NodeTree(sorted({ALL_NAMES, *chance.sample(SETS, chance.randrange(9))})) for _ in range(count)]


def test_a_tree_says_which_node_is_in_which() -> None:
    for tree in _trees(1, CHANCE):
        for number, key in enumerate(tree.nodes):
            around = [at for at, other in enumerate(tree.nodes) if held(key) < held(other)]
            closest = min(around, key=lambda at: len(held(tree.nodes[at])), default=-1)
            assert tree.parents[number] == closest
            inner = [at for at, other in enumerate(tree.nodes) if held(other) <= held(key)]
            assert inner == list(range(number, tree.ends[number]))
        for touched in combinations(range(len(tree.nodes)), 2):
            spans = tree.spans(touched)
            inside = {at for one in touched for at in range(one, tree.ends[one])}
            assert [at for span in spans for at in range(*span)] == sorted(inside)
            assert {span.start for span in spans} <= set(touched)
        assert tree.spans([]) == []
    assert Span(1, 3).end == 3


def _names_by_effect(tree: NodeTree, effects: list[int]) -> dict[str, int]:
    """What the narrowest node around a name says."""
    found = {}
    for name in NAMES:
        around = [at for at, key in enumerate(tree.nodes) if name in held(key)]
        found[name] = effects[min(around, key=lambda at: len(held(tree.nodes[at])))]
    return found


def test_resource_sets_have_each_name_once_with_the_effect_of_its_narrowest_node() -> None:
    chance = random.Random(2)
    for tree in _trees(3, CHANCE):
        effects = [chance.randrange(3) for _ in tree.nodes]
        work = Work()
        found = ResourceSets(GROUP, tree, effects.__getitem__, work).all()
        assert work.spent == len(tree.nodes)
        for name, effect in _names_by_effect(tree, effects).items():
            assert [there for resources, there in found if resources.contains(name)] == [effect]
        for resources, effect in found:
            assert resources.resource_type is GROUP
            assert list(resources.cuts) == sorted(resources.cuts)
            # A node like the one around it is no region of its own.
            around = [there for other, there in found if resources.names in other.cuts]
            assert effect not in around
            assert len(around) == (0 if resources.names == ALL_NAMES else 1)


def test_what_is_replaced_for_one_class_is_what_comparing_all_of_it_finds() -> None:
    chance = random.Random(4)
    for tree in _trees(5, 200):
        usual = [chance.randrange(3) for _ in tree.nodes]
        touched = sorted(chance.sample(range(len(tree.nodes)), chance.randrange(len(tree.nodes))))
        spans = tree.spans(touched)
        inside = {at for span in spans for at in range(*span)}
        other = [chance.randrange(3) if at in inside else effect for at, effect in enumerate(usual)]
        for wanted in ({0, 1, 2}, {0}, {1, 2}):
            work = Work()
            resource_sets = ResourceSets(GROUP, tree, usual.__getitem__, work)
            before = set(resource_sets.all())
            assert work.spent == len(tree.nodes)
            lacking, instead = resource_sets.replaced(spans, other.__getitem__, wanted=wanted.__contains__)
            assert set(resource_sets.all()) == before
            after = set(ResourceSets(GROUP, tree, other.__getitem__, Work()).all())
            assert set(lacking) <= before
            assert len(set(instead)) == len(instead)
            anew = (before - set(lacking)) | set(instead)
            shown = [{item for item in items if item[1] in wanted} for items in (anew, after)]
            assert shown[0] == shown[1], (tree.nodes, usual, other, spans)
            assert work.spent >= len(tree.nodes) + len(inside)
            assert not spans or work.spent > len(tree.nodes)


def test_resource_sets_of_many_classes() -> None:
    one, two = (ResourceSet(GROUP, NameSet(text)) for text in "ab")
    found = ResourceClasses[int](lambda effect: effect > 0)
    found.add([(one, 1), (two, 0)], 3)
    found.lack([(one, 1), (two, 0)], 4)
    found.usual([(one, 1), (two, 0), (two, 2)], {5})
    assert found.keys() == {(one, 1), (two, 2)}
    assert found[one, 1] == ClassSet([3], {4, 5}, usual=True)
    assert found[two, 2] == ClassSet([], {5}, usual=True)


TEXTS = (
    "10.0.0.1",
    "10.0.0.2",
    "10.0.0.0/30",
    "10.0.0.2/31",
    "0.0.0.0/0",
    "::/0",
    "0:0:0:0:0:0:0:1",
    "localhost",
    "::1",
)


@pytest.mark.parametrize("version", [(4, 3), (4, 4)])
def test_a_set_of_classes_is_told_as_the_hosts_that_it_has(version: tuple[int, int]) -> None:
    for size in range(4):
        for texts in combinations(TEXTS, size):
            classes = host_classes([*texts, "*"], version)
            numbers = range(len(classes))
            for members in (part for count in range(len(classes) + 1) for part in combinations(numbers, count)):
                rest = set(numbers) - set(members)
                forms = [ClassSet(list(members))]
                # What is usual is so for the first class.
                if 0 in members and classes[0].label == "*":
                    forms += [
                        ClassSet([], rest, usual=True),
                        ClassSet([members[-1]], {*rest, members[-1]} - {0}, usual=True),
                    ]
                for where in forms:
                    hosts = where.hosts(classes, version)
                    assert (hosts is None) is (not members)
                    if hosts is None:
                        continue
                    told = [number for number, one in enumerate(classes) if hosts.contains(one.sample, version)]
                    assert told == list(members), (classes, where, hosts)
                    assert any(where.example(classes) == classes[number].sample for number in members)
                    assert hosts == forms[0].hosts(classes, version)


def test_classes_of_hosts_are_the_sets_that_texts_tell_apart() -> None:
    probes = [
        "10.0.0.0",
        "10.0.0.1",
        "10.0.0.2",
        "10.0.0.3",
        "10.0.0.9",
        "192.0.2.0",
        "0:0:0:0:0:0:0:1",
        "0:0:0:0:0:0:0:2",
        "0.0.0.0",  # noqa: S104 - nothing is bound
    ]
    for size in range(4):
        for texts in combinations((*TEXTS, "::/0", "0.0.0.0"), size):  # noqa: S104
            for version in ((4, 3), (4, 4)):
                classes = host_classes([*texts, *texts, "*"], version)

                def applying(host: str, texts: tuple[str, ...] = texts, version: tuple[int, int] = version) -> set[str]:
                    # A text that no connection has is none that tells hosts apart.
                    return {text for text in texts if host_applies(text, host, version) and not is_dead(text, version)}

                told = {frozenset(applying(one.sample)) for one in classes}
                assert len(told) == len(classes)
                assert {frozenset(applying(host)) for host in probes} <= told
                for one in classes:
                    assert one.label == "*" or one.label in applying(one.sample)
                    assert (one.label == "*") is (not applying(one.sample))
                labels = [one.label for one in classes]
                assert "*" not in labels[1:]


def within(label: str, ranges: Iterable[str], version: KafkaVersion) -> bool:
    """Whether all hosts of ``label`` are in one of ``ranges``."""
    return any(RangeIndex(ranges, version).around(label))


def test_labels_within_ranges() -> None:
    ranges = ("10.0.0.0/30", "10.0.0.2/31", "0.0.0.0/0", "::/0")
    singles = ("10.0.0.1", "10.0.0.2", "10.0.0.9", "0:0:0:0:0:0:0:1")
    for size in range(3):
        for outer in combinations((*ranges, *singles[:1]), size):
            for host in singles:
                expected = any(host_applies(text, host, VERSION) for text in outer if "/" in text)
                assert within(host, outer, VERSION) is expected
                assert not within(host, outer, (4, 3))
            for text in ranges:
                own = [host for host in ("10.0.0.0", "10.0.0.1", *singles) if host_applies(text, host, VERSION)]
                whole = any("/" in one and all(host_applies(one, host, VERSION) for host in own) for one in outer)
                assert within(text, outer, VERSION) is whole
            assert not within("localhost", outer, VERSION)


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        (Hosts(any_host=True), "any host"),
        (Hosts(any_host=True, but=("10.0.0.1", "10.0.0.2")), "any host but 10.0.0.1, 10.0.0.2"),
        (Hosts(any_host=True, listed=("10.0.0.1",), but=("10.0.0.0/8",)), "any host but 10.0.0.0/8, and 10.0.0.1"),
        (Hosts(any_host=False, listed=("10.0.0.1", "10.0.0.2")), "10.0.0.1, 10.0.0.2"),
        (Hosts(any_host=False, listed=("10.0.0.0/8",), but=("10.0.0.1",)), "10.0.0.0/8 but 10.0.0.1"),
    ],
)
def test_hosts_in_words(hosts: Hosts, words: str) -> None:
    assert str(hosts) == words


def test_an_address_is_no_example_where_an_entry_names_it() -> None:
    taken = ["192.0.2.0", "192.0.2.1", "192.0.2.3"]
    assert host_classes(taken, VERSION)[0].sample == "192.0.2.2"
    assert host_classes(["192.0.2.0/24"], VERSION)[0].sample == "198.51.100.0"
    assert host_classes(["192.0.2.0/24", "198.51.100.0/24"], VERSION)[0].sample == "203.0.113.0"
    blocks = ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"]
    assert host_classes(blocks, VERSION)[0].sample == "0.0.0.1"
    assert host_classes([*blocks, "0.0.0.0/8"], VERSION)[0].sample == "1.0.0.0"
    assert host_classes(["0.0.0.0/0"], VERSION)[0].sample == "2001:db8:0:0:0:0:0:0"
    assert host_classes(["0.0.0.0/0", "2001:db8::/32"], VERSION)[0].sample == "0:0:0:0:0:0:0:0"
    halves = ["10.0.0.0/31", "10.0.0.0/32", "10.0.0.1/32"]
    assert {one.label for one in host_classes(halves, VERSION)} == {"*", *halves[1:]}
    nowhere = "0.0.0.0"  # noqa: S104 - nothing is bound
    for everywhere in (["0.0.0.0/0", "::/0"], ["0.0.0.0/1", "128.0.0.0/1", "::/0"], ["0.0.0.0/0", "::/1", "8000::/1"]):
        assert host_classes(everywhere, VERSION)[0] == ("*", nowhere)
        assert "*" not in {one.label for one in host_classes([*everywhere, nowhere], VERSION)}


def test_addresses_that_java_shows_otherwise_are_no_example() -> None:
    """Where ranges take all of ::/79 before ::ffff:0:0/96, which is shown as IPv4, the next host comes after that."""
    below = [f"::{0x10000 - (1 << 16 - bits) * 2:x}:0:0/{80 + bits}" for bits in range(1, 17)]
    found = {one.label: one.sample for one in host_classes([*below, "::/79", "::/80"], VERSION)}
    assert found["::/79"] == "0:0:0:0:1:0:0:0"
    assert "::/80" not in found


def test_grants_of_an_operation_are_those_that_give_it_on_a_shared_name() -> None:
    pool = bindings(
        *(
            f"{kind}:{where} {who} {what}"
            for kind in ("GROUP", "TOPIC")
            for where in ("L:*", "P:*", "L:a", "P:a", "L:aa", "L:*a", "P:aa")
            for who in ("User:a@*", "User:*@10.0.0.1", "nobody@*")
            for what in ("ALLOW READ", "ALLOW DESCRIBE", "ALLOW ALL", "ALLOW DELETE", "DENY READ")
        )
    )
    chance = random.Random(8)
    for _ in range(60):
        few = chance.sample(pool, 6)
        for operation in (AclOperation.READ, AclOperation.DESCRIBE):
            giving = {AclOperation.ALL, operation}
            if operation is AclOperation.DESCRIBE:
                giving |= {AclOperation.READ, AclOperation.DELETE}
            grants = OperationGrants(Index(few, VERSION), GROUP, operation)
            expected = {
                (_key(one.pattern.name, int(one.pattern.pattern_type)), one.entry.principal, one.entry.host)
                for one in few
                if one.pattern.resource_type is GROUP
                and ":" in one.entry.principal
                and one.entry.permission_type is AclPermissionType.ALLOW
                and one.entry.operation in giving
            }
            assert grants.principals == {who for _, who, _ in expected}
            for names in SETS:
                found = list(grants.meeting(names))
                if names != ASTERISK_NAMES:
                    assert {tuple(grant) for grant in found} == {one for one in expected if one[0].meets(names)}
                    assert len(set(found)) == len(found)
                lengths = [len(grant.names.text) for grant in found]
                assert lengths == sorted(lengths)
                for grant in found if names != ASTERISK_NAMES else ():
                    zone = grant.zone(names)
                    granted = applied(grant.names) & held(names)
                    shared = set[str]() if zone is None else held(zone[0]).difference(*map(held, zone[1]))
                    # The name of an asterisk alone is in LITERAL *, and is looked for on its own.
                    assert shared - {"*"} == granted - {"*"}, (grant, names)


def _key(name: str, pattern_type: int) -> NameSet:
    if pattern_type == 4:
        return NameSet(name)
    return ALL_NAMES if name == "*" else literal(name)


def test_who_stands_for_everybody_else_is_named_by_nobody() -> None:
    name = "User:anyone-else"
    taken = Authorizer(bindings(f"TOPIC:L:a {name}@* ALLOW READ", f"GROUP:L:a {name}--@* ALLOW READ")).interpretations
    empty = Index([], VERSION)
    assert unnamed_principal([empty]) == name
    assert unnamed_principal([empty], {name}) == f"{name}-"
    assert unnamed_principal([empty, taken.certain], {f"{name}-"}) == f"{name}---"
    assert unnamed_principal([taken.certain, empty]) == f"{name}-"


def test_resource_sets_in_words_count_what_they_leave_out() -> None:
    def listed(count: int, shown: int = 3) -> str:
        return ResourceSet(GROUP, ALL_NAMES, tuple(literal(f"t{n}") for n in range(count))).describe(shown)

    assert listed(0) == "all groups"
    assert listed(1) == "all groups except `t0`"
    assert listed(2) == "all groups except `t0` and `t1`"
    assert listed(4) == "all groups except `t0`, `t1`, `t2` and `t3`"
    assert listed(5) == "all groups except `t0`, `t1`, `t2` and 2 more"
    assert listed(2_000, 1) == "all groups except `t0` and 1,999 more"
    assert (
        ResourceSet(GROUP, ASTERISK_NAMES).describe()
        == "groups that the pattern `*` misses: those starting with `*` and longer"
    )
    assert ResourceSet(GROUP, NameSet("a"), (ASTERISK_NAMES,)).describe() == "groups starting with `a`"
    assert ResourceSet(GROUP, literal("a")).describe() == "group `a`"
    assert {str(ResourceSet(kind)) for kind in (ResourceType.CLUSTER,)} == {"the cluster"}
