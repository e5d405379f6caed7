"""Rows as Arrow tables and Parquet files, and their digests straight from Arrow's buffers."""

import hashlib
import io
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reconciler.fleet import COLUMNS, TEXT_COLUMNS, Row

#: The seven fields of a binding.
ROW_SCHEMA: Final = pa.schema(
    [pa.field(name, pa.string() if name in TEXT_COLUMNS else pa.int8(), nullable=False) for name in COLUMNS]
)
LIVE_SCHEMA: Final = ROW_SCHEMA.append(pa.field("whose", pa.int8(), nullable=False))
DESIRED_SCHEMA: Final = ROW_SCHEMA.append(pa.field("origin", pa.string(), nullable=False))
TOPIC_SCHEMA: Final = pa.schema(
    [
        ("name", pa.string()),
        ("partitions", pa.int32()),
        ("replication_factor", pa.int32()),
        ("topic_id", pa.string()),
        ("replica_assignments", pa.list_(pa.list_(pa.int32()))),
        ("absent", pa.bool_()),
        ("labels", pa.string()),
        ("origin", pa.string()),
    ]
)
CONFIG_SCHEMA: Final = pa.schema([("topic", pa.string()), ("key", pa.string()), ("value", pa.string())])


def rows_table(rows: Sequence[Row], schema: pa.Schema = ROW_SCHEMA, more: Sequence[Any] | None = None) -> pa.Table:
    """Rows as columns; ``more`` is the column after the seven."""
    columns: Iterable[Any] = zip(*rows, strict=True) if rows else ((),) * len(COLUMNS)
    values = [*columns, *([more] if more is not None else [])]
    arrays = [pa.array(list(column), field.type) for column, field in zip(values, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def table_rows(table: pa.Table) -> list[Row]:
    """The seven fields of each row."""
    return list(zip(*(table[name].to_pylist() for name in COLUMNS), strict=True))


def table_digest(table: pa.Table) -> str:
    """As :func:`reconciler.fleet.rows_digest`, of a table whose rows are in order."""
    found = hashlib.sha256(struct.pack("<q", table.num_rows))
    for name in COLUMNS:
        column = table[name]
        if name in TEXT_COLUMNS:
            for chunk in column.chunks:
                found.update(_bytes(pc.binary_length(chunk), 4))
            for chunk in column.chunks:
                found.update(_text(chunk))
        else:
            for chunk in column.chunks:
                found.update(_bytes(chunk, 1))
    return found.hexdigest()


def parquet(table: pa.Table) -> bytes:
    """A table as the bytes of a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def from_parquet(data: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """The table in a Parquet file's bytes."""
    return pq.read_table(pa.BufferReader(data), columns=list(columns) if columns else None, use_threads=False)


def _bytes(array: pa.Array, width: int) -> memoryview:
    start = array.offset * width
    return memoryview(array.buffers()[1])[start : start + len(array) * width] if len(array) else memoryview(b"")


def _text(array: pa.Array) -> memoryview:
    """The UTF-8 bytes of all texts, one after the other."""
    if not len(array):
        return memoryview(b"")
    _, offsets, data = array.buffers()
    first, last = (
        struct.unpack_from("<i", offsets, 4 * place)[0] for place in (array.offset, array.offset + len(array))
    )
    return memoryview(data)[first:last] if data is not None else memoryview(b"")
