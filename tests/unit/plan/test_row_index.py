"""Rows of an access difference found by names and hosts as a look at each of them finds them."""

from dataclasses import replace
from itertools import product
from random import Random
from typing import Final

from reconciler.access.difference import DifferenceRow, Witness
from reconciler.access.hosts import ANY_HOST, Hosts
from reconciler.access.names import ALL_NAMES, ASTERISK_NAMES, NameSet, ResourceSet, literal
from reconciler.model.acl import AclOperation, PatternType, ResourcePattern, ResourceType
from reconciler.model.scope import NameSelector, Selector
from reconciler.plan.review.access_change import pattern_of
from reconciler.plan.review.callouts import RowsByPlace, _Moved, _touches
from reconciler.plan.review.effects import RowIndex

NAMES: Final = (ALL_NAMES, NameSet("x"), literal("x"), literal("xa"), NameSet("xa"), literal("y"))
LABELS: Final = ("10.0.0.1", "10.0.0.2", "10.0.0.0/8")
TYPES: Final = (ResourceType.TOPIC, ResourceType.GROUP)
HOSTS: Final = (
    ANY_HOST,
    Hosts(False, LABELS[:1]),
    Hosts(False, LABELS[1:2]),
    Hosts(False, LABELS[2:]),
    Hosts(False, LABELS[:2]),
)
ROWS: Final = [
    DifferenceRow(
        "User:a",
        hosts,
        ResourceSet(kind, names),
        frozenset({AclOperation.READ}),
        frozenset(),
        Witness("User:a", "10.0.0.1", "x"),
    )
    for kind, names, hosts in product(TYPES, NAMES, HOSTS)
]
PATTERNS: Final = [
    *(ResourcePattern(kind, name) for kind, name in product(TYPES, ("*", "x", "xa", "xab", "y"))),
    *(ResourcePattern(kind, name, PatternType.PREFIXED) for kind, name in product(TYPES, ("x", "xa", "y"))),
]


def may_hold(row: DifferenceRow, host: str | None) -> bool:
    """Whether a row may be about a connection from there; a range is not looked into."""
    return host is None or row.hosts.any_host or host in row.hosts.listed or LABELS[2] in row.hosts.listed


def test_rows_are_found_by_what_their_names_share_and_whom_they_may_be_about() -> None:
    random = Random(1)
    for _ in range(40):
        rows = random.sample(ROWS, random.randint(0, 20))
        index = RowIndex(rows)
        for host in (None, *LABELS[:2], "10.0.0.9"):
            for pattern in PATTERNS:
                found = list(index.overlapping(pattern, host))
                expected = [row for row in rows if pattern_of(row.resources).overlaps(pattern) and may_hold(row, host)]
                assert sorted(map(rows.index, found)) == sorted(map(rows.index, expected))
            for kind in (*TYPES, ResourceType.CLUSTER):
                found = list(index.on(kind, host))
                expected = [row for row in rows if row.resources.resource_type is kind and may_hold(row, host)]
                assert sorted(map(rows.index, found)) == sorted(map(rows.index, expected))


def test_the_pattern_of_a_region_matches_its_names() -> None:
    for kind, names in product(TYPES, NAMES):
        pattern = pattern_of(ResourceSet(kind, names, (literal("xab"),)))
        assert pattern.resource_type is kind
        for name in ("x", "xa", "xab", "y", "yz", "z"):
            assert pattern.matches(name) is names.matches(name)


def test_a_protected_name_is_judged_by_the_rows_that_it_may_be_about() -> None:
    """What a selector touches is among what is found near it, in order, and little else."""
    random, told = Random(2), [replace(row, principal=who) for row in ROWS for who in ("User:a", "User:b", None)]
    names = [
        *(NameSelector((name,)) for name in ("x", "xa", "xb", "*x", "y")),
        *(NameSelector(prefixes=(text,)) for text in ("x", "xa", "*")),
        NameSelector(any_name=True),
        NameSelector(("xa", "y"), ("z",)),
    ]
    who = [None, NameSelector(("User:a",)), NameSelector(("User:c",)), NameSelector(prefixes=("User:b",))]
    selectors = [Selector(one, kind, of) for one, kind, of in product(who, TYPES, names)]
    selectors += [Selector(one) for one in who if one is not None]
    for _ in range(10):
        rows = random.sample(told, 30)
        rows += [
            replace(rows[0], resources=ResourceSet(TYPES[0], ASTERISK_NAMES)),
            replace(rows[0], gained=frozenset()),
        ]
        own = RowsByPlace(rows)
        for selector in selectors:
            touched = [one for one in rows if one.gained and _touches(selector, one, own, frozenset())]
            near = _Moved(rows).near(selector)
            assert [one for one in near if _touches(selector, one, own, frozenset())] == touched


def test_of_many_protected_names_each_is_held_against_its_own_rows() -> None:
    rows = [replace(ROWS[0], resources=ResourceSet(ResourceType.TOPIC, literal(f"t{n}"))) for n in range(50)]
    moved = _Moved(rows)
    for n in range(50):
        selector = Selector(resource_type=ResourceType.TOPIC, names=NameSelector((f"t{n}",)))
        assert moved.near(selector) == [rows[n]]
    others = _Moved([replace(row, principal=f"User:{n}") for n, row in enumerate(rows)])
    assert len(others.near(Selector(NameSelector(("User:7",))))) == 1
