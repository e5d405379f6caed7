"""The comparison as map tasks over pairs of buckets, by Polars; equal to ``reconciler.diff`` on the same states.

A task holds one pair at a time. What differs goes to a file of the results, not to the driver.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import polars as pl
from pyspark.sql import SparkSession

from reconciler.adapters.spark.leftovers import bridges_of, emergency_of, kept_emergency, left_over
from reconciler.adapters.spark.readings import desired_topics, expired_bindings, live_topics
from reconciler.adapters.spark.results import Difference, Results, topic_differences
from reconciler.adapters.spark.tasks import reason, run_tasks, task_count
from reconciler.dataclass import dataclass
from reconciler.diff import Comparison, DiffRules, compare
from reconciler.fleet import (
    COLUMNS,
    Bucket,
    BucketPair,
    DriftCounts,
    Failure,
    FleetDrift,
    FleetRun,
    PartialDrift,
    Reading,
    Row,
    ScopeMembership,
    binding_of,
    merge,
    pairs,
    parse_partial_drift,
    partial_drift_text,
    partition,
    whose,
)
from reconciler.fleet.store import FleetStore, StoreFiles
from reconciler.model import (
    ClusterState,
    DesiredState,
    Scope,
)

_LIVE: Final = [*COLUMNS, "whose"]
_DESIRED: Final = [*COLUMNS, "origin"]
#: The column with the number of the equal live row.
_PARTNER: Final = "partner"


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
    session: SparkSession, store: FleetStore, desired: FleetRun, live: FleetRun, rules: Mapping[str, Rules], name: str
) -> FleetDrift:
    """Compare every cluster of ``desired`` with its reading in ``live``; ``name`` is where the results go."""
    settled: list[PartialDrift] = []
    units: list[Unit] = []
    buckets = skipped = 0
    live_of = {reading.cluster: reading for reading in live.readings}
    for wanted in desired.readings:
        found = live_of.get(wanted.cluster)
        if found is None:  # among the failures below
            continue
        for pair in pairs(wanted, found):
            buckets += 1
            if pair.equal:
                skipped += 1
                settled.append(_equal(pair))
            else:
                # A unit travels to a worker: without the names of all the other buckets.
                units.append(Unit(pair, replace(wanted, buckets=()), replace(found, buckets=()), rules[wanted.cluster]))
        if _has_topics(wanted, rules[wanted.cluster]) or found.leftovers:
            units.append(Unit(None, replace(wanted, buckets=()), replace(found, buckets=()), rules[wanted.cluster]))
    weights = [unit.pair.rows if unit.pair else unit.live.topic_count for unit in units]
    lists: list[list[Unit]] = partition(units, weights, task_count(session, sum(weights)))
    parts = [
        parse_partial_drift(line) for line in run_tasks(session, lists, partial(_compare_all, store=store, name=name))
    ]
    return FleetDrift(
        live.id,
        live.taken,
        buckets,
        skipped,
        sum(part.bytes_read for part in parts),
        merge((*settled, *parts), _failures(desired, live), {name: _doubt(found) for name, found in live_of.items()}),
    )


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
    known = refused | {item.cluster for item in live.readings} | {item.cluster for item in live.failures}
    for name in sorted(of_interest - known):
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
        parts = [_compare_one(unit, store.files, results) for unit in units]
    for part in parts:
        yield partial_drift_text(part)


def _compare_one(unit: Unit, files: StoreFiles, results: Results) -> PartialDrift:
    try:
        if unit.pair is not None:
            return _compare_pair(unit, unit.pair, files, results)
        return _compare_topics(unit, files, results)
    except Exception as error:  # what cannot be compared is unknown, and must not hide the rest
        message = str(error) if isinstance(error, OSError | DamagedError) else reason(error)
        return PartialDrift(unit.live.cluster, DriftCounts(), error=message)


class DamagedError(Exception):
    """A file does not hold what its header says."""


def _compare_pair(unit: Unit, pair: BucketPair, files: StoreFiles, results: Results) -> PartialDrift:
    # Origins too, though few are wanted: opening a file a second time would cost more.
    wanted, found = _frame(files, pair.desired, _DESIRED), _frame(files, pair.live, _LIVE)
    counts = _looked_at(pair.desired, pair.live)
    if not pair.same_scope:
        found = _judged(found, unit.rules.scope)
        marks = found["whose"]
        owned, ignored = (
            int((marks == int(ScopeMembership.OWNED)).sum()),
            int((marks == int(ScopeMembership.IGNORED)).sum()),
        )
        counts = DriftCounts(counts.desired, owned, ignored, found.height - owned - ignored)
    if counts.owned != found.height:
        found = found.filter(pl.col("whose") == int(ScopeMembership.OWNED))
    creates, deletes = differing(wanted, found)
    bridges, emergency = bridges_of(unit.live, unit.rules.default_allow), emergency_of(unit.live)
    given = []
    if bridges or emergency:
        rows = [binding_of(row) for row in deletes.select(COLUMNS).iter_rows()]
        given = [emergency[one] for one in rows if one in emergency]
        kept = [one not in bridges and one not in emergency for one in rows]
        deletes = deletes.filter(pl.Series(kept, dtype=pl.Boolean))
    written = results.bindings(pair.cluster, _created(creates), _expired(files, unit.desired, deletes))
    left = results.topics(pair.cluster, topic_differences(Comparison(skipped=tuple(kept_emergency(given)))))
    return PartialDrift(
        pair.cluster,
        counts + DriftCounts(creates=creates.height, deletes=deletes.height, left=len(given)),
        results.file if written or left else "",
        bytes_read=pair.bytes,
    )


def differing(desired: pl.DataFrame, live: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What only ``desired`` has, with its other columns, and what only ``live`` has.

    Raises :class:`DamagedError` if a row is there twice.
    """
    on = list(COLUMNS)
    # One join gives both answers, for half of what two anti joins cost.
    joined = desired.join(live[on].with_row_index(_PARTNER), on=on, how="left", maintain_order="left")
    partners = joined[_PARTNER]
    alone = pl.repeat(True, live.height, eager=True).scatter(partners.drop_nulls(), values=False)
    creates, deletes = joined[partners.is_null().arg_true()].drop(_PARTNER), live[alone.arg_true()][on]
    # Each row that both have must have one partner: a row that is there twice on one side breaks the balance.
    both = joined.height - creates.height
    twice = joined.height != desired.height or both + deletes.height != live.height
    if twice or any(side.height > 1 and side[on].is_duplicated().any() for side in (creates, deletes)):
        raise DamagedError("a row is stored twice: read the cluster again")
    return creates, deletes


def _frame(files: StoreFiles, buckets: Sequence[Bucket], columns: list[str]) -> pl.DataFrame:
    frames = []
    for bucket in buckets:
        # Polars reads Parquet into its own form of text at once; by way of Arrow each text would be copied again.
        frame = pl.read_parquet(files.read(bucket.file), columns=columns, parallel="none", use_statistics=False)
        if frame.height != bucket.rows:
            raise DamagedError(f"{bucket.file} has {frame.height} rows, its header says {bucket.rows}")
        frames.append(frame)
    return pl.concat(frames) if len(frames) > 1 else frames[0]


def _judged(found: pl.DataFrame, scope: Scope) -> pl.DataFrame:
    """The rows with their standing under a scope that is not the one under which they were read."""
    marks = [int(whose(scope, binding_of(row))) for row in found.select(COLUMNS).iter_rows()]
    return found.with_columns(pl.Series("whose", marks, pl.Int8))


def _created(creates: pl.DataFrame) -> list[Difference]:
    rows: list[tuple[Any, ...]] = creates.sort(list(COLUMNS)).rows() if creates.height > 1 else creates.rows()
    return [Difference("CreateAcl", row[:-1], row[-1]) for row in rows]


def _expired(files: StoreFiles, desired: Reading, deletes: pl.DataFrame) -> list[Difference]:
    if not deletes.height:
        return []
    expired = expired_bindings(files, desired)
    rows: list[Row] = deletes.sort(list(COLUMNS)).rows()
    return [Difference("DeleteAcl", row, str(expired[row].origin) if row in expired else None) for row in rows]


def _compare_topics(unit: Unit, files: StoreFiles, results: Results) -> PartialDrift:
    """Topics are few, and what makes them differ is more than equality: the local engine compares them here too."""
    compared = _compared_topics(unit, files) if _has_topics(unit.desired, unit.rules) else Comparison()
    left = (*compared.skipped, *left_over(unit.live, unit.rules.default_allow))
    written = results.topics(unit.live.cluster, topic_differences(replace(compared, skipped=left)))
    counts = DriftCounts(others=len(compared.changes), left=len(left))
    return PartialDrift(unit.live.cluster, counts, results.file if written else "")


def _compared_topics(unit: Unit, files: StoreFiles) -> Comparison:
    desired, live, rules = unit.desired, unit.live, unit.rules
    wanted, found = desired_topics(files, desired), live_topics(files, live)
    unreadable = dict(live.unreadable_topics)
    if live.topic_gap is not None:
        # A partial listing does not show that a topic is missing.
        unreadable |= {name: live.topic_gap for name in wanted if name not in found and name not in unreadable}
    return compare(
        DesiredState(topics=wanted, listed=desired.wanted),
        ClusterState(
            live.cluster_id,
            topics=found,
            unreadable_topics=unreadable,
            listings=live.listings,
            kafka_version=live.kafka_version,
        ),
        rules.scope,
        rules.topics,
    )
