"""Which rows of two frames differ, by Polars; differing rows on disk, one file a task, and read back as changes.

Stretches of equal rows are left out first, and what is left is joined.
"""

import io
import json
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from reconciler.codec.document import compact
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Declaration, Origin
from reconciler.model.listing import Change
from reconciler.model.scope import Scope
from reconciler.parts.fleet.readings import origin_of
from reconciler.parts.fleet.store import DamagedError, StoreFiles
from reconciler.parts.fleet.tables import COLUMNS, TEXT_COLUMNS, Row, binding_of, whose
from reconciler.plan.difference import Comparison, DeclaredChange, Skipped
from reconciler.plan.file_codec import SKIPPED
from reconciler.plan.kinds import CHANGE
from reconciler.plan.kinds.acl import ACL_CHANGES
from reconciler.results.fleet_drift import Bucket

#: A row of manifests, with the place where it is declared.
DesiredRow: TypeAlias = tuple[Any, ...]
#: Rows that are compared at a time.
_STRETCH: Final = 1_024
#: So many rows are looked at one by one, and one more for so many that are equal; then a join is quicker.
_LEFT: Final = 64
_WORTH: Final = 256
#: A join of so few rows takes longer than sets of them.
_FEW: Final = 1_000
#: The column with the number of the equal live row.
_PARTNER: Final = "partner"
#: Differences of small units wait until there are so many: a row group for each would cost more than comparing it.
_GROUP_ROWS: Final = 4_096
#: A binding's fields are null for topics, ``detail`` (JSON) for bindings.
RESULT_SCHEMA: Final = pa.schema(
    [
        ("cluster", pa.string()),
        ("action", pa.string()),
        *((name, pa.string() if name in TEXT_COLUMNS else pa.int8()) for name in COLUMNS),
        ("detail", pa.string()),
        ("origin", pa.string()),
    ]
)


class RowDifference(NamedTuple):
    """A binding that is on one side only."""

    action: str
    row: Row
    origin: str | None


class TopicDifference(NamedTuple):
    """A topic that differs; ``detail`` says how."""

    action: str
    name: str
    detail: str
    origin: str | None


class Results:
    """The results of one task; nothing is written where nothing differs."""

    def __init__(self, files: StoreFiles, name: str, attempt: str) -> None:
        """Below ``results/run=NAME``."""
        self._files = files
        self.file = f"results/run={name}/{attempt}.parquet"
        self._sink = io.BytesIO()
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Writes the file, whole."""
        if kind is not None:
            return
        self._flush()
        if self._writer is not None:
            self._writer.close()
            self._files.write(self.file, self._sink.getvalue())

    def bindings(self, cluster: str, creates: Sequence[RowDifference], deletes: Sequence[RowDifference]) -> bool:
        """Add bindings; whether there were any."""
        rows = [*creates, *deletes]
        columns: list[Any] = [list(column) for column in zip(*(item.row for item in rows), strict=True)]
        return self._add(
            [
                [cluster] * len(rows),
                [item.action for item in rows],
                *(columns or [[]] * len(COLUMNS)),
                [None] * len(rows),
                [item.origin for item in rows],
            ],
            len(rows),
        )

    def topics(self, cluster: str, topics: Sequence[TopicDifference]) -> bool:
        """Add topics; whether there were any."""
        nothing: list[list[Any]] = [[None] * len(topics) for _ in COLUMNS]
        nothing[1] = [item.name for item in topics]
        return self._add(
            [
                [cluster] * len(topics),
                [item.action for item in topics],
                *nothing,
                [item.detail for item in topics],
                [item.origin for item in topics],
            ],
            len(topics),
        )

    def _add(self, columns: list[list[Any]], rows: int) -> bool:
        if not rows:
            return False
        arrays = [pa.array(column, field.type) for column, field in zip(columns, RESULT_SCHEMA, strict=True)]
        self._waiting.append(pa.Table.from_arrays(arrays, schema=RESULT_SCHEMA))
        if sum(table.num_rows for table in self._waiting) >= _GROUP_ROWS:
            self._flush()
        return True

    def _flush(self) -> None:
        """Write what waits as one row group."""
        if not self._waiting:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._sink, RESULT_SCHEMA, compression="zstd")
        self._writer.write_table(pa.concat_tables(self._waiting).combine_chunks())
        self._waiting.clear()


def topic_differences(compared: Comparison) -> list[TopicDifference]:
    """Changes and what is left, of a comparison of topics alone."""
    return [*map(_change, compared.changes), *map(_skipped, compared.skipped)]


def changes_of(
    files: StoreFiles, names: Sequence[str], cluster: str, most: int | None = None
) -> tuple[list[DeclaredChange], list[Skipped]]:
    """What differs on one cluster, changes in the order of a comparison; at most ``most`` rows."""
    acls: list[tuple[AclBinding, DeclaredChange]] = []
    topics: list[DeclaredChange] = []
    skipped: list[Skipped] = []
    for side in _sides(files, names, cluster, most):
        origin = None if side["origin"] is None else origin_of(side["origin"])
        if side["action"] == "Left":
            skipped.append(SKIPPED.read(json.loads(side["detail"])))
        elif side["detail"] is not None:
            topics.append(_declared(CHANGE.read(json.loads(side["detail"])), origin))
        else:
            binding = binding_of(tuple(side[name] for name in COLUMNS))
            change = ACL_CHANGES[side["action"]](binding)
            acls.append((binding, _declared(change, origin)))
    acls.sort(key=lambda item: (item[1].change.after is None, item[0]))
    return [*(change for _, change in acls), *topics], skipped


def _declared(change: Change, origin: Origin | None) -> DeclaredChange:
    return DeclaredChange(change, None if origin is None else Declaration(origin))


def _sides(files: StoreFiles, names: Sequence[str], cluster: str, most: int | None) -> Iterator[dict[str, Any]]:
    for name in names:
        # Row groups of other clusters are passed over by their statistics.
        source = pa.BufferReader(files.read(name))
        table = pq.read_table(source, filters=[("cluster", "=", cluster)], use_threads=False)
        yield from table.slice(0, most).to_pylist()


def _change(declared: DeclaredChange) -> TopicDifference:
    change, origin = declared.change, declared.origin
    written = CHANGE.write(change)
    name = str((written["after"] or written["before"]).get("name", ""))
    return TopicDifference(written["action"], name, compact(written), None if origin is None else str(origin))


def _skipped(skipped: Skipped) -> TopicDifference:
    return TopicDifference(
        "Left",
        skipped.subject,
        compact(SKIPPED.write(skipped)),
        None if skipped.origin is None else str(skipped.origin),
    )


# The rows of files as frames, and those of two frames that differ.


def frames_of(files: StoreFiles, sides: Sequence[tuple[Bucket, list[str]]]) -> list[pl.DataFrame]:
    """The rows of each file. Polars reads Parquet into its own form of text; Arrow's would have to be copied."""
    scans = [
        pl.scan_parquet(io.BytesIO(files.read(bucket.file)), parallel="none", use_statistics=False).select(columns)
        for bucket, columns in sides
    ]
    return pl.collect_all(scans)


def joined(buckets: Sequence[Bucket], frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The rows of these buckets, which are the first frames; raises :class:`DamagedError`."""
    for bucket, frame in zip(buckets, frames, strict=False):
        if frame.height != bucket.rows:
            raise DamagedError(bucket.file, f"has {frame.height} rows, its header says {bucket.rows}")
    return pl.concat(frames[: len(buckets)]) if len(buckets) > 1 else frames[0]


def judged(rows: pl.DataFrame, scope: Scope) -> pl.DataFrame:
    """The rows with their standing under a scope that is not the one under which they were read."""
    marks = [int(whose(scope, binding_of(row))) for row in rows.select(COLUMNS).iter_rows()]
    return rows.with_columns(pl.Series("whose", marks, pl.Int8))


def differing(desired: pl.DataFrame, live: pl.DataFrame) -> tuple[list[DesiredRow], list[Row]]:
    """The rows that only ``desired`` has, with its other column, and those that only ``live`` has, in order.

    Raises :class:`DamagedError` if a row of a side in order is there twice.
    """
    on = list(COLUMNS)
    if _repeats(desired) or _repeats(live):
        raise _twice()
    desired, live = unmatched(desired, live)
    if desired.height + live.height > _FEW:
        desired, live = _unequal(desired, live)
    wanted: list[DesiredRow] = desired.rows()
    there: list[Row] = live[on].rows()
    desired_rows, rows = {row[:-1] for row in wanted}, set(there)
    if len(desired_rows) < len(wanted) or len(rows) < len(there):
        raise _twice()
    return sorted(row for row in wanted if row[:-1] not in rows), sorted(rows - desired_rows)


def _twice() -> DamagedError:
    return DamagedError("a bucket", "has a row twice: read the cluster again")


def _repeats(side: pl.DataFrame) -> bool:
    """Whether a row equals the one before it."""
    same: pl.Series | None = None
    # Of one name and principal the operations differ: hardly ever is there a column more to compare.
    for name in reversed(COLUMNS):
        column = side[name]
        equal = column[1:] == column[:-1]
        same = equal if same is None else same & equal
        if not same.any():
            return False
    return True


def unmatched(desired: pl.DataFrame, live: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What is left of both sides without the stretches of equal rows at their beginning, and between what differs.

    Both are in order, so that little is left where little differs, in half the time of a join. Whatever the
    order, only equal rows go, as many of one side as of the other: what differs is never among them.
    """
    sides = [(desired[name], live[name]) for name in COLUMNS]
    if any(ours.dtype != theirs.dtype or ours.null_count() or theirs.null_count() for ours, theirs in sides):
        return desired, live
    # Texts, which take longest, as far as the codes are equal; nothing where a column has one value throughout.
    telling = [side for side in sides if not _is_one_value(*side)] or sides[:1]
    by_price = sorted(telling, key=lambda side: side[0].dtype == pl.String)
    only_desired, present = list[int](), list[int]()
    at = there = 0
    while at < desired.height and there < live.height:
        if len(only_desired) + len(present) > _LEFT + (at + there) // _WORTH:
            break
        length = _equal_from(by_price, at, there)
        at, there = at + length, there + length
        if length < _STRETCH and at < desired.height and there < live.height:
            if [ours[at] for ours, _ in sides] < [theirs[there] for _, theirs in sides]:
                only_desired.append(at)
                at += 1
            else:
                present.append(there)
                there += 1
    return desired[[*only_desired, *range(at, desired.height)]], live[[*present, *range(there, live.height)]]


def _is_one_value(ours: pl.Series, theirs: pl.Series) -> bool:
    """Whether both columns have one value, and the same, as most have of hosts, patterns and permissions."""
    return bool(len(ours) and (ours == ours[0]).all() and (theirs == ours[0]).all())


def _equal_from(sides: Sequence[tuple[pl.Series, pl.Series]], at: int, there: int) -> int:
    """How many rows are equal from two places on, :data:`_STRETCH` at the most."""
    length = min(_STRETCH, len(sides[0][0]) - at, len(sides[0][1]) - there)
    for ours, theirs in sides:
        unequal = ours.slice(at, length) != theirs.slice(there, length)
        first = unequal.arg_max()
        if first is not None and unequal[first]:
            length = first
    return length


def _unequal(desired: pl.DataFrame, live: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of each side that the other one has not."""
    on = list(COLUMNS)
    # One join gives both answers, for half of what two anti joins cost.
    joined = desired.join(live[on].with_row_index(_PARTNER), on=on, how="left", maintain_order="left")
    partners = joined[_PARTNER]
    alone = pl.repeat(True, live.height, eager=True).scatter(partners.drop_nulls(), values=False)
    creates, deletes = joined[partners.is_null().arg_true()].drop(_PARTNER), live[alone.arg_true()][on]
    # Each row that both have must have one partner: a row that is there twice on one side breaks the balance.
    both = joined.height - creates.height
    twice = joined.height != desired.height or both + deletes.height != live.height
    if twice:
        raise _twice()
    return creates, deletes
