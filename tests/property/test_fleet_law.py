"""There is one diff: Spark and the local engine give the same answer on any fleet."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Origin
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.fleet import differences
from reconciler.parts.fleet.differences import changes_of
from reconciler.parts.fleet.membership import pairs
from reconciler.parts.fleet.readings import Place, read_live, write_desired, write_live
from reconciler.parts.fleet.store import DamagedError, FleetStore
from reconciler.parts.fleet.tables import DESIRED_SCHEMA, LIVE_SCHEMA, Row, parquet, row_of, rows_table, store_at
from reconciler.parts.fleet.tasks.comparing import Rules, compare_fleet
from reconciler.plan.difference import DeclaredChange, DiffRules
from reconciler.plan.kinds import CHANGE, compare
from reconciler.results.fleet_drift import DriftCounts, FleetRun
from tests.property.strategies import bindings, live_topics, states, wild_bindings, wild_states

if TYPE_CHECKING:
    from reconciler.parts.fleet.engine import Engine


_NAMES = itertools.count()
any_binding = st.one_of(bindings, wild_bindings)
origins = st.builds(Origin, st.sampled_from(["a.yaml", "teams/b: é.yaml"]), st.integers(1, 9), st.integers(1, 9))
declarations = st.builds(Declaration, origins)
prefixes = st.builds(
    NameSelector,
    literal=st.sampled_from([(), ("User:b",), ("b", "User:b")]),
    prefixes=st.sampled_from([("a",), ("User:a",), (".",), (".", "User:a")]),
)
selectors = st.one_of(
    st.builds(Selector, principals=prefixes), st.just(Selector(principals=NameSelector(any_name=True)))
)
scopes = st.one_of(
    st.just(Scope()),
    st.builds(
        Scope,
        include=st.none() | st.tuples(selectors),
        exclude=st.just(()) | st.tuples(selectors),
        ignore=st.just(()) | st.tuples(selectors),
    ),
)
topic_rules = st.builds(
    DiffRules,
    prune=st.sets(st.sampled_from([Topic.KIND, ClientQuota.KIND])),
    ignore_configs=st.sampled_from([(), ("retention.ms",)]),
)
quota_lists = st.lists(
    st.builds(
        lambda user, client, rate: ClientQuota(QuotaEntity.of(user, client), {"producer_byte_rate": rate}),
        st.sampled_from(["", "a", "b"]),
        st.sampled_from([None, "", "x"]),
        st.integers(1, 3),
    ),
    max_size=3,
    unique_by=lambda quota: quota.entity,
)


@st.composite
def members(draw: st.DrawFn) -> tuple[DesiredState, ClusterState, Scope, Scope, DiffRules]:
    """One cluster: desired and live with much in common, the scope of now and the one of when it was read."""
    live = replace(draw(states(of=any_binding)), topic_gap=None)
    kept = draw(st.lists(st.sampled_from(sorted(live.bindings)), max_size=12)) if live.bindings else []
    wished = {*kept, *draw(st.lists(any_binding, max_size=4))}
    declared = [*draw(st.lists(live_topics, max_size=3)), *live.topics.values()][: draw(st.integers(0, 5))]
    desired = DesiredState(
        {binding: draw(declarations) for binding in wished},
        {
            topic.name: DesiredTopic(replace(topic, topic_id=None), draw(origins), absent=draw(st.booleans()))
            for topic in declared
        },
        {binding: draw(declarations) for binding in sorted(live.bindings - wished)[:2]},
    )
    there = draw(quota_lists)
    quotas = {
        quota.entity: DesiredItem(quota, draw(declarations), draw(st.booleans()), draw(st.booleans()))
        for quota in [*draw(quota_lists), *there[:1]]
    }
    desired = replace(desired, listed={ClientQuota.KIND: quotas} if quotas else {})
    read = draw(st.sampled_from(["read", "read", "refused", "not asked"]))
    items, gap = frozenset(there) if read == "read" else None, "not authorized" if read == "refused" else None
    live = live.with_listing(ClientQuota, Listing(items, gap))
    scope = draw(scopes)
    return desired, live, scope, draw(st.sampled_from([scope, scope, Scope()])), draw(topic_rules)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> FleetStore:
    return store_at(str(tmp_path_factory.mktemp("store")))


def spelled(changes: Sequence[DeclaredChange]) -> list[object]:
    return [(type(found.change), CHANGE.write(found.change), found.origin) for found in changes]


# What an engine takes for a comparison hardly depends on the number of clusters: few fleets, and many clusters in them.
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(fleet=st.lists(members(), min_size=2, max_size=10), sizes=st.tuples(st.integers(1, 6), st.integers(1, 6)))
def test_a_fleet_s_comparison_gives_the_answer_of_a_plan(
    engine: "Engine",
    store: FleetStore,
    fleet: Sequence[tuple[DesiredState, ClusterState, Scope, Scope, DiffRules]],
    sizes: tuple[int, int],
) -> None:
    name = f"run{next(_NAMES)}"
    live, desired, rules = [], [], {}
    for number, (wanted, found, scope, scope_then, topic_rules_now) in enumerate(fleet):
        cluster = f"c{number}"
        live.append(write_live(found, scope_then, Place(store.files, f"taken={name}", cluster, "0", sizes[0]), "now"))
        desired.append(write_desired(wanted, scope, Place(store.files, f"key={name}", cluster, "0", sizes[1]), "now"))
        rules[cluster] = Rules(scope, topic_rules_now)

    drift = compare_fleet(
        engine, store, FleetRun(name, "", tuple(desired)), FleetRun(name, "", tuple(live)), rules, name
    )

    for (wanted, found, scope, _, topic_rules_now), answer in zip(fleet, drift.clusters, strict=True):
        expected = compare(wanted, found, scope, topic_rules_now)
        assert answer.failure is None
        changes, left = changes_of(store.files, answer.files, answer.cluster)
        # As a plan file spells them: an assignment of replicas is no part of a change.
        assert spelled(changes) == spelled(expected.changes)
        assert tuple(left) == expected.skipped
        counts = answer.counts or DriftCounts()
        assert (counts.owned, counts.ignored, counts.outside) == (expected.owned, expected.ignored, expected.outside)
        assert counts.desired == len(wanted.bindings)
        assert counts.changes == len(expected.changes)


@given(state=wild_states, size=st.integers(1, 8))
def test_a_stored_state_reads_back_equal(store: FleetStore, state: ClusterState, size: int) -> None:
    name = f"taken={next(_NAMES)}"
    reading = write_live(state, Scope(), Place(store.files, name, "c", "0", size), "now")
    assert read_live(store.files, reading) == state


@given(state=states(of=any_binding), rows=st.integers(1, 8))
def test_what_is_as_desired_is_never_read(store: FleetStore, state: ClusterState, rows: int) -> None:
    """Equal digests on both sides, whatever the order in which rows came."""
    name = f"same{next(_NAMES)}"
    wanted = DesiredState({binding: Declaration(Origin("a", 1, 1)) for binding in sorted(state.bindings, reverse=True)})
    scope = Scope(include=(Selector(principals=NameSelector(any_name=True)),))
    owned = {binding for binding in state.bindings if scope.owns(binding)}
    desired = write_desired(
        DesiredState({binding: wanted.bindings[binding] for binding in owned}),
        scope,
        Place(store.files, name, "c", "0", rows),
        "now",
    )
    live = write_live(replace(state, bindings=frozenset(owned)), scope, Place(store.files, name, "c", "1", rows), "now")
    assert all(pair.equal for pair in pairs(desired, live))


def test_counts_add_up() -> None:
    assert sum((DriftCounts(1, 2, creates=3), DriftCounts(1, deletes=4)), DriftCounts()) == DriftCounts(
        2, 2, creates=3, deletes=4
    )


def test_a_row_that_stands_twice_is_refused(store: FleetStore, engine: "Engine") -> None:
    """A damaged store is said to be damaged, and its cluster unknown: neither equal nor different."""
    pattern = ResourcePattern(ResourceType.TOPIC, "a")
    entry = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
    binding = AclBinding(pattern, entry)
    wanted = DesiredState({binding: Declaration(Origin("a", 1, 1))})
    desired = write_desired(wanted, Scope(), Place(store.files, "key=twice", "c", "0"), "now")
    live = write_live(
        ClusterState("id", frozenset([binding])), Scope(), Place(store.files, "taken=twice", "c", "0"), ""
    )
    twice = rows_table([row_of(binding)] * 2, LIVE_SCHEMA, [1, 1])
    file = store.files.write("bindings/twice.parquet", parquet(twice))
    bucket = replace(live.buckets[0], file=file, rows=2, owned=2, owned_digest="other")
    damaged = replace(live, buckets=(bucket,))
    rules = {"c": Rules(Scope(), DiffRules())}
    drift = compare_fleet(
        engine, store, FleetRun("twice", "", (desired,)), FleetRun("twice", "", (damaged,)), rules, "twice"
    )
    [answer] = drift.clusters
    assert answer.failure is not None
    assert "a row twice" in answer.failure.message
    assert not drift.differing


#: Few rows that are near each other: of some every field but one is the same.
near = st.builds(
    lambda kind, name, host, operation: (kind, f"orders.of.some.length-{name}", 3, "User:a", host, operation, 3),
    st.sampled_from([2, 3]),
    st.sampled_from("abcd"),
    st.sampled_from(["*", "10.0.0.1"]),
    st.integers(3, 8),
)


def _sides(wanted: Sequence[Row], there: Sequence[Row]) -> tuple[pl.DataFrame, pl.DataFrame]:
    places = [f"acls.yaml:{number}:1" for number in range(len(wanted))]
    tables = rows_table(wanted, DESIRED_SCHEMA, places), rows_table(there, LIVE_SCHEMA, [1] * len(there))
    frames = [pl.from_arrow(table) for table in tables]
    assert all(isinstance(frame, pl.DataFrame) for frame in frames)
    return frames[0], frames[1]  # type: ignore[return-value]


@given(st.lists(near, unique=True), st.sets(near), st.sets(near), st.booleans(), st.integers(1, 40))
def test_what_differs_is_exact_however_rows_are_looked_at(
    both: list[Row], more: set[Row], less: set[Row], ordered: bool, stretch: int
) -> None:
    wanted, there = [*both, *(more - {*both})], [*(less - {*both}), *both]
    if ordered:
        wanted, there = sorted(wanted), sorted(there)
    desired, live = _sides(wanted, there)
    with pytest.MonkeyPatch.context() as patch:
        for name, number in (("_STRETCH", stretch), ("_LEFT", stretch // 4), ("_FEW", stretch * 2), ("_WORTH", 8)):
            patch.setattr(differences, name, number)
        creates, deletes = differences.differing(desired, live)
    origins = {row: f"acls.yaml:{number}:1" for number, row in enumerate(wanted)}
    assert creates == [(*row, origins[row]) for row in sorted({*wanted} - {*there})]
    assert deletes == sorted({*there} - {*wanted})


@pytest.mark.parametrize(("ours", "theirs"), [(2, 0), (2, 1), (2, 2), (0, 2), (1, 2)])
@given(st.lists(near, unique=True, min_size=1))
def test_a_row_that_is_there_twice_is_told(ours: int, theirs: int, both: list[Row]) -> None:
    rest, twice = both[1:], both[0]
    desired, live = _sides(sorted([*rest, *[twice] * ours]), sorted([*rest, *[twice] * theirs]))
    with pytest.raises(DamagedError, match="a row twice"):
        differences.differing(desired, live)
