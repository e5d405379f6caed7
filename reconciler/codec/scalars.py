"""Codecs of single values: strings, numbers, booleans, dates, enumerations."""

import datetime
import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, IntEnum
from typing import Any, Final, TypeVar

from reconciler.codec.interface import Codec, SchemaError, same, unexpected

T = TypeVar("T")
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
        found = _read_text(value)
        if len(found) < least:
            raise SchemaError("is empty")
        if search is not None and not search(found):
            raise SchemaError(f"{found!r} does not match {pattern}")
        return found

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
        found = get(value) if value.__class__ is kind else None
        if found is None:
            shown = repr(value) if isinstance(value, str | int) else "it"
            raise SchemaError(f"{shown} is none of {', '.join(map(str, words))}")
        return found

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


def word(*known: str) -> Codec[str]:
    """One of these strings."""
    return _one_of({word: word for word in known}, {word: word for word in known}, {"enum": list(known)})


DATE: Final[Codec[datetime.date]] = converted(TEXT, datetime.date.fromisoformat, datetime.date.isoformat, format="date")
