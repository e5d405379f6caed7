"""What a codec is: how a value reads from JSON, how it is written, and the JSON Schema of both."""

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, IntEnum
from typing import Any, Final, Generic, TypeVar

from reconciler.dataclass import dataclass
from reconciler.model.frozen import FrozenMap

T = TypeVar("T")

_KINDS: Final = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    list: "an array",
    dict: "an object",
    type(None): "null",
}


class SchemaError(ValueError):
    """JSON that does not fit its schema; ``place`` is where: ``topics[3].partitions``, empty for the whole document."""

    def __init__(self, problem: str, place: str = "") -> None:
        """``problem`` says what is wrong there."""
        super().__init__(problem)
        self.problem, self.place = problem, place

    def __str__(self) -> str:
        """``topics[3].partitions: expected an integer, found a string``."""
        return f"{self.place or 'the document'}: {self.problem}"

    def inside(self, part: str | int) -> "SchemaError":
        """The same error, one level further out: in the field or item ``part``."""
        joint = "." if self.place and not self.place.startswith("[") else ""
        self.place = f"[{part}]{joint}{self.place}" if isinstance(part, int) else f"{part}{joint}{self.place}"
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Codec(Generic[T]):
    """One definition of how values of one type look in JSON; equal to itself alone, so that annotations may hold it.

    ``read`` takes a JSON value as ``json.loads`` gives it and raises :class:`SchemaError`; ``write`` is its inverse;
    ``schema`` is JSON Schema (draft-07) of what ``write`` gives and ``read`` accepts.
    """

    read: Callable[[Any], T]
    write: Callable[[T], Any]
    schema: Mapping[str, Any]


def same(value: Any) -> Any:
    """``write`` of what is JSON already."""
    return value


def unexpected(wanted: str, value: object) -> SchemaError:
    """The error for a value of another type."""
    return SchemaError(f"expected {wanted}, found {_KINDS.get(type(value), type(value).__name__)}")


# Codecs of single values: strings, numbers, booleans, dates, enumerations.

E = TypeVar("E", bound=Enum)
N = TypeVar("N", bound=IntEnum)

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
#: What a signed 64-bit integer holds: no count, id or limit of Kafka is larger.
_LARGEST: Final = 2**63


def _read_text(value: Any) -> str:
    if value.__class__ is not str:
        raise unexpected("a string", value)
    if not value.isascii() and _LONE_SURROGATE.search(value):
        raise SchemaError("half of a surrogate pair is not text")
    return value


def _read_any_text(value: Any) -> str:
    if value.__class__ is not str:
        raise unexpected("a string", value)
    return value


TEXT: Final[Codec[str]] = Codec(_read_text, same, {"type": "string"})
#: Names of files and users, and what brokers say: they may hold half of a surrogate pair, and must read back.
ANY_TEXT: Final[Codec[str]] = Codec(_read_any_text, same, {"type": "string"})


def text(pattern: str = "", *, least: int = 0, form: str = "") -> Codec[str]:
    """A string that matches ``pattern`` and has at least ``least`` characters; ``form`` is JSON Schema's ``format``."""
    search = re.compile(pattern).search if pattern else None

    def read(value: Any) -> str:
        string = _read_text(value)
        if len(string) < least:
            raise SchemaError("is empty")
        if search is not None and not search(string):
            raise SchemaError(f"{string!r} does not match {pattern}")
        return string

    limits = {"pattern": pattern, "minLength": least, "format": form}
    return Codec(read, same, {"type": "string"} | {key: value for key, value in limits.items() if value})


def integer(least: int | None = 0) -> Codec[int]:
    """An integer of at most 64 bits, at least ``least``; ``None``: no lower limit."""

    def read(value: Any) -> int:
        if value.__class__ is not int:
            raise unexpected("an integer", value)
        if least is not None and value < least:
            raise SchemaError(f"{value} is less than {least}")
        if abs(value) >= _LARGEST:
            raise SchemaError("is larger than 64 bits")
        return value

    return Codec(read, same, {"type": "integer"} | ({} if least is None else {"minimum": least}))


def number(limit: float) -> Codec[float]:
    """A number from 0 up to, and without, ``limit``."""

    def read(value: Any) -> float:
        if value.__class__ is not float and value.__class__ is not int:
            raise unexpected("a number", value)
        if not 0 <= value < limit:
            raise SchemaError(f"is not a number from 0 to {limit:g}")
        return value

    return Codec(read, same, {"type": "number", "minimum": 0})


def _read_boolean(value: Any) -> bool:
    if value.__class__ is not bool:
        raise unexpected("a boolean", value)
    return value


COUNT: Final = integer()
NUMBER: Final = number(_LARGEST)
BOOLEAN: Final[Codec[bool]] = Codec(_read_boolean, same, {"type": "boolean"})


def constant(wanted: str | bool | None) -> Codec[Any]:
    """Exactly this value."""

    def read(value: Any) -> Any:
        if value.__class__ is not wanted.__class__ or value != wanted:
            raise SchemaError(f"is not {wanted!r}")
        return value

    return Codec(read, lambda _: wanted, {"type": "null"} if wanted is None else {"const": wanted})


def converted(base: Codec[Any], parse: Callable[[Any], T], form: Callable[[T], Any], **schema: Any) -> Codec[T]:
    """A value that stands in JSON as another: ``parse`` raises ``ValueError``; ``schema`` adds to the schema."""

    def read(value: Any) -> T:
        plain = base.read(value)
        try:
            return parse(plain)
        except SchemaError:
            raise
        except ValueError as error:
            raise SchemaError(str(error)) from None

    return Codec(read, form, {**base.schema, **schema})


def _one_of(words: Mapping[Any, T], names: Mapping[T, Any], schema: Mapping[str, Any]) -> Codec[T]:
    kind, get = type(next(iter(words))), words.get

    def read(value: Any) -> T:
        member = get(value) if value.__class__ is kind else None
        if member is None:
            shown = repr(value) if isinstance(value, str | int) else "it"
            raise SchemaError(f"{shown} is none of {', '.join(map(str, words))}")
        return member

    return Codec(read, names.__getitem__, schema)


def by_name(members: Iterable[E]) -> Codec[E]:
    """One of these members, by its name."""
    words = {member.name: member for member in members}
    return _one_of(words, {member: name for name, member in words.items()}, {"enum": list(words)})


def by_value(members: Iterable[E]) -> Codec[E]:
    """One of these members, by its value as a string."""
    words = {str(member.value): member for member in members}
    return _one_of(words, {member: word for word, member in words.items()}, {"enum": list(words)})


def by_number(members: Iterable[N]) -> Codec[N]:
    """One of these members, by its number."""
    words = {int(member): member for member in members}
    schema = {"type": "integer", "enum": list(words)}
    return _one_of(words, {member: number for number, member in words.items()}, schema)


def word(*words: str) -> Codec[str]:
    """One of these strings."""
    return _one_of({word: word for word in words}, {word: word for word in words}, {"enum": list(words)})


DATE: Final[Codec[datetime.date]] = converted(TEXT, datetime.date.fromisoformat, datetime.date.isoformat, format="date")


# Arrays with an item a line, so that a line-by-line comparison of two files reads as a list of facts.


class Lines:
    """An array that is written with an item a line; the items are made while they are written."""

    def __init__(self, items: Iterator[Any]) -> None:
        """``items`` are JSON values, which may hold :class:`Lines` in turn as fields of objects.

        A tuple is an array of strings alone: a snapshot has up to a million of them.
        """
        self.items = items


def in_lines(value: Any, encode: Callable[[Any], str]) -> str:
    """``value`` as text by ``encode``, with the lines that it asks for."""
    if value.__class__ is Lines:
        return "".join(_pieces(value, encode))
    if value.__class__ is dict and Lines in map(type, value.values()):
        return f"{{{', '.join(_parts(value, encode))}}}"
    return encode(value)


def _pieces(lines: Lines, encode: Callable[[Any], str]) -> Iterator[str]:
    """An array as text, an item at a time."""
    before = "[\n"
    for item in lines.items:
        text = f"[{', '.join(map(encode, item))}]" if item.__class__ is tuple else in_lines(item, encode)
        yield f"{before}{text}"
        before = ",\n"
    yield "\n]" if before == ",\n" else "[]"


def _parts(value: dict[str, Any], encode: Callable[[Any], str]) -> Iterator[str]:
    """Fields as text; neighbours without lines by one call of ``encode``: a snapshot may have 100,000 groups."""
    plain: dict[str, Any] = {}
    for name, item in value.items():
        if item.__class__ is not Lines and item.__class__ is not dict:
            plain[name] = item
            continue
        if plain:
            yield encode(plain)[1:-1]
            plain = {}
        yield f"{encode(name)}: {in_lines(item, encode)}"
    if plain:
        yield encode(plain)[1:-1]


def document_text(document: Mapping[str, Any], encode: Callable[[Any], str]) -> str:
    """An object with a field a line, ending in a newline."""
    return "".join(document_pieces(document, encode))


def document_pieces(document: Mapping[str, Any], encode: Callable[[Any], str], colon: str = ":") -> Iterator[str]:
    """The same bit by bit; of a field with lines, each is a piece."""
    before = "{\n"
    for name, value in document.items():
        yield f"{before}{encode(name)}{colon}"
        if value.__class__ is Lines:
            yield from _pieces(value, encode)
        else:
            yield in_lines(value, encode)
        before = ",\n"
    yield "\n}\n" if document else "{\n\n}\n"


# Codecs of arrays, of maps, and of what may be null.


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
        items: list[T] = []
        try:
            for item in value:
                items.append(read(item))  # noqa: PERF401 - its length is the place of an error
        except SchemaError as error:
            raise error.inside(len(items)) from None
        return tuple(items)

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
        entries = {}
        for key, item in value.items():
            try:
                entries[TEXT.read(key)] = read(item)
            except SchemaError as error:
                raise error.inside(key) from None
        return FrozenMap(entries)

    def write_all(value: Mapping[str, T]) -> dict[str, Any]:
        return {key: write(item) for key, item in value.items()}

    return Codec(read_all, write_all, {"type": "object", "additionalProperties": inner.schema})


TEXTS = array(TEXT)
