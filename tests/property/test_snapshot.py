"""Laws of the snapshot: what is written is what is read, equal states are equal bytes, and the schema agrees."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from reconciler.model.state import ClusterState
from reconciler.snapshot.document import BrokerFacts, Snapshot, parse_document, parse_snapshot, snapshot_text
from tests.property.strategies import states, wild_states

SCHEMA = Draft7Validator(json.loads((Path(__file__).parents[2] / "schema/snapshot.json").read_text(encoding="utf-8")))

broker_facts = st.builds(
    BrokerFacts,
    st.integers(1, 9),
    st.integers(1, 3),
    st.none() | st.lists(st.integers(0, 9), max_size=4).map(tuple),
    st.integers(0, 9),
)


@given(wild_states)
def test_a_state_comes_back_exactly(state: ClusterState) -> None:
    assert parse_snapshot(snapshot_text(state)) == state


@given(states(), broker_facts)
def test_what_is_said_of_the_brokers_comes_back_exactly(state: ClusterState, broker: BrokerFacts) -> None:
    assert parse_document(snapshot_text(state, broker)) == Snapshot(state, broker)


@given(wild_states)
def test_equal_states_are_equal_bytes(state: ClusterState) -> None:
    shuffled = ClusterState(
        cluster_id=state.cluster_id,
        bindings=frozenset(sorted(state.bindings, reverse=True)),
        topics=dict(sorted(state.topics.items(), reverse=True)),
        opaque=state.opaque[::-1],
        unreadable_topics=dict(sorted(state.unreadable_topics.items(), reverse=True)),
        acl_gap=state.acl_gap,
        topic_gap=state.topic_gap,
    )
    assert snapshot_text(shuffled).encode() == snapshot_text(state).encode()


@given(wild_states, broker_facts)
def test_what_is_written_is_what_the_schema_describes(state: ClusterState, broker: BrokerFacts) -> None:
    SCHEMA.validate(json.loads(snapshot_text(state, broker)))


@given(wild_states)
def test_no_line_holds_a_character_that_moves_the_others(state: ClusterState) -> None:
    text = snapshot_text(state)
    assert text.endswith("}\n")
    assert not set(text) & set("\r\x1b\x85\u2028\u202e\ufeff")
