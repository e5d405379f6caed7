"""JSON documents as text: strict reading, versions, canonical writing, schemas as files."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Never

from reconciler.codec.interface import Codec, SchemaError, unexpected
from reconciler.codec.scalars import TEXT

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
#: Longer values are names and ids, most of which occur once.
_SHORT: Final = 11
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})", re.ASCII)

#: JSON without spaces, keys in the order of the value.
compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
#: JSON without spaces, keys sorted. What codecs write holds no value within itself, so nobody has to look for one.
canonical: Final = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":")
).encode


def load(text: str) -> dict[str, Any]:
    """The object that ``text`` holds; a key that occurs twice, NaN and Infinity are refused.

    Raises :class:`SchemaError`.
    """
    try:
        document = json.loads(text, object_pairs_hook=_object_hook(), parse_constant=no_number)
    except json.JSONDecodeError as error:
        raise SchemaError(error.msg, f"line {error.lineno}, column {error.colno}") from None
    except SchemaError:
        raise
    except (ValueError, RecursionError) as error:
        raise SchemaError(str(error)) from None
    if document.__class__ is not dict:
        raise unexpected("an object", document)
    return document


def known_minor(document: Mapping[str, Any], version: str) -> bool:
    """Whether ``formatVersion`` is no newer than ``version``, which this program writes.

    Terraform's rule: fields of a newer minor version are ignored, another major version is refused.
    Raises :class:`SchemaError`.
    """
    try:
        found = TEXT.read(document.get("formatVersion"))
        match = _VERSION.fullmatch(found)
        if match is None:
            raise SchemaError(f"{found!r} is not a version such as {version!r}")
        major, minor = map(int, version.split("."))
        if int(match[1]) != major:
            raise SchemaError(f"this version reads {major}.x, the file is {found}")
    except SchemaError as error:
        raise error.inside("formatVersion") from None
    return int(match[2]) <= minor


def schema_text(title: str, codec: Codec[Any]) -> str:
    """The schema as it is in ``schema/``: sorted, indented, with a newline at the end."""
    schema = {"$schema": DRAFT, "title": title, **codec.schema}
    return json.dumps(schema, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _object_hook() -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Makes objects of their pairs. Equal short values of them are one string, which JSON's reader does for keys alone.

    The 150,000 steps of a plan say ALLOW, TOPIC, LITERAL and ``*`` each: a tenth of the memory that reading it takes.
    """
    known: dict[str, str] = {}

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = {
            name: known.setdefault(value, value) if value.__class__ is str and len(value) <= _SHORT else value
            for name, value in pairs
        }
        return _checked(found, pairs)

    return unique


def unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs; raises :class:`SchemaError` for a key that occurs twice."""
    return _checked(dict(pairs), pairs)


def _checked(found: dict[str, Any], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError("occurs twice in one object", f"the key {twice!r}")
    return found


def no_number(constant: str) -> Never:
    """Refuse NaN and Infinity, which Python's reader takes."""
    raise SchemaError("is not a JSON number", constant)
