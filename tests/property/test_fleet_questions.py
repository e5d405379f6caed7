"""Questions over a fleet, against plain definitions: rare bindings, and what is remembered between clusters."""

import json

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from reconciler.access import Authorizer
from reconciler.access.operations import ASSUMED_VERSION
from reconciler.adapters.spark.outlying import OutlierQuestion, chosen
from reconciler.fleet import COLUMNS
from reconciler.fleet.access_reach import ReachMemory, reaches
from reconciler.model import AclOperation, AclPermissionType, ClusterState, PatternType, ResourceType
from tests.property.strategies import states
from tests.unit.access.bindings import bindings

_CLUSTERS = "abcdefg"
held = st.dictionaries(st.tuples(st.sampled_from("xyz"), st.sampled_from([3, 4])), st.sets(st.sampled_from(_CLUSTERS)))


def _table(name: str, operation: int, group: str, clusters: list[str]) -> pl.DataFrame:
    row = dict(zip(COLUMNS, (2, name, 3, "User:a", "*", operation, 3), strict=True))
    schema = {key: pl.Int8 for key, value in row.items() if isinstance(value, int)}
    return pl.DataFrame({"label_group": [group], **{key: [value] for key, value in row.items()}}).with_columns(
        *(pl.col(key).cast(kind) for key, kind in schema.items()), clusters=pl.Series([clusters])
    )


@given(held, st.lists(st.sampled_from("gh"), min_size=7, max_size=7), st.sampled_from([0, 2, 30]), st.integers(1, 9))
def test_rare_bindings_are_those_of_the_definition(
    having: dict[tuple[str, int], set[str]], labels: list[str], percent: int, most: int
) -> None:
    groups = dict(zip(_CLUSTERS, labels, strict=True))
    tables, expected = [], []
    for (name, operation), clusters in having.items():
        for group in "gh":
            members = {cluster for cluster in _CLUSTERS if groups[cluster] == group}
            here = clusters & members
            # As tasks tell it: each of the clusters that it has read.
            tables += [_table(name, operation, group, [cluster]) for cluster in sorted(here)]
            holders, size = len(here), len(members)
            few = max(1, size * percent / 100)
            if not here or size < 3 or holders == size or few < min(holders, size - holders):
                continue
            rare = 2 * holders < size
            what = ["only here" if rare else "only missing here", sorted(here if rare else members - here)]
            binding = (
                ResourceType(2).name,
                name,
                PatternType(3).name,
                "User:a",
                "*",
                AclOperation(operation).name,
                AclPermissionType(3).name,
            )
            order = (min(holders, size - holders), not rare, group, *binding)
            expected.append((order, [group, *binding, holders, size, *what]))
    if tables:
        found = [json.loads(line) for line in chosen(tables, OutlierQuestion(groups, percent, most))]
        assert found == [row for _, row in sorted(expected)][:most]


@given(st.lists(states(), min_size=2, max_size=4), st.sampled_from([False, True, None]))
def test_what_is_remembered_of_other_clusters_changes_no_answer(
    found: list[ClusterState], default_allow: bool | None
) -> None:
    memory = ReachMemory()
    for state in [*found, *found]:
        authorizer = Authorizer(state.bindings, ("User:root",), default_allow, opaque=state.opaque)
        assert list(reaches(authorizer, state.topics, memory)) == list(reaches(authorizer, state.topics))


def test_equal_principals_of_known_clusters_are_reckoned_once() -> None:
    memory = ReachMemory()
    for topics in (["a"], ["a", "b"]):
        authorizer = Authorizer(bindings("TOPIC:L:* User:a@* ALLOW READ"), (), False, ASSUMED_VERSION)
        assert {row.topics for row in reaches(authorizer, topics, memory) if row.principal == "User:a"} == {len(topics)}
    assert len(memory.rights) == 2, "User:a, and everybody else"
