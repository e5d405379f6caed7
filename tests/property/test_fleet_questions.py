"""Questions over a fleet, against plain definitions: rare bindings, and what is remembered between clusters."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.access.authorizer import Authorizer
from reconciler.access.effective import Access, CommonAccess, access_of
from reconciler.access.names import ALL_NAMES
from reconciler.model.acl import WILDCARD_PRINCIPAL, AclOperation, AclPermissionType, PatternType, ResourceType
from reconciler.model.addresses import RANGES_SINCE
from reconciler.model.flavor import ASSUMED_VERSION, KafkaVersion, supported
from reconciler.model.state import ClusterState
from reconciler.parts.fleet.app.access import AccessReach, ReachMemory, reaches
from reconciler.parts.fleet.tables import COLUMNS
from reconciler.parts.fleet.tasks.comparing import OutlierQuestion, chosen
from reconciler.plan.review.access_change import EVERYBODY_ELSE
from tests.property.strategies import states
from tests.worlds import bindings

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


@given(states(), st.sampled_from([False, True, None]), st.sampled_from([ASSUMED_VERSION, RANGES_SINCE, None]))
def test_what_principals_have_in_common_is_what_each_of_them_has(
    state: ClusterState, default_allow: bool | None, version: KafkaVersion | None
) -> None:
    authorizer = Authorizer(state.bindings, ("User:root",), default_allow, version, opaque=state.opaque)
    common = CommonAccess(authorizer)
    for name in _named(authorizer) | {common.everybody_else}:
        expected = {(row.hosts, row.resources, row.operations, row.certain) for row in access_of(authorizer, name)}
        held = [tuple(row) for kind in ResourceType if kind >= ResourceType.TOPIC for row in common.of(name, kind)]
        assert set(held) == expected
        assert len(held) == len(expected)


#: Names as open as those around them, for all hosts or for some; exceptions in them; rights on all topics by CLUSTER.
_OPEN = (
    "TOPIC:L:a User:a@* ALLOW ALL",
    "TOPIC:P:b User:a@* ALLOW ALL",
    "TOPIC:L:bc User:a@* DENY READ",
    "TOPIC:L:bd User:b@* ALLOW READ",
    "TOPIC:L:d User:b@10.0.0.1 ALLOW ALL",
    "TOPIC:L:e User:*@* ALLOW ALL",
    "TOPIC:L:e User:c@* DENY WRITE",
    "CLUSTER:L:kafka-cluster User:c@* ALLOW CREATE",
    "GROUP:P:* User:c@* ALLOW ALL",
    "GROUP:L:g User:b@* ALLOW READ",
)


@pytest.mark.parametrize("default_allow", [False, True, None])
@pytest.mark.parametrize("left_out", [None, *range(len(_OPEN))])
def test_names_as_open_as_those_around_them(left_out: int | None, default_allow: bool | None) -> None:
    found = bindings(*(text for number, text in enumerate(_OPEN) if number != left_out))
    authorizer = Authorizer(found, (), default_allow, ASSUMED_VERSION)
    common = CommonAccess(authorizer)
    for name in _named(authorizer) | {common.everybody_else}:
        held = {tuple(row) for kind in ResourceType if kind >= ResourceType.TOPIC for row in common.of(name, kind)}
        assert held == {(r.hosts, r.resources, r.operations, r.certain) for r in access_of(authorizer, name)}


@given(states(), st.sampled_from([False, True, None]))
def test_how_far_principals_reach_is_what_each_of_them_may_do(state: ClusterState, default_allow: bool | None) -> None:
    authorizer = Authorizer(state.bindings, ("User:root",), default_allow, opaque=state.opaque)
    found = [row for row in reaches(authorizer, state.topics) if row.principal != "User:root"]
    expected = []
    unnamed = CommonAccess(authorizer).everybody_else
    for name in (*sorted(_named(authorizer)), unnamed):
        shown = EVERYBODY_ELSE if name == unnamed else name
        expected += _rows_of(shown, access_of(authorizer, name), sorted(state.topics))
    assert found == expected


def _named(authorizer: Authorizer) -> set[str]:
    named = {binding.entry.principal for binding in authorizer.bindings}
    return named - authorizer.super_users - {WILDCARD_PRINCIPAL}


def _rows_of(shown: str, held: list[Access], topics: list[str]) -> list[AccessReach]:
    """By the definition of a row: every region of an operation, each topic in one of them counted."""
    rows = []
    for kind in ResourceType:
        for operation in AclOperation:
            parts = [row for row in held if row.resources.resource_type is kind and operation in row.operations]
            resource_sets = sorted({row.resources for row in parts})
            if not resource_sets:
                continue
            assert operation in supported(kind, ASSUMED_VERSION)
            count = sum(any(resources.contains(name) for resources in resource_sets) for name in topics)
            everything = any(resources.names == ALL_NAMES for resources in resource_sets)
            words = [str(resources) for resources in resource_sets]
            counted = count if kind is ResourceType.TOPIC else 0
            certain = all(row.certain for row in parts)
            rows.append(AccessReach(shown, kind.name, operation.name, words, counted, everything, certain))
    return rows


def test_equal_principals_of_known_clusters_are_reckoned_once() -> None:
    memory = ReachMemory()
    for topics in (["a"], ["a", "b"]):
        authorizer = Authorizer(bindings("TOPIC:L:* User:a@* ALLOW READ"), (), False, ASSUMED_VERSION)
        assert {row.topics for row in reaches(authorizer, topics, memory) if row.principal == "User:a"} == {len(topics)}
    assert len(memory.rights) == 2, "User:a, and everybody else"
