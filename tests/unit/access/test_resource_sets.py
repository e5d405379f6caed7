"""Sets of names and of hosts: examples, words, and the ends of what is legal."""

import pytest

from reconciler.access.hosts import HostClass, Hosts, address_range, host_classes, is_dead
from reconciler.access.names import ALL_NAMES, ASTERISK_NAMES, NameSet, ResourceSet, literal, shortest_name
from reconciler.model.acl import ResourceType
from reconciler.model.addresses import address

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."


@pytest.mark.parametrize(
    ("kind", "key", "cuts", "expected"),
    [
        (TOPIC, ALL_NAMES, [], "a"),
        (TOPIC, ALL_NAMES, [NameSet("a"), literal("b")], "c"),
        (TOPIC, NameSet("pay."), [], "pay."),
        (TOPIC, NameSet("pay."), [literal("pay.")], "pay.a"),
        (TOPIC, NameSet("."), [], ".a"),
        (TOPIC, NameSet(".."), [], "..a"),
        (TOPIC, literal("."), [], None),
        (TOPIC, literal("foo*"), [], None),
        (TOPIC, NameSet("foo*"), [], None),
        (TOPIC, NameSet("a" * 249), [], "a" * 249),
        (TOPIC, NameSet("a" * 249), [literal("a" * 249)], None),
        (TOPIC, NameSet("a" * 250), [], None),
        (TOPIC, NameSet("p"), [literal("p"), *(NameSet("p" + letter) for letter in LETTERS)], None),
        (TOPIC, NameSet("p"), [literal("p"), *(literal("p" + letter) for letter in LETTERS)], "paa"),
        (TOPIC, NameSet("p"), [literal("p"), NameSet("pa"), *(literal("p" + letter) for letter in LETTERS[1:])], "pba"),
        (TOPIC, ASTERISK_NAMES, [], None),
        (GROUP, ASTERISK_NAMES, [], "*a"),
        (GROUP, NameSet("*"), [ASTERISK_NAMES], "*"),
        (GROUP, NameSet("*"), [ASTERISK_NAMES, literal("*")], None),
        (GROUP, NameSet("p"), [literal("p"), *(NameSet("p" + letter) for letter in LETTERS)], "p\u00a1"),
        (GROUP, literal("."), [], "."),
        (CLUSTER, ALL_NAMES, [], "kafka-cluster"),
        (CLUSTER, NameSet("kafka"), [literal("kafka-cluster")], None),
        (CLUSTER, literal("other"), [], None),
    ],
)
def test_the_shortest_name(kind: ResourceType, key: NameSet, cuts: list[NameSet], expected: str | None) -> None:
    assert shortest_name(kind, key, cuts) == expected
    assert ResourceSet(kind, key, tuple(cuts)).witness() == expected


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        (ResourceSet(TOPIC), "all topics"),
        (ResourceSet(TOPIC, literal("a")), "topic `a`"),
        (ResourceSet(CLUSTER, literal("kafka-cluster")), "the cluster"),
        (
            ResourceSet(TOPIC, NameSet("pay."), (NameSet("pay.audit."),)),
            "topics starting with `pay.` except those starting with `pay.audit.`",
        ),
        (
            ResourceSet(GROUP, ALL_NAMES, (literal("b"), NameSet("a"), ASTERISK_NAMES)),
            "all groups except `b` and those starting with `a`",
        ),
        (
            ResourceSet(ResourceType.TRANSACTIONAL_ID, NameSet("t"), tuple(literal(f"t{n}") for n in range(6))),
            "transactional ids starting with `t` except `t0`, `t1`, `t2` and 3 more",
        ),
    ],
)
def test_resource_sets_in_words(resources: ResourceSet, words: str) -> None:
    assert str(resources) == words


def test_a_region_selects_the_names_that_exist() -> None:
    names = sorted(["pay.a", "pay.audit.x", "pay.b", "pay", "q", "pay.b.c"])
    assert ResourceSet(TOPIC, NameSet("pay."), (NameSet("pay.audit."), literal("pay.b"))).select(names) == [
        "pay.a",
        "pay.b.c",
    ]
    assert ResourceSet(TOPIC, literal("q")).select(names) == ["q"]
    assert ResourceSet(GROUP, ALL_NAMES, (ASTERISK_NAMES,)).select(["*", "*a", "b"]) == ["*", "b"]


@pytest.mark.parametrize(
    ("text", "is_host"),
    [
        ("10.0.0.1", True),
        ("010.0.0.1", False),
        ("0:0:0:0:0:0:0:1", True),
        ("::1", False),
        ("2001:DB8:0:0:0:0:0:A", False),
        ("0:0:0:0:0:ffff:a00:1", False),
        ("fe80:0:0:0:0:0:0:1%eth0", True),
        ("localhost", False),
        ("", False),
    ],
)
def test_hosts_are_what_java_prints(text: str, is_host: bool) -> None:
    assert (address(text) is not None) is is_host
    assert is_dead(text, (4, 4)) is not is_host


@pytest.mark.parametrize(
    ("text", "is_range"),
    [
        ("10.0.0.0/8", True),
        ("010.0.0.1/08", True),
        ("10.0.0.0/33", False),
        ("10.0.256.0/8", False),
        ("10.0.0/8", False),
        ("2001:db8::/32", True),
        ("[2001:db8::]/+32", True),
        ("2001:db8::/129", False),
        ("::ffff:10.0.0.0/104", False),
        ("host/8", False),
    ],
)
def test_ranges_are_read_as_commons_net_reads_them(text: str, is_range: bool) -> None:
    assert (address_range(text, (4, 4)) is not None) is is_range
    assert address_range(text, (4, 3)) is None


def test_classes_of_hosts_are_apart_and_leave_out_what_cannot_be() -> None:
    found = host_classes(["*", "10.0.0.1", "10.0.0.0/31", "10.0.0.0/30", "::1", "10.0.0.0"], (4, 4))
    assert found == [
        HostClass("*", "192.0.2.0"),
        HostClass("10.0.0.0", "10.0.0.0"),
        HostClass("10.0.0.1", "10.0.0.1"),
        HostClass("10.0.0.0/30", "10.0.0.2"),
    ]
    # 0.0.0.0 is in no range, so these two leave it out.
    assert [found.label for found in host_classes(["0.0.0.0/0", "::/0"], (4, 4))] == ["*", "0.0.0.0/0", "::/0"]


def test_the_narrowest_label_decides_about_a_host() -> None:
    hosts = Hosts(any_host=True, listed=("10.0.0.1",), but=("10.0.0.0/8",))
    assert str(hosts) == "any host but 10.0.0.0/8, and 10.0.0.1"
    assert [hosts.contains(host, (4, 4)) for host in ("10.0.0.1", "10.0.0.2", "11.0.0.1")] == [True, False, True]


def test_a_sample_of_a_range_is_in_no_range_inside_it_however_they_nest() -> None:
    """The last of the inner ranges is not the one that ends last."""
    found = {one.label: one.sample for one in host_classes(["10.0.0.0/8", "10.0.0.0/16", "10.0.5.0/24"], (4, 4))}
    assert (found["10.0.0.0/8"], found["10.0.0.0/16"]) == ("10.1.0.0", "10.0.0.0")


def test_the_widest_range_decides_where_no_narrower_one_does() -> None:
    """A range of length 0 is a label like any other, and stronger than what holds for hosts that have none."""
    assert Hosts(any_host=False, listed=("0.0.0.0/0",)).contains("10.0.0.1", (4, 4))
    assert not Hosts(any_host=True, but=("0.0.0.0/0",)).contains("10.0.0.1", (4, 4))
    assert Hosts(any_host=True, but=("0.0.0.0/0",)).contains("0:0:0:0:0:0:0:1", (4, 4))
