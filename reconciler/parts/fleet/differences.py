"""Differing rows on disk: one file a task, written as its units are compared; read back as changes."""

import io
import json
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import pyarrow as pa
import pyarrow.parquet as pq

from reconciler.codec.document import compact
from reconciler.model.acl import AclBinding
from reconciler.model.desired import Declaration, Origin
from reconciler.model.listing import Change
from reconciler.parts.fleet.readings import origin_of
from reconciler.parts.fleet.store import StoreFiles
from reconciler.parts.fleet.tables import COLUMNS, TEXT_COLUMNS, Row, binding_of
from reconciler.plan.difference import Comparison, DeclaredChange, Skipped
from reconciler.plan.file_codec import SKIPPED
from reconciler.plan.kinds import CHANGE
from reconciler.plan.kinds.acl import ACL_CHANGES

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
        found = [*creates, *deletes]
        columns: list[Any] = [list(column) for column in zip(*(item.row for item in found), strict=True)]
        return self._add(
            [
                [cluster] * len(found),
                [item.action for item in found],
                *(columns or [[]] * len(COLUMNS)),
                [None] * len(found),
                [item.origin for item in found],
            ],
            len(found),
        )

    def topics(self, cluster: str, found: Sequence[TopicDifference]) -> bool:
        """Add topics; whether there were any."""
        nothing: list[list[Any]] = [[None] * len(found) for _ in COLUMNS]
        nothing[1] = [item.name for item in found]
        return self._add(
            [
                [cluster] * len(found),
                [item.action for item in found],
                *nothing,
                [item.detail for item in found],
                [item.origin for item in found],
            ],
            len(found),
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
    left: list[Skipped] = []
    for side in _sides(files, names, cluster, most):
        origin = None if side["origin"] is None else origin_of(side["origin"])
        if side["action"] == "Left":
            left.append(SKIPPED.read(json.loads(side["detail"])))
        elif side["detail"] is not None:
            topics.append(_declared(CHANGE.read(json.loads(side["detail"])), origin))
        else:
            binding = binding_of(tuple(side[name] for name in COLUMNS))
            change = ACL_CHANGES[side["action"]](binding)
            acls.append((binding, _declared(change, origin)))
    acls.sort(key=lambda item: (item[1].change.after is None, item[0]))
    return [*(found for _, found in acls), *topics], left


def _declared(change: Change, origin: Origin | None) -> DeclaredChange:
    return DeclaredChange(change, None if origin is None else Declaration(origin))


def _sides(files: StoreFiles, names: Sequence[str], cluster: str, most: int | None) -> Iterator[dict[str, Any]]:
    for name in names:
        # Row groups of other clusters are passed over by their statistics.
        source = pa.BufferReader(files.read(name))
        table = pq.read_table(source, filters=[("cluster", "=", cluster)], use_threads=False)
        yield from table.slice(0, most).to_pylist()


def _change(found: DeclaredChange) -> TopicDifference:
    change, origin = found.change, found.origin
    written = CHANGE.write(change)
    name = str((written["after"] or written["before"]).get("name", ""))
    return TopicDifference(written["action"], name, compact(written), None if origin is None else str(origin))


def _skipped(left: Skipped) -> TopicDifference:
    return TopicDifference(
        "Left", left.subject, compact(SKIPPED.write(left)), None if left.origin is None else str(left.origin)
    )
