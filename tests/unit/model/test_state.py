"""States, topics and maps are values: equal whatever the order they came in, and never changed."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.acl import KafkaPrincipal, OpaqueBinding
from reconciler.model.desired import Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Update
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, collision_key, topic_name_problem
from tests.property.strategies import live_topics, wild_states

texts = st.dictionaries(st.text(max_size=2), st.text(max_size=2))


@given(texts)
def test_a_map_is_sorted_and_equal_to_any_mapping_with_its_items(items: dict[str, str]) -> None:
    frozen = FrozenMap(items)
    assert frozen == items
    assert list(frozen) == sorted(items)
    assert hash(frozen) == hash(FrozenMap(dict(reversed(items.items()))))
    assert pickle.loads(pickle.dumps(frozen)) == frozen  # noqa: S301 - our own bytes


def test_a_map_is_a_copy() -> None:
    items = {"a": "1"}
    frozen = FrozenMap(items)
    items["a"] = "2"
    assert frozen["a"] == "1"
    with pytest.raises(TypeError):
        frozen["a"] = "2"  # type: ignore[index]  # the point of the test


@given(wild_states)
def test_a_state_survives_pickling(state: ClusterState) -> None:
    assert pickle.loads(pickle.dumps(state)) == state  # noqa: S301 - our own bytes


@given(st.lists(live_topics))
def test_topics_have_an_order(topics: list[Topic]) -> None:
    named = {topic.name: topic for topic in topics}
    assert [topic.name for topic in sorted(named.values())] == sorted(named)


def test_a_state_does_not_depend_on_the_order_of_reading() -> None:
    first, second = OpaqueBinding("b", "User:a", "*", 7, 3, 13, 3), OpaqueBinding("a", "User:a", "*", None, 3, 13, 3)
    a = ClusterState("c", topics={"x": Topic("x"), "y": Topic("y")}, opaque=(first, second))
    b = ClusterState("c", topics={"y": Topic("y"), "x": Topic("x")}, opaque=(second, first))
    assert a == b
    assert repr(a) == repr(b)


def test_entries_that_read_alike_are_each_counted() -> None:
    alike = OpaqueBinding("a", "User:a", "*", None, None, None, 3)
    assert len(ClusterState("c", opaque=(alike, alike)).opaque) == 2


def test_a_change_of_settings_is_sorted_whatever_it_was_made_of() -> None:
    change = Update(TopicConfigs("t", {"b": None, "a": "1"}), TopicConfigs("t", {"b": "2", "a": None}))
    assert [*change.before.configs, *change.after.configs] == ["a", "b", "a", "b"]
    assert hash(change) == hash(
        Update(TopicConfigs("t", {"a": "1", "b": None}), TopicConfigs("t", {"a": None, "b": "2"}))
    )


@pytest.mark.parametrize(
    ("text", "parts"), [("User:alice", ("User", "alice")), ("User:a:b", ("User", "a:b")), (":", ("", ""))]
)
def test_a_principal_is_split_at_the_first_colon(text: str, parts: tuple[str, str]) -> None:
    principal = KafkaPrincipal.parse(text)
    assert principal == parts
    assert str(principal) == text


@pytest.mark.parametrize("text", ["", "alice", "User"])
def test_a_principal_without_a_colon_is_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(ValueError, match=f"'User:{text}'"):
        KafkaPrincipal.parse(text)


@pytest.mark.parametrize(
    ("name", "words"), [("", "empty"), ("..", r"\.\."), ("a" * 250, "250"), ("a b", "ASCII"), ("a\n", "ASCII")]
)
def test_a_bad_topic_name_is_explained(name: str, words: str) -> None:
    problem = topic_name_problem(name)
    assert problem is not None
    assert words.replace("\\", "") in problem


def test_the_longest_name_is_legal() -> None:
    assert topic_name_problem("a" * 249) is None


def test_names_collide_in_dots_and_underscores_only() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c")
    assert collision_key("a.b") != collision_key("A.b")


def test_a_place_reads_as_editors_write_it() -> None:
    assert str(Origin("teams/payments.yaml", 12, 7)) == "teams/payments.yaml:12:7"
