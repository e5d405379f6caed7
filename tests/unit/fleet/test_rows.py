"""Rows, buckets, digests, headers, and how work is shared out."""

import datetime
import hashlib
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.acl import AclBinding, OpaqueBinding
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Create, Delete, Listing
from reconciler.model.markers import break_glass_mark
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.fleet.engine import partition
from reconciler.parts.fleet.membership import pairs
from reconciler.parts.fleet.readings import Place, topic_of, topic_row, write_desired, write_live
from reconciler.parts.fleet.tables import (
    COLUMNS,
    TEXT_COLUMNS,
    TOPIC_SCHEMA,
    Row,
    binding_of,
    bucket_count,
    bucket_of,
    in_buckets,
    row_of,
    rows_table,
    store_at,
    table_digest,
    table_rows,
)
from reconciler.parts.fleet.tasks.comparing import Rules, Unit, _compared_topics, _doubt
from reconciler.parts.fleet.tasks.logs import LoggedCluster, live_bindings
from reconciler.plan.difference import DiffRules
from reconciler.results.fleet_drift import Bucket, Failure, FleetRun, HeaderError, Reading, parse_run, run_text
from tests.property.strategies import bindings, opaque_bindings, wild_bindings, wild_text
from tests.worlds import binding

rows = st.lists(st.one_of(bindings, wild_bindings), unique=True, max_size=20).map(
    lambda found: sorted(map(row_of, found))
)
texts = st.sampled_from(["", "é", "x"])
buckets = st.builds(
    Bucket, texts, st.integers(0, 9), texts, st.integers(0, 9), st.integers(0, 9), texts, st.integers(0, 9)
)
readings = st.builds(
    Reading,
    cluster=st.sampled_from("abc"),
    cluster_id=wild_text,
    taken=texts,
    tool_version=texts,
    scope=texts,
    buckets=st.lists(buckets, max_size=3).map(tuple),
    topic_count=st.integers(0, 3),
    topics=texts,
    configs=texts,
    expired=texts,
    opaque=st.lists(opaque_bindings, max_size=2).map(tuple),
    unreadable_topics=st.dictionaries(texts, wild_text, max_size=2).map(FrozenMap),
    acl_gap=st.none() | wild_text.filter(bool),
    topic_gap=st.none() | wild_text.filter(bool),
)


def rows_digest(rows: Sequence[Row]) -> str:
    """The digest of rows that are in order: the definition, in plain Python."""
    found = hashlib.sha256(struct.pack("<q", len(rows)))
    for index, column in enumerate(COLUMNS):
        if column in TEXT_COLUMNS:
            texts = [str(row[index]).encode() for row in rows]
            found.update(struct.pack(f"<{len(texts)}i", *map(len, texts)))
            found.update(b"".join(texts))
        else:
            found.update(struct.pack(f"<{len(rows)}b", *(row[index] for row in rows)))
    return found.hexdigest()


@given(st.one_of(bindings, wild_bindings))
def test_a_row_is_a_binding(binding: AclBinding) -> None:
    assert binding_of(row_of(binding)) == binding


@given(rows)
def test_arrow_computes_the_digest_of_the_definition(found: list[Row]) -> None:
    table = rows_table(found)
    assert table_digest(table) == rows_digest(found)
    assert table_rows(table) == found


@given(rows.filter(lambda found: len(found) > 1))
def test_another_list_of_rows_has_another_digest(found: list[Row]) -> None:
    assert rows_digest(found) != rows_digest(found[1:])
    assert table_digest(rows_table(found).slice(1)) == rows_digest(found[1:])


def test_texts_do_not_run_together() -> None:
    assert rows_digest([(2, "ab", 3, "c", "*", 3, 3)]) != rows_digest([(2, "a", 3, "bc", "*", 3, 3)])


@given(rows, st.sampled_from([1, 2, 8]))
def test_buckets_of_two_sizes_lie_inside_each_other(found: list[Row], coarse: int) -> None:
    assert all(bucket_of(row[1], row[3], 4 * coarse) % coarse == bucket_of(row[1], row[3], coarse) for row in found)
    parts = [part.taken() for part in in_buckets([(binding_of(row), row) for row in found], coarse)]
    assert all(part == said == sorted(part) for part, said in parts)
    assert sorted(row for part, _ in parts for row in part) == found


def test_the_rows_of_one_bucket_are_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Row] = []

    def counted(one: AclBinding) -> Row:
        made.append(row_of(one))
        return made[-1]

    monkeypatch.setattr("reconciler.parts.fleet.tables.row_of", counted)
    found = [binding(f"User:u{number} ALLOW READ on TOPIC t") for number in range(100)]
    parts = in_buckets(((one, str(one)) for one in found), 4)
    assert not made
    for part in parts:
        part_rows, said = part.taken()
        assert sorted(made) == part_rows
        assert said == [str(binding_of(row)) for row in part_rows]
        assert part.taken() == ([], [])
        made.clear()


@pytest.mark.parametrize(("count", "expected"), [(0, 1), (1, 1), (10, 1), (11, 2), (21, 4), (79, 8)])
def test_as_many_buckets_as_rows_need(count: int, expected: int) -> None:
    assert bucket_count(count, 10) == expected


@given(st.lists(readings, max_size=3), st.lists(st.builds(Failure, wild_text, wild_text, wild_text), max_size=2))
def test_a_run_reads_back_equal(found: list[Reading], failures: list[Failure]) -> None:
    run = FleetRun("id", "now", tuple(sorted(found, key=lambda item: item.cluster)), tuple(sorted(failures)))
    assert parse_run(run_text(run)) == run


@pytest.mark.parametrize("text", ["", "{}", '{"formatVersion":"2.0"}', run_text(FleetRun("a", "b", ()))[:-5]])
def test_a_record_that_is_cut_off_or_of_another_format_is_no_run(text: str) -> None:
    with pytest.raises(HeaderError):
        parse_run(text)


def _bucket(digest: str, rows: int = 1) -> Bucket:
    return Bucket("f", rows, digest, rows, 0, digest)


def _reading(*buckets: Bucket, scope: str = "s") -> Reading:
    return Reading("c", "id", "now", "1", scope, buckets)


def test_pairs_align_by_the_coarser_side() -> None:
    fine = _reading(*map(_bucket, "abcd"))
    [first, second] = pairs(fine, _reading(_bucket("x"), _bucket("y")))
    assert [bucket.digest for bucket in first.desired] == ["a", "c"]
    assert [bucket.digest for bucket in second.desired] == ["b", "d"]
    assert not first.equal


def test_equal_only_under_the_same_scope() -> None:
    assert pairs(_reading(_bucket("a")), _reading(_bucket("a")))[0].equal
    assert not pairs(_reading(_bucket("a")), _reading(_bucket("b")))[0].equal
    assert not pairs(_reading(_bucket("a")), _reading(_bucket("a"), scope="other"))[0].equal


def test_one_heavy_unit_does_not_wait_behind_small_ones() -> None:
    lists = partition(["big", *map(str, range(100))], [1_000, *([1] * 100)], 4)
    assert ["big"] in lists
    assert sorted(name for part in lists for name in part) == sorted(["big", *map(str, range(100))])
    assert partition([], [], 4) == []


def test_a_topic_comes_back_from_its_columns_with_all_its_fields() -> None:
    """Its configs are a table of their own; what brokers decide is null."""
    whole = Topic("a", 3, 2, {"retention.ms": "1"}, "id", ((1, 2), (2, 3), (3,)))
    for topic in (whole, Topic("b")):
        rows = [{**topic_row(topic), "absent": False, "labels": "{}", "origin": ""}]
        (row,) = pa.Table.from_pylist(rows, TOPIC_SCHEMA).to_pylist()
        assert topic_of(row, dict(topic.configs)) == topic


def test_a_reading_says_what_it_does_not_know_and_a_comparison_plans_nothing_against_it(tmp_path: Path) -> None:
    """A topic that a listing may leave out, ACLs that nobody can name or list, a kind that was refused, an end."""
    files, place = store_at(str(tmp_path)).files, Origin("a.yaml", 1, 1)
    over = ClientQuota(QuotaEntity.of("b"), {"producer_byte_rate": 1})
    wanted = DesiredState(
        topics={name: DesiredTopic(Topic(name, 1, 1), place) for name in ("hidden", "seen")},
        listed={ClientQuota.KIND: {over.key: DesiredItem(over, Declaration(place), expired=True)}},
    )
    desired = write_desired(wanted, Scope(), Place(files, "desired", "c", "0"), "2027-01-01T00:00:00Z")

    def compared(state: ClusterState) -> tuple[list[object], dict[str, str], str]:
        live = write_live(state, Scope(), Place(files, "live", "c", "0"), "2027-01-01T00:00:00Z")
        rules = Rules(Scope(), DiffRules())
        (kept,) = parse_run(run_text(FleetRun("r", "t", (live,)))).readings
        found = _compared_topics(Unit(None, desired, kept, rules), files)
        return [one.change for one in found.changes], {one.subject: one.detail for one in found.skipped}, _doubt(kept)

    known = ClusterState("c", topics={"seen": Topic("seen", 1, 1, {}, "id")})
    listed = known.with_listing(ClientQuota, Listing(frozenset({over})))
    assert compared(listed) == ([Create(Topic("hidden", 1, 1)), Delete(over)], {}, "")
    opaque = OpaqueBinding("x", "User:a", "*", 2, 3, 99, 3)
    changes, skipped, doubt = compared(
        replace(known, topic_gap="not all seen", acl_gap="in parts", opaque=(opaque,)).with_listing(
            ClientQuota, Listing(gap="refused")
        )
    )
    assert changes == []
    assert skipped == {"topic hidden": "not all seen", over.subject: "refused"}
    assert doubt == "the ACL listing may not be whole: in parts; 1 live ACL entries cannot be named"


def test_logs_are_judged_by_what_grants_something_on_reserved_names_too(tmp_path: Path) -> None:
    """Whoever may alter ACLs can write one there; marks and sentinels permit nobody anything."""
    files = store_at(str(tmp_path)).files
    granted = binding("User:ops ALLOW READ on TOPIC orders")
    mark = break_glass_mark(granted, datetime.datetime(2027, 1, 2, tzinfo=datetime.UTC))
    probe_acl = binding("User:mallory ALLOW ALTER_CONFIGS on TOPIC __kr.x")
    hidden = {
        binding("User:mallory ALLOW READ on TOPIC PREFIXED __kr."),
        binding("User:eve ALLOW READ on GROUP __kr.g"),
    }
    state = ClusterState("c", frozenset({granted, mark, probe_acl, *hidden}))
    reading = write_live(state, Scope(), Place(files, "live", "c", "0"), "2027-01-01T00:00:00Z")
    found, opaque = live_bindings(LoggedCluster("c", "c", reading), files)
    assert (found, opaque) == ({granted, *hidden}, ())
    assert live_bindings(LoggedCluster("c", "c"), files) == (None, ())
