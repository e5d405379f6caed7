"""Codecs of arrays, of maps, and of what may be null."""

from collections.abc import Mapping
from typing import Any, TypeVar

from reconciler.codec.interface import Codec, SchemaError, same, unexpected
from reconciler.codec.lines import Lines
from reconciler.codec.scalars import TEXT
from reconciler.model.frozen import FrozenMap

T = TypeVar("T")


def nullable(inner: Codec[T]) -> Codec[T | None]:
    """The value, or null."""
    read, write = inner.read, inner.write

    def read_it(value: Any) -> T | None:
        return None if value is None else read(value)

    def write_it(value: T | None) -> Any:
        return None if value is None else write(value)

    kind = inner.schema.get("type")
    if isinstance(kind, str) and "enum" not in inner.schema:
        schema = {**inner.schema, "type": [kind, "null"]}
    else:
        schema = {"anyOf": [inner.schema, {"type": "null"}]}
    return Codec(read_it, same if write is same else write_it, schema)


def array(inner: Codec[T], *, lines: bool = False) -> Codec[tuple[T, ...]]:
    """A tuple, as a JSON array; with ``lines``, :func:`in_lines` writes an item a line."""
    read, write = inner.read, inner.write

    def read_all(value: Any) -> tuple[T, ...]:
        if value.__class__ is not list:
            raise unexpected("an array", value)
        found: list[T] = []
        try:
            for item in value:
                found.append(read(item))  # noqa: PERF401 - its length is the place of an error
        except SchemaError as error:
            raise error.inside(len(found)) from None
        return tuple(found)

    def write_all(value: tuple[T, ...]) -> list[Any] | Lines:
        if lines:
            return Lines(map(write, value))
        return list(value) if write is same else list(map(write, value))

    return Codec(read_all, write_all, {"type": "array", "items": inner.schema})


def mapping(inner: Codec[T]) -> Codec[Mapping[str, T]]:
    """A map from strings, as a JSON object with its keys in order."""
    read, write = inner.read, inner.write

    def read_all(value: Any) -> Mapping[str, T]:
        if value.__class__ is not dict:
            raise unexpected("an object", value)
        found = {}
        for key, item in value.items():
            try:
                found[TEXT.read(key)] = read(item)
            except SchemaError as error:
                raise error.inside(key) from None
        return FrozenMap(found)

    def write_all(value: Mapping[str, T]) -> dict[str, Any]:
        return {key: write(item) for key, item in value.items()}

    return Codec(read_all, write_all, {"type": "object", "additionalProperties": inner.schema})


TEXTS = array(TEXT)
