"""Bindings as rows, and rows as Arrow tables and Parquet files, with digests straight from Arrow's buffers.

A row has seven fields with Kafka's wire codes, its bucket, and whether it is in scope. Rows sort as tuples; texts sort
by code point, which is the order of their UTF-8 bytes.
"""

import hashlib
import io
import json
import os
import re
import struct
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from enum import IntEnum
from importlib import import_module
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Generic, TypeAlias, TypeVar, get_type_hints
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from reconciler.app.reasons import WorkflowError
from reconciler.codec.values import SCOPE
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.scope import Scope
from reconciler.model.topic import Assignments, Topic
from reconciler.parts.fleet.store import FleetStore, checked, with_digest

T = TypeVar("T")

#: resource type, name, pattern type, principal, host, operation, permission type
Row: TypeAlias = tuple[int, str, int, str, str, int, int]

COLUMNS: Final = (
    "resource_type",
    "name",
    "pattern_type",
    "principal",
    "host",
    "operation",
    "permission_type",
)
#: The columns that hold codes of Kafka's wire format, each with its names.
CODES: Final[Mapping[str, type[IntEnum]]] = {
    "resource_type": ResourceType,
    "pattern_type": PatternType,
    "operation": AclOperation,
    "permission_type": AclPermissionType,
}
TEXT_COLUMNS: Final = frozenset({"name", "principal", "host"})
#: About the most rows of a bucket: a task holds that many in memory at once, on each side.
BUCKET_ROWS: Final = 131_072


_RESOURCE_TYPES: Final = {int(item): item for item in ResourceType}
_PATTERN_TYPES: Final = {int(item): item for item in PatternType}
_OPERATIONS: Final = {int(item): item for item in AclOperation}
_PERMISSIONS: Final = {int(item): item for item in AclPermissionType}


class ScopeMembership(IntEnum):
    """Whether a live binding is in a scope."""

    OUTSIDE = 0
    OWNED = 1
    IGNORED = 2


def row_of(binding: AclBinding) -> Row:
    """The seven fields of a binding."""
    (resource_type, name, pattern_type), (principal, host, operation, permission_type) = binding
    return (int(resource_type), name, int(pattern_type), principal, host, int(operation), int(permission_type))


def binding_of(row: Row) -> AclBinding:
    """The inverse of :func:`row_of`; raises ``ValueError`` for codes that no binding has."""
    resource_type, name, pattern_type, principal, host, operation, permission_type = row
    try:  # an enumeration takes three times as long to look a code up
        pattern = ResourcePattern(_RESOURCE_TYPES[resource_type], name, _PATTERN_TYPES[pattern_type])
        rule = _OPERATIONS[operation], _PERMISSIONS[permission_type]
    except KeyError as error:
        raise ValueError(f"no binding has the code {error}") from error
    return AclBinding(pattern, AccessControlEntry(principal, host, *rule))


def whose(scope: Scope, binding: AclBinding) -> ScopeMembership:
    """As :func:`reconciler.plan.kinds.compare` counts live bindings."""
    if scope.owns(binding):
        return ScopeMembership.OWNED
    return ScopeMembership.IGNORED if scope.ignores(binding) else ScopeMembership.OUTSIDE


def bucket_count(rows: int, most: int = BUCKET_ROWS) -> int:
    """A power of two, so that a bucket of a coarse division is a union of buckets of a finer one."""
    needed = max(1, -(-rows // most))
    return 1 << (needed - 1).bit_length()


def bucket_of(name: str, principal: str, buckets: int) -> int:
    """The bucket of a row: by both, so that neither a popular topic nor a busy principal fills one."""
    return zlib.crc32(f"{name}\0{principal}".encode()) % buckets


class BucketBindings(Generic[T]):
    """The bindings of one bucket, each with what is said of it. They become rows when they are asked for.

    A row takes ten times the room of a place in a list: of millions of bindings only one bucket's are there at once.
    """

    __slots__ = ("_beside", "_bindings")

    def __init__(self) -> None:
        """Empty."""
        self._bindings: list[AclBinding] = []
        self._beside: list[T] = []

    def add(self, binding: AclBinding, beside: T) -> None:
        """One more."""
        self._bindings.append(binding)
        self._beside.append(beside)

    def taken(self) -> tuple[list[Row], list[T]]:
        """The rows in order, and what is said of each; the part is empty then."""
        pairs = sorted(zip(map(row_of, self._bindings), self._beside, strict=True), key=itemgetter(0))
        self._bindings, self._beside = [], []
        return [row for row, _ in pairs], [beside for _, beside in pairs]


def in_buckets(bindings: Iterable[tuple[AclBinding, T]], buckets: int) -> list[BucketBindings[T]]:
    """The bindings of each bucket, with what is said of them; each binding is there once."""
    parts: list[BucketBindings[T]] = [BucketBindings() for _ in range(buckets)]
    for binding, beside in bindings:
        (_, name, _), (principal, *_) = binding
        parts[bucket_of(name, principal, buckets)].add(binding, beside)
    return parts


# Digests of rows that do not depend on the engine.
#
# SHA-256 over the columns of the sorted rows, one after the other: of a text column the lengths in bytes (32 bits,
# little-endian) and then the UTF-8 bytes, of a code column one byte a row. No two different lists of rows have the
# same input. Arrow holds columns in just this form, so its buffers are hashed as they are.


def scope_digest(scope: Scope) -> str:
    """Equal if two readings used the same scope to tell owned, ignored and outside rows apart."""
    text = json.dumps(SCOPE.write(scope), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


#: The seven fields of a binding.
ROW_SCHEMA: Final = pa.schema(
    [pa.field(name, pa.string() if name in TEXT_COLUMNS else pa.int8(), nullable=False) for name in COLUMNS]
)
LIVE_SCHEMA: Final = ROW_SCHEMA.append(pa.field("whose", pa.int8(), nullable=False))
DESIRED_SCHEMA: Final = ROW_SCHEMA.append(pa.field("origin", pa.string(), nullable=False))
_OF_TYPE: Final[Mapping[Any, pa.DataType]] = {
    str: pa.string(),
    str | None: pa.string(),
    int | None: pa.int32(),
    Assignments | None: pa.list_(pa.list_(pa.int32())),
}
#: The columns of a topic by its fields; its configs are a table of their own. No column is of a type not named above.
TOPIC_COLUMNS: Final = {
    name: name.removeprefix("num_") for name in (field.name for field in fields(Topic)) if name != "configs"
}
_TOPIC_TYPES: Final = get_type_hints(Topic)
TOPIC_SCHEMA: Final = pa.schema(
    [
        *((column, _OF_TYPE[_TOPIC_TYPES[name]]) for name, column in TOPIC_COLUMNS.items()),
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
    """The digest of a table whose rows are in order (:mod:`reconciler.parts.fleet.tables` says of what)."""
    digest = hashlib.sha256(struct.pack("<q", table.num_rows))
    for name in COLUMNS:
        column = table[name]
        if name in TEXT_COLUMNS:
            for chunk in column.chunks:
                digest.update(_bytes(pc.binary_length(chunk), 4))
            for chunk in column.chunks:
                digest.update(_text(chunk))
        else:
            for chunk in column.chunks:
                digest.update(_bytes(chunk, 1))
    return digest.hexdigest()


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


# Files of a fleet store, on local disk or on whatever file system an address names (hdfs:, s3:, gs:, abfs:).
#
# A file appears whole or not at all: elsewhere than on object stores, whose writes are like that anyway, it is
# written under another name and then renamed.

_SCHEMES: Final = ("file", "hdfs", "viewfs", "s3", "s3a", "gs", "abfs", "abfss")
_OF_HADOOP: Final = ("hdfs://", "viewfs://")
_OBJECT_STORES: Final = frozenset({"s3", "gcs", "abfs"})


@dataclass(frozen=True, slots=True)
class Files:
    """Implements ``fleet.StoreFiles`` below a path or an address; tasks open the file system for themselves."""

    root: str

    @classmethod
    def at(cls, place: str) -> "Files":
        """Below a path, made absolute, or an address; raises :class:`WorkflowError` for one that nothing here opens."""
        scheme, address, _ = place.partition("://")
        if address and scheme not in _SCHEMES:
            raise WorkflowError(f"no store can be at {scheme}://", f"give a directory, or one of {', '.join(_SCHEMES)}")
        return cls(place if "://" in place else str(Path(place).resolve()))

    def read(self, name: str) -> bytes:
        """All bytes of a file; raises ``OSError``."""
        with self._reached() as (system, base), system.open_input_stream(f"{base}/{name}") as stream:
            return checked(name, bytes(stream.read()))

    def write(self, name: str, data: bytes) -> str:
        """Write a file whole, making directories as needed; its name with its digest. Raises ``OSError``."""
        name, data = with_digest(name, data)
        with self._reached() as (system, base):
            target = f"{base}/{name}"
            direct = system.type_name in _OBJECT_STORES
            place = target if direct else f"{os.path.dirname(target)}/.{uuid.uuid4().hex}"
            system.create_dir(os.path.dirname(target), recursive=True)
            with system.open_output_stream(place) as stream:
                stream.write(data)
            if not direct:
                system.move(place, target)
        return name

    def names(self, directory: str) -> list[str]:
        """What is in a directory, in order; nothing where there is none."""
        return sorted(item.base_name for item in self._listed(directory))

    def names_by_age(self, directory: str) -> list[str]:
        """What is in a directory, the oldest first."""
        return [item.base_name for item in sorted(self._listed(directory), key=lambda item: item.mtime_ns or 0)]

    def remove_directory(self, directory: str) -> None:
        """Remove a directory and all in it."""
        with self._reached() as (system, base):
            system.delete_dir(f"{base}/{directory}")

    def remove(self, name: str) -> None:
        """Remove one file."""
        with self._reached() as (system, base):
            system.delete_file(f"{base}/{name}")

    def address(self, name: str) -> str:
        """The file as Spark names it."""
        return f"{self.root}/{name}" if "://" in self.root else f"file://{self.root}/{name}"

    def _listed(self, directory: str) -> list[Any]:
        with self._reached() as (system, base):
            listed = system.get_file_info(fs.FileSelector(f"{base}/{directory}", allow_not_found=True))
        return [item for item in listed if not item.base_name.startswith(".")]

    @contextmanager
    def _reached(self) -> Iterator[tuple[Any, str]]:
        """The file system, and our place in it; what is wrong with the address or the login is a reason like others."""
        try:
            yield self._open()
        except pa.ArrowException as error:
            if isinstance(error, OSError):
                raise
            raise _no_store(self.root, error) from error

    def _open(self) -> tuple[Any, str]:
        if "://" not in self.root:
            return fs.LocalFileSystem(), self.root
        if self.root.startswith(_OF_HADOOP):
            return _hadoop(self.root)
        # Hadoop's name for the same store; Spark gets the address as it was given.
        system, base = fs.FileSystem.from_uri(re.sub("^s3a:", "s3:", self.root))
        return system, base.rstrip("/")


class _HdfsFiles(fs.FSSpecHandler):  # type: ignore[misc]
    """A file that is moved takes the place of one that is there, as everywhere else, and files have an age."""

    @staticmethod
    def _create_file_info(path: str, info: dict[str, Any]) -> Any:
        """With the age under the name by which pyarrow looks for it, in seconds."""
        return fs.FSSpecHandler._create_file_info(path, {**info, "mtime": info["modification_time"] / 1000})

    def move(self, src: str, dest: str) -> None:
        """As ``FileContext.rename`` with ``OVERWRITE``."""
        self.fs.mv(src, dest, overwrite=True)


def _hadoop(root: str) -> tuple[Any, str]:
    """HDFS by the client ``hdfs-native`` if it is installed, else by Hadoop's own library, which wants a JVM here."""
    if find_spec("hdfs_native") is not None:
        address = urlsplit(root)
        client = import_module("hdfs_native.fsspec").HdfsFileSystem(host=address.hostname, port=address.port)
        return fs.PyFileSystem(_HdfsFiles(client)), address.path.rstrip("/")
    try:
        system, base = fs.FileSystem.from_uri(root)
    except OSError as error:
        raise _no_store(root, error) from error
    return system, base.rstrip("/")


def _no_store(root: str, error: Exception) -> WorkflowError:
    lines = str(error).splitlines()
    hint = "pip install hdfs-native, or set HADOOP_HOME and CLASSPATH" if root.startswith(_OF_HADOOP) else ""
    return WorkflowError(
        f"the store at {root} cannot be opened: {lines[0] if lines else error!r}",
        hint or "correct the address or what logs in there",
    )


def store_at(place: str) -> FleetStore:
    """The store at a path or an address."""
    return FleetStore(Files.at(place))
