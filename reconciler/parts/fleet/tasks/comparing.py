"""Manifests compiled to rows, and the comparison as map tasks over pairs of buckets, by Polars.

It is equal to ``reconciler.plan.kinds.compare`` on the same states. A task holds one pair at a time. What differs goes
to a file of the results, not to the driver. Manifests are compiled once for the same texts, day and version: the key
says which. They are read once in each worker.
"""

import datetime
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final, TypeAlias

import polars as pl

from reconciler import __version__
from reconciler.apply.cleanup import going_on, without_live_bridges
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests, desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError, render_problem
from reconciler.model.acl import AclBinding
from reconciler.model.desired import DesiredState, moment_text
from reconciler.model.listing import Delete
from reconciler.model.locks import denials_of_locks, lock_marks, locks, unlock_marks
from reconciler.model.markers import BreakGlass, break_glass_marks, running_break_glass, standing_bridges
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.parts.fleet import differences
from reconciler.parts.fleet.differences import DesiredRow, Results, RowDifference
from reconciler.parts.fleet.engine import CLUSTERS_IN_A_TASK, ROWS_IN_A_TASK, Engine, reason
from reconciler.parts.fleet.membership import BucketPair, pairs
from reconciler.parts.fleet.readings import Place, desired_topics, expired_bindings, live_topics, write_desired
from reconciler.parts.fleet.store import FleetStore, StoreFiles
from reconciler.parts.fleet.tables import (
    BUCKET_ROWS,
    CODES,
    COLUMNS,
    Row,
    ScopeMembership,
    binding_of,
    bucket_count,
    bucket_of,
)
from reconciler.plan.difference import Comparison, DiffRules, Skipped, SkipReason
from reconciler.plan.kinds import compare, describe
from reconciler.plan.kinds.acl import CREATE_ACL, DELETE_ACL
from reconciler.plan.leftovers import leftovers_skipped, not_yet, partial_locks
from reconciler.results import fleet_drift
from reconciler.results.fleet_drift import Bucket, DriftCounts, Failure, FleetDrift, FleetRun, PartialDrift, Reading

_LIVE: Final = [*COLUMNS, "whose"]
_DESIRED: Final = [*COLUMNS, "origin"]
#: What was read of a pair: its desired buckets, then its live ones; ``None`` if it has to be read by itself.
_Frames: TypeAlias = Sequence[pl.DataFrame] | None


@dataclass(frozen=True, slots=True)
class Rules:
    """What the declaration of a cluster says about comparing it."""

    scope: Scope
    topics: DiffRules
    default_allow: bool | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """One pair of buckets, or with ``pair`` ``None`` all else that one cluster has, and what runs left there."""

    pair: BucketPair | None
    desired: Reading
    live: Reading
    rules: Rules


def compare_fleet(
    engine: Engine, store: FleetStore, desired: FleetRun, live: FleetRun, rules: Mapping[str, Rules], name: str
) -> FleetDrift:
    """Compare every cluster of ``desired`` with its reading in ``live``; ``name`` is where the results go."""
    settled: list[PartialDrift] = []
    units: list[Unit] = []
    buckets = skipped = 0
    live_of = {reading.cluster: reading for reading in live.readings}
    for wanted in desired.readings:
        reading = live_of.get(wanted.cluster)
        if reading is None:  # among the failures below
            continue
        for pair in pairs(wanted, reading):
            buckets += 1
            if pair.equal:
                skipped += 1
                settled.append(_equal(pair))
            else:
                # A unit travels to a worker: without the names of all the other buckets.
                units.append(
                    Unit(pair, replace(wanted, buckets=()), replace(reading, buckets=()), rules[wanted.cluster])
                )
        if _has_topics(wanted, rules[wanted.cluster]) or reading.leftovers:
            units.append(Unit(None, replace(wanted, buckets=()), replace(reading, buckets=()), rules[wanted.cluster]))
    weights = [unit.pair.rows if unit.pair else unit.live.topic_count for unit in units]
    lists = engine.shared_out(units, ROWS_IN_A_TASK, weights)
    parts = [
        fleet_drift.parse_partial_drift(line)
        for line in engine.run(lists, partial(_compare_all, store=store, name=name), "compare buckets", tally=_tally)
    ]
    return FleetDrift(
        live.id,
        live.taken,
        buckets,
        skipped,
        sum(part.bytes_read for part in parts),
        fleet_drift.merge(
            (*settled, *parts), _failures(desired, live), {name: _doubt(reading) for name, reading in live_of.items()}
        ),
    )


def _tally(line: str) -> Mapping[str, int]:
    part = fleet_drift.parse_partial_drift(line)
    counts = part.counts
    kinds = {"bindings missing": counts.creates, "bindings undeclared": counts.deletes}
    return {**kinds, "changes of topics or others": counts.others, "not known": bool(part.error)}


def _has_topics(desired: Reading, rules: Rules) -> bool:
    return bool(desired.topics or desired.wanted or rules.topics.prune)


def _failures(desired: FleetRun, live: FleetRun) -> Iterator[Failure]:
    """Of a cluster that is not in the run at all nothing is known either."""
    yield from desired.failures
    refused = {failure.cluster for failure in desired.failures}
    of_interest = {reading.cluster for reading in desired.readings}
    for failure in live.failures:
        if failure.cluster in of_interest:
            yield failure
    covered = refused | {item.cluster for item in live.readings} | {item.cluster for item in live.failures}
    for name in sorted(of_interest - covered):
        yield Failure(name, "not_read", "the cluster is not in this run", "take a snapshot of it", attempts=0)


def _doubt(live: Reading) -> str:
    gap = f"the ACL listing may not be whole: {live.acl_gap}" if live.acl_gap else ""
    opaque = f"{len(live.opaque)} live ACL entries cannot be named" if live.opaque else ""
    return "; ".join(filter(None, (gap, opaque)))


def _equal(pair: BucketPair) -> PartialDrift:
    return PartialDrift(pair.cluster, _looked_at(pair.desired, pair.live))


def _looked_at(desired: Sequence[Bucket], live: Sequence[Bucket]) -> DriftCounts:
    owned, ignored = sum(bucket.owned for bucket in live), sum(bucket.ignored for bucket in live)
    rows = sum(bucket.rows for bucket in live)
    return DriftCounts(sum(bucket.rows for bucket in desired), owned, ignored, rows - owned - ignored)


def _compare_all(units: Sequence[Unit], attempt: str, *, store: FleetStore, name: str) -> Iterator[str]:
    with Results(store.files, name, attempt) as results:
        read = ((unit, frames) for some in _batches(units) for unit, frames in _read_together(some, store.files))
        parts = [_compare_one(unit, frames, store.files, results) for unit, frames in read]
    for part in parts:
        yield fleet_drift.partial_drift_text(part)


def _batches(units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Units one after the other with no more rows than a bucket may have, unless it is one."""
    some, rows = list[Unit](), 0
    for unit in units:
        weight = unit.pair.rows if unit.pair else 0
        if some and rows + weight > BUCKET_ROWS:
            yield some
            some, rows = [], 0
        some.append(unit)
        rows += weight
    if some:
        yield some


def _read_together(units: Sequence[Unit], files: StoreFiles) -> Iterator[tuple[Unit, _Frames]]:
    """The rows of small buckets, for two thirds of what reading one after the other costs.

    If that fails, each unit is given none, and the one whose file cannot be read says so.
    """
    try:
        frames = iter(differences.frames_of(files, [side for unit in units for side in _sides(unit)]))
    except Exception:  # whose it is, shows when they are read one by one
        yield from ((unit, None) for unit in units)
        return
    yield from ((unit, [next(frames) for _ in _sides(unit)]) for unit in units)


def _sides(unit: Unit) -> list[tuple[Bucket, list[str]]]:
    """The files of a pair, and the columns that are wanted of each."""
    if unit.pair is None:
        return []
    return [*((bucket, _DESIRED) for bucket in unit.pair.desired), *((bucket, _LIVE) for bucket in unit.pair.live)]


def _compare_one(unit: Unit, frames: _Frames, files: StoreFiles, results: Results) -> PartialDrift:
    try:
        if unit.pair is not None:
            return _compare_pair(unit, unit.pair, frames or differences.frames_of(files, _sides(unit)), files, results)
        return _compare_topics(unit, files, results)
    except Exception as error:  # what cannot be compared is unknown, and must not hide the rest
        message = str(error) if isinstance(error, OSError) else reason(error)
        return PartialDrift(unit.live.cluster, DriftCounts(), error=message)


def _compare_pair(
    unit: Unit, pair: BucketPair, frames: Sequence[pl.DataFrame], files: StoreFiles, results: Results
) -> PartialDrift:
    # With origins, though few are wanted: opening a file a second time would cost more.
    wanted, present = (
        differences.joined(pair.desired, frames),
        differences.joined(pair.live, frames[len(pair.desired) :]),
    )
    counts = _looked_at(pair.desired, pair.live)
    if not pair.same_scope:
        present = differences.judged(present, unit.rules.scope)
        marks = present["whose"]
        owned, ignored = (
            int((marks == int(ScopeMembership.OWNED)).sum()),
            int((marks == int(ScopeMembership.IGNORED)).sum()),
        )
        counts = DriftCounts(counts.desired, owned, ignored, present.height - owned - ignored)
    if counts.owned != present.height:
        present = present.filter(pl.col("whose") == int(ScopeMembership.OWNED))
    creates, deletes = differences.differing(wanted, present)
    apart, emergency = apart_of(unit.live, unit.rules.default_allow), emergency_of(unit.live)
    given = []
    if apart or emergency:
        bindings = [binding_of(row) for row in deletes]
        given = [emergency[item] for item in bindings if item in emergency]
        deletes = [
            row for row, item in zip(deletes, bindings, strict=True) if item not in apart and item not in emergency
        ]
    written = results.bindings(pair.cluster, _created(creates), _expired(files, unit.desired, deletes))
    skipped = results.topics(
        pair.cluster, differences.topic_differences(Comparison(skipped=tuple(kept_emergency(given))))
    )
    return PartialDrift(
        pair.cluster,
        counts + DriftCounts(creates=len(creates), deletes=len(deletes), left=len(given)),
        results.file if written or skipped else "",
        bytes_read=pair.bytes,
    )


def _created(creates: Sequence[DesiredRow]) -> list[RowDifference]:
    return [RowDifference(CREATE_ACL, row[:-1], row[-1]) for row in creates]


def _expired(files: StoreFiles, desired: Reading, deletes: Sequence[Row]) -> list[RowDifference]:
    expired = expired_bindings(files, desired) if deletes else {}
    return [RowDifference(DELETE_ACL, row, str(expired[row].origin) if row in expired else None) for row in deletes]


def _compare_topics(unit: Unit, files: StoreFiles, results: Results) -> PartialDrift:
    """Topics are few, and what makes them differ is more than equality: the local engine compares them here too."""
    compared = _compared_topics(unit, files) if _has_topics(unit.desired, unit.rules) else Comparison()
    skipped = (*compared.skipped, *leftovers_of(unit.live, unit.rules.default_allow))
    written = results.topics(unit.live.cluster, differences.topic_differences(replace(compared, skipped=skipped)))
    counts = DriftCounts(others=len(compared.changes), left=len(skipped))
    return PartialDrift(unit.live.cluster, counts, results.file if written else "")


def _compared_topics(unit: Unit, files: StoreFiles) -> Comparison:
    desired, live, rules = unit.desired, unit.live, unit.rules
    wanted, present = desired_topics(files, desired), live_topics(files, live)
    unreadable = dict(live.unreadable_topics)
    if live.topic_gap is not None:
        # A partial listing does not show that a topic is missing.
        unreadable |= {name: live.topic_gap for name in wanted if name not in present and name not in unreadable}
    return compare(
        DesiredState(topics=wanted, listed=desired.wanted),
        ClusterState(
            live.cluster_id,
            topics=present,
            unreadable_topics=unreadable,
            listings=live.listings,
            kafka_version=live.kafka_version,
        ),
        rules.scope,
        rules.topics,
    )


# What runs of this tool have on a cluster of a fleet, by what a reading holds of it: judged as a single drift does.


def apart_of(reading: Reading, default_allow: bool | None) -> frozenset[AclBinding]:
    """The DENYs of locks, and the bridges where default-allow is declared on: neither declared nor undeclared."""
    own = frozenset(reading.leftovers)
    held = denials_of_locks(own) if own else own
    return held | standing_bridges(own) if default_allow is True else held


def emergency_of(reading: Reading) -> Mapping[AclBinding, BreakGlass]:
    """The break-glass access that was running when the cluster was read: a plan leaves it until its end."""
    return running_break_glass(frozenset(reading.leftovers), _taken(reading)) if reading.leftovers else {}


def kept_emergency(emergency: Iterable[BreakGlass]) -> Iterator[Skipped]:
    """What a drift report says of it."""
    by_binding = {item.binding: item for item in emergency}
    for binding in sorted(by_binding):
        change = Delete(binding)
        yield Skipped(SkipReason.BREAK_GLASS, describe(change), not_yet(change, by_binding) or "", change)


def leftovers_of(reading: Reading, default_allow: bool | None) -> tuple[Skipped, ...]:
    """What was there without a run that could have been going on when the cluster was read."""
    if not reading.leftovers:
        return ()
    live = ClusterState(reading.cluster_id, frozenset(reading.leftovers))
    taken = _taken(reading)
    runs = going_on(live, taken)
    theirs = frozenset(binding for run in runs for binding in run.bindings)
    theirs |= break_glass_marks(live.bindings, taken) | lock_marks(live.bindings) | unlock_marks(live.bindings, taken)
    leftovers = leftovers_skipped(without_live_bridges(live, runs, default_allow=default_allow), default_allow, theirs)
    return (*partial_locks(locks(live.bindings)), *leftovers)


def _taken(reading: Reading) -> datetime.datetime:
    return datetime.datetime.fromisoformat(reading.taken)


# Bindings that few clusters have, or few lack: counted by Polars in each task, put together in one shuffle.
#
# What passes through Spark are tables of distinct bindings with the clusters that have them, as Arrow's bytes. Codes
# become names where rows are chosen, so that they sort as they are shown.

#: Of which group of clusters, and which binding.
_KEY: Final = ("label_group", *COLUMNS)
#: What :func:`outliers` tells of each.
OUTLIER_COLUMNS: Final = (*_KEY, "holders", "size", "what", "clusters")
#: So many bindings are put together in one task.
_ROWS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class OutlierQuestion:
    """``groups`` has the group of each cluster; a binding stands out if at most ``percent`` have it, or lack it."""

    groups: Mapping[str, str]
    percent: int
    most: int


def outliers(engine: Engine, files: StoreFiles, run: FleetRun, asked: OutlierQuestion) -> list[list[Any]]:
    """At most ``asked.most`` rows: group, binding, holders, size of the group, what, clusters; rarest first.

    A single cluster always counts as few; a group of less than three clusters has no outliers. Clusters that could not
    be read are left out. Additional bindings come before missing ones.
    """
    units = [reading for reading in run.readings if reading.rows]
    if not units:
        return []
    weights = [reading.rows for reading in units]
    lists = engine.shared_out(units, ROWS_IN_A_TASK, weights)
    parts = bucket_count(sum(weights), _ROWS)
    work = partial(_count, files=files, groups=asked.groups, parts=parts)
    rows = engine.grouped(lists, work, parts, "outliers").ask(partial(_chosen, asked=asked))
    return sorted((json.loads(line) for lines in rows for line in lines), key=_order)[: asked.most]


def _order(row: Sequence[Any]) -> tuple[Any, ...]:
    holders, size = row[len(_KEY)], row[len(_KEY) + 1]
    return min(holders, size - holders), 2 * holders >= size, *row[: len(_KEY)]


def _count(
    readings: Sequence[Reading], attempt: str, *, files: StoreFiles, groups: Mapping[str, str], parts: int
) -> Iterator[tuple[int, bytes]]:
    """The bindings of some clusters, each with those that have it; by the part in which they are put together."""
    frames = [
        pl.read_parquet(files.read(bucket.file), columns=list(COLUMNS)).with_columns(
            label_group=pl.lit(groups.get(reading.cluster, "")), clusters=pl.lit(reading.cluster)
        )
        for reading in readings
        for bucket in reading.buckets
        if bucket.rows
    ]
    counted = pl.concat(frames).group_by(_KEY).agg(pl.col("clusters"))
    if parts == 1:
        yield 0, _bytes(counted)
        return
    named: Iterator[tuple[str, str]] = counted.select("name", "principal").iter_rows()
    where = pl.Series([bucket_of(*item, parts) for item in named])
    for part in range(parts):
        yield part, _bytes(counted.filter(where == part))


def _bytes(frame: pl.DataFrame) -> bytes:
    sink = io.BytesIO()
    frame.write_ipc(sink, compression="lz4")
    return sink.getvalue()


def _chosen(part: int, tables: Sequence[bytes], *, asked: OutlierQuestion) -> list[str]:
    return list(chosen([pl.read_ipc(io.BytesIO(table)) for table in tables], asked)) if tables else []


def chosen(tables: Sequence[pl.DataFrame], asked: OutlierQuestion) -> Iterator[str]:
    """The outliers among bindings whose holders are spread over ``tables``, as lines of JSON; the first of them."""
    members: dict[str, set[str]] = {}
    for cluster, group in asked.groups.items():
        members.setdefault(group, set()).add(cluster)
    sizes = pl.DataFrame(
        {"label_group": list(members), "size": [len(of_group) for of_group in members.values()]},
        {"label_group": pl.String, "size": pl.Int64},
    )
    together = pl.concat(tables)
    few = pl.max_horizontal(pl.lit(1.0), pl.col("size") * asked.percent / 100)
    holders, size = pl.col("holders"), pl.col("size")
    rows = (
        together.with_columns(holders=pl.col("clusters").list.len().cast(pl.Int64))
        .group_by(_KEY)
        .agg(holders.sum())
        .join(sizes, on="label_group")
        .filter((size >= 3) & (holders < size) & ((holders <= few) | (size - holders <= few)))
        .with_columns(pl.col(name).replace_strict(_spelled(codes)) for name, codes in CODES.items())
        .sort(pl.min_horizontal(holders, size - holders), 2 * holders >= size, *_KEY)
        .head(asked.most)
    )
    if not rows.height:
        return
    codes = {name: {text: code for code, text in _spelled(kind).items()} for name, kind in CODES.items()}
    wanted = rows.with_columns(pl.col(name).replace_strict(code, return_dtype=pl.Int8) for name, code in codes.items())
    having: dict[tuple[Any, ...], set[str]] = {}
    for *having_key, clusters in together.join(wanted, on=_KEY, how="semi").select(*_KEY, "clusters").iter_rows():
        having.setdefault(tuple(having_key), set()).update(clusters)
    for shown, key in zip(
        rows.select(*_KEY, "holders", "size").iter_rows(), wanted.select(_KEY).iter_rows(), strict=True
    ):
        *_, count, total = shown
        here, everybody = having[key], members[key[0]]
        rare = 2 * count < total
        what, clusters = ("only here", here) if rare else ("only missing here", everybody - here)
        yield json.dumps([*shown, what, sorted(clusters)], ensure_ascii=False)


def _spelled(kind: Any) -> dict[int, str]:
    return {int(member): member.name for member in kind}


def compile_desired(
    engine: Engine,
    store: FleetStore,
    sources: Sequence[Source],
    clusters: Sequence[str],
    as_of: datetime.date,
) -> FleetRun:
    """What is desired of ``clusters``; one whose manifests do not fit it is a failure of the run."""
    key = compiled_key(sources, clusters, as_of)
    compiled = store.compiled(key)
    if compiled is not None:
        return compiled
    lists = engine.shared_out(clusters, CLUSTERS_IN_A_TASK)
    work = partial(_compile_all, store=store, key=key, as_of=as_of, texts=tuple(sources))
    readings, failures = fleet_drift.parse_outcomes(engine.run(lists, work, "compile manifests"))
    run = FleetRun(key, moment_text(as_of), tuple(readings), tuple(failures))
    store.keep_compiled(run)
    return run


def compiled_key(sources: Sequence[Source], clusters: Sequence[str], as_of: datetime.date) -> str:
    """What the outcome depends on, as a name."""
    digest = hashlib.sha256(json.dumps([__version__, moment_text(as_of), sorted(clusters)]).encode())
    for source in sorted(sources):
        for text in source:
            digest.update(len(text).to_bytes(8, "little") + text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def _compile_all(
    clusters: Sequence[str],
    attempt: str,
    *,
    store: FleetStore,
    key: str,
    as_of: datetime.date,
    texts: tuple[Source, ...],
) -> Iterator[str]:
    manifests = loaded(texts)
    for name in clusters:
        try:
            desired = desired_state(manifests, name, as_of)
        except ManifestError as error:
            message = "\n\n".join(render_problem(problem) for problem in error.problems)
            yield fleet_drift.outcome_text(
                Failure(name, "invalid_manifests", message, "`reconciler validate` shows the same")
            )
            continue
        place = Place(store.files, f"key={key}", name, attempt)
        yield fleet_drift.outcome_text(
            write_desired(desired, manifests.clusters[name].scope, place, moment_text(as_of))
        )


@lru_cache(maxsize=1)
def loaded(sources: tuple[Source, ...]) -> Manifests:
    """The manifests, read once in each worker: workers are used again, and texts are equal by value."""
    return load(sources)
