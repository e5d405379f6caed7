"""Bridges are told from what people mean by their markers, whatever the names are."""

from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.acl import AclBinding, ResourcePattern, ResourceType
from reconciler.model.markers import (
    BRIDGED_TYPES,
    NOBODY,
    bridge_on,
    marker_of,
    markers,
    standing_bridges,
    without_bridges,
    without_harmless,
    without_own,
)
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from tests.property.strategies import bindings, patterns, wild_names

RUN = "20260101T000000Z-0a1b2c3d"
X = ResourcePattern(ResourceType.TOPIC, "x")


BRIDGED = patterns(wild_names).filter(lambda p: p.resource_type in BRIDGED_TYPES and not is_reserved(p.name))


@given(BRIDGED)
def test_a_marker_says_which_bridge_it_marks(pattern: ResourcePattern) -> None:
    marker = marker_of(RUN, pattern)
    assert is_reserved(marker.pattern.name)
    assert marker.entry.principal == NOBODY
    assert markers([marker]) == {marker: (RUN, bridge_on(pattern))}


@given(patterns(wild_names).filter(lambda p: p.resource_type not in BRIDGED_TYPES or is_reserved(p.name)))
def test_nothing_marks_what_no_run_bridges(pattern: ResourcePattern) -> None:
    live = frozenset({bridge_on(pattern), marker_of(RUN, pattern)})
    assert standing_bridges(live) == frozenset()


def test_a_name_longer_than_a_topic_can_have_one() -> None:
    pattern = ResourcePattern(ResourceType.GROUP, "g" * 3_000)
    assert markers([marker_of(RUN, pattern)])[marker_of(RUN, pattern)].bridge == bridge_on(pattern)


@given(st.frozensets(bindings, max_size=8), st.frozensets(BRIDGED, max_size=3), st.frozensets(BRIDGED, max_size=3))
def test_what_has_no_marker_is_no_bridge_and_a_marker_alone_makes_none(
    others: frozenset[AclBinding], marked: frozenset[ResourcePattern], alone: frozenset[ResourcePattern]
) -> None:
    bridges = {bridge_on(pattern) for pattern in marked}
    live = others | bridges | {marker_of(RUN, pattern) for pattern in marked | alone}
    expected = bridges | {bridge_on(pattern) for pattern in alone if bridge_on(pattern) in others}
    assert standing_bridges(live) == expected
    state = ClusterState("c", live)
    assert without_bridges(state, True).bindings == live - expected
    assert without_own(state, True).bindings == others - expected


@given(st.frozensets(BRIDGED, min_size=1, max_size=3), st.sampled_from([False, None]))
def test_where_default_allow_is_not_declared_on_a_marker_hides_nothing(
    marked: frozenset[ResourcePattern], default_allow: bool | None
) -> None:
    bridges = frozenset(bridge_on(pattern) for pattern in marked)
    state = ClusterState("c", bridges | {marker_of(RUN, pattern) for pattern in marked})
    assert without_bridges(state, default_allow) is state
    assert without_own(state, default_allow).bindings == bridges
    assert without_harmless(state).bindings == bridges


def test_a_state_without_any_is_the_same_object() -> None:
    state = ClusterState("c", frozenset({bridge_on(X)}))
    assert without_bridges(state, True) is state
    assert without_own(state, True) is state
    assert without_harmless(state) is state


def test_what_only_looks_like_a_marker_is_none() -> None:
    right = marker_of(RUN, X)
    names = [
        f"__kr.{RUN}.bridge.TOPIC.LITERAL.",
        f"__kr.{RUN}.bridge.TOPICS.LITERAL.x",
        f"__kr.{RUN}.bridge.TOPIC.MATCH.x",
        f"__kr.{RUN}.bridge.ANY.LITERAL.x",
        "__kr.bridge.TOPIC.LITERAL.x",
        f"x.__kr.{RUN}.bridge.TOPIC.LITERAL.x",
    ]
    wrong = [AclBinding(ResourcePattern(ResourceType.TOPIC, name), right.entry) for name in names]
    wrong.append(AclBinding(right.pattern, right.entry.__class__("User:eve", *right.entry[1:])))
    wrong.append(AclBinding(ResourcePattern(ResourceType.GROUP, right.pattern.name), right.entry))
    assert markers(wrong) == {}
