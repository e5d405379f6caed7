"""Coverage and overlap, against brute force over every short name."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.acl import PatternType, ResourcePattern, ResourceType
from reconciler.plan.overlap import PatternIndex, coverage_change

NAMES = ["".join(letters) for size in (1, 2, 3, 4) for letters in product("ab", repeat=size)]
patterns = st.builds(
    ResourcePattern,
    st.just(ResourceType.TOPIC),
    st.sampled_from(["*", "a", "b", "ab", "aba", "ba"]),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
)
sets = st.frozensets(patterns, max_size=5)


def matched(found: frozenset[ResourcePattern] | set[ResourcePattern]) -> set[str]:
    return {name for name in [*NAMES, "*", "*x", "c"] if any(pattern.matches(name) for pattern in found)}


@given(sets, sets)
def test_what_is_closed_and_opened_is_what_brute_force_finds(
    before: frozenset[ResourcePattern], after: frozenset[ResourcePattern]
) -> None:
    change = coverage_change(before, after)
    closed, opened = matched(set(change.closed)), matched(set(change.opened))
    assert matched(after) - matched(before) <= closed
    assert matched(before) - matched(after) <= opened
    for pattern in change.closed:
        assert matched({pattern}) - matched(before), pattern
    for pattern in change.opened:
        assert matched({pattern}) - matched(after), pattern
    assert coverage_change(before, before) == coverage_change((), ())


@given(sets, patterns)
def test_the_index_answers_as_every_pair_does(found: frozenset[ResourcePattern], asked: ResourcePattern) -> None:
    index = PatternIndex(found)
    answers = list(index.overlapping(asked))
    assert len(answers) == len(set(answers))
    assert set(answers) == {pattern for pattern in found if pattern.overlaps(asked)}
    assert index.contains(asked) == any(pattern.contains(asked) for pattern in found)


groups = st.builds(
    ResourcePattern,
    st.just(ResourceType.GROUP),
    st.sampled_from(["*", "*x", "**", "a", "ab"]),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
)
GROUPS = ["".join(letters) for size in (1, 2, 3, 4) for letters in product("*ax", repeat=size)]


def covered(found: frozenset[ResourcePattern] | set[ResourcePattern]) -> set[str]:
    """As brokers find it: LITERAL ``*`` is passed over for names that begin with an asterisk and are longer."""
    return {
        name
        for name in GROUPS
        if any(p.matches(name) and not (p.is_wildcard and name.startswith("*") and name != "*") for p in found)
    }


@given(st.frozensets(groups, max_size=4), st.frozensets(groups, max_size=4))
def test_names_below_an_asterisk_are_not_covered_by_the_wildcard(
    before: frozenset[ResourcePattern], after: frozenset[ResourcePattern]
) -> None:
    change = coverage_change(before, after)
    assert covered(after) - covered(before) <= covered(set(change.closed))
    assert covered(before) - covered(after) <= covered(set(change.opened))
