"""Codecs of objects: one table of fields, from which reader, writer, schema and the places of errors follow.

A new field of a value is one line in its table; :func:`record` refuses a table that does not cover its dataclass.
"""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from reconciler.codec.codec import TEXT, Codec, SchemaError, same, unexpected
from reconciler.dataclass import dataclass
from reconciler.model.says import REQUIRED

T = TypeVar("T")
_NONE: Final[Any] = object()
_HUMP = re.compile("([A-Z])")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an object; made by :func:`field`, :func:`derived`, :func:`group` and :func:`flat`.

    ``keyword`` is what the value is built with, empty where it is only written. ``default`` is the value where the
    field is absent; ``omit``: it is not written where it has that value.
    """

    name: str
    codec: Codec[Any]
    schema: Mapping[str, Any]
    keyword: str
    get: Callable[[Any], Any]
    default: Any = REQUIRED
    omit: bool = False
    inner: tuple["Field", ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Record(Codec[T], Generic[T]):
    """The codec of an object, with its table."""

    write: Callable[[T], dict[str, Any]]
    fields: tuple[Field, ...]


def field(  # noqa: PLR0913 - one line of a table, most of it by keyword
    name: str,
    codec: Codec[Any],
    words: str,
    example: Any = _NONE,
    *,
    attr: str = "",
    get: Callable[[Any], Any] | None = None,
    default: Any = REQUIRED,
    omit: bool = False,
) -> Field:
    """A field that is written and read.

    ``words`` describe it in the schema, ``example`` is one value. ``attr`` is the attribute and the keyword of the
    value, the name in snake case unless given; where it has dots, or ``get`` says where the value is, it is only the
    former, and the keyword is the name. ``omit`` leaves a field with its default out of what is written.
    """
    into = snake(name) if "." in attr or not attr else attr
    return Field(name, codec, described(codec, words, example), into, get or attrgetter(attr or into), default, omit)


def derived(name: str, codec: Codec[Any], words: str, example: Any = _NONE, *, get: Callable[[Any], Any]) -> Field:
    """A field that is computed from the value: written, checked when it is read, and not used."""
    return Field(name, codec, described(codec, words, example), "", get)


def group(name: str, words: str, *fields: Field) -> Field:
    """Fields of the same value, in an object of their own."""
    return Field(name, _PLAIN, {**_schema(fields, closed=False), "description": words}, "", same, inner=fields)


def flat(codec: Codec[Any], attr: str) -> Field:
    """A value whose fields stand among those of the object that holds it; its keyword is the last name of ``attr``."""
    return Field("", codec, codec.schema, attr.rpartition(".")[2], attrgetter(attr) if attr else same)


def optional(codec: Codec[Any], attr: str, first: str) -> Field:
    """As :func:`flat`, of a value that may be ``None``: then its fields, one of which is ``first``, are absent."""

    def read(value: Any) -> Any:
        return codec.read(value) if first in value else None

    def write(value: Any) -> Any:
        return {} if value is None else codec.write(value)

    return flat(Codec(read, write, {**codec.schema, "required": []}), attr)


def record(build: Callable[..., T], *fields: Field, closed: bool = False, words: str = "") -> Record[T]:
    """The codec of what ``build`` makes of the fields as keywords; it may raise ``ValueError``.

    ``closed`` refuses fields that the table does not have. Raises ``TypeError`` where the table of a dataclass does not
    cover the dataclass: a field cannot be forgotten.
    """
    _complete(build, fields)
    fill, names = _reader(fields), frozenset(_names(fields))

    def read(value: Any) -> T:
        keywords: dict[str, Any] = {}
        fill(value, keywords)
        keywords.pop("", None)
        if closed and not names.issuperset(value):
            raise SchemaError("is not a field of this version", min(value.keys() - names))
        try:
            return build(**keywords)
        except SchemaError:  # a ValueError too, which already knows its place
            raise
        except ValueError as error:
            raise SchemaError(str(error)) from None

    schema = _schema(fields, closed=closed) | ({"description": words} if words else {})
    return Record(read, _writer(fields), schema, fields)


def snake(name: str) -> str:
    """``liveBindings`` as Python spells it, ``live_bindings``."""
    return _HUMP.sub(lambda match: f"_{match[1].lower()}", name)


def _reader(fields: Sequence[Field]) -> Callable[[Any, dict[str, Any]], None]:
    """Fills keywords from an object; the empty keyword gets what is only checked."""
    plain = [
        (item.name, item.keyword, item.codec.read, item.default) for item in fields if item.name and not item.inner
    ]
    groups = [(item.name, _reader(item.inner)) for item in fields if item.inner]
    flats = [(item.keyword, item.codec.read) for item in fields if not item.name]

    def fill(value: Any, keywords: dict[str, Any]) -> None:
        if value.__class__ is not dict:  # JSON gives no subclass of it
            raise unexpected("an object", value)
        name = ""
        try:  # one for all fields, because a large plan has millions: ``name`` is the one that was being read
            for name, keyword, read, default in plain:
                if name in value:
                    keywords[keyword] = read(value[name])
                elif default is REQUIRED:
                    raise SchemaError("is missing")
                else:
                    keywords[keyword] = default
            for name, inner in groups:
                inner(value.get(name), keywords)
        except SchemaError as error:
            raise error.inside(name) from None
        for keyword, read in flats:
            keywords[keyword] = read(value)

    return fill


def _writer(fields: Sequence[Field]) -> Callable[[Any], dict[str, Any]]:
    rows = [
        (item.name, item.get, _writer(item.inner) if item.inner else item.codec.write, item.omit, item.default)
        for item in fields
    ]
    if all(name and not omit for name, _, _, omit, _ in rows):
        # Most tables: nothing to decide for each value, which shows on a plan of 100,000 steps.
        plain = [(name, get, None if form is same else form) for name, get, form, _, _ in rows]
        return lambda value: {name: get(value) if form is None else form(get(value)) for name, get, form in plain}

    def write(value: Any) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, get, form, omit, default in rows:
            item = get(value)
            if not name:
                members |= form(item)
            elif not omit or item != default:
                members[name] = item if form is same else form(item)
        return members

    return write


def _schema(fields: Sequence[Field], *, closed: bool) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for item in fields:
        if item.name:
            properties[item.name] = dict(item.schema)
            required += [item.name] if item.default is REQUIRED else []
        else:
            properties |= item.schema["properties"]
            required += item.schema.get("required", [])
    schema = {"type": "object", "properties": properties, "required": required}
    return {**schema, "additionalProperties": False} if closed else schema


def described(codec: Codec[Any], words: str, example: Any = _NONE) -> dict[str, Any]:
    """The schema of a field: that of its values, with what it means."""
    return {**codec.schema, "description": words} | ({} if example is _NONE else {"examples": [example]})


def _names(fields: Sequence[Field]) -> Iterator[str]:
    for item in fields:
        yield from (item.name,) if item.name else item.schema["properties"]


def _keywords(fields: Sequence[Field]) -> Iterator[str]:
    for item in fields:
        yield from _keywords(item.inner) if item.inner else (item.keyword,)


def _complete(build: Callable[..., Any], fields: Sequence[Field]) -> None:
    if dataclasses.is_dataclass(build):
        wanted = {item.name for item in dataclasses.fields(build) if item.init}
        if wanted != (given := set(_keywords(fields)) - {""}):
            raise TypeError(f"the table of {build} and its fields differ in {sorted(wanted ^ given)}")


_PLAIN: Final[Codec[Any]] = Codec(same, same, {})


# Codecs of values of several forms, told apart by a field's value or by which field is there.


def tagged(tag: str, forms: Mapping[str, Codec[Any]], tag_of: Callable[[Any], str], words: str) -> Codec[Any]:
    """Objects whose field ``tag`` says which of ``forms`` they have; it is written first."""

    def read(value: Any) -> Any:
        if value.__class__ is not dict:
            raise unexpected("an object", value)
        try:
            if tag not in value:
                raise SchemaError("is missing")
            name = TEXT.read(value[tag])
            if name not in forms:
                raise SchemaError(f"{name!r} is none of {', '.join(forms)}")
        except SchemaError as error:
            raise error.inside(tag) from None
        return forms[name].read(value)

    def write(value: Any) -> dict[str, Any]:
        name = tag_of(value)
        return {tag: name, **forms[name].write(value)}

    return Codec(read, write, _merged(tag, forms, words))


def single(build: Callable[[str, Any], T], parts: Callable[[T], tuple[str, Any]], *fields: Field) -> Codec[T]:
    """Objects of exactly one of ``fields``; ``build`` and ``parts`` go from its name and value to ``T`` and back."""
    codecs = {item.name: item.codec for item in fields}

    def read(value: Any) -> T:
        if value.__class__ is not dict:
            raise unexpected("an object", value)
        if len(value) != 1 or (name := next(iter(value))) not in codecs:
            raise SchemaError(f"expected exactly one of {', '.join(codecs)}")
        try:
            return build(name, codecs[name].read(value[name]))
        except SchemaError as error:
            raise error.inside(name) from None

    def write(value: T) -> dict[str, Any]:
        name, item = parts(value)
        return {name: codecs[name].write(item)}

    forms = [
        {
            "type": "object",
            "properties": {item.name: dict(item.schema)},
            "required": [item.name],
            "additionalProperties": False,
        }
        for item in fields
    ]
    return Codec(read, write, {"oneOf": forms})


def _merged(tag: str, forms: Mapping[str, Codec[Any]], words: str) -> dict[str, Any]:
    """One object with the fields of all forms; where forms differ about a field, any of theirs."""
    by_name: dict[str, list[Any]] = {}
    shared: set[str] | None = None
    for form in forms.values():
        for name, schema in form.schema["properties"].items():
            if schema not in by_name.setdefault(name, []):
                by_name[name].append(schema)
        required = set(form.schema["required"])
        shared = required if shared is None else shared & required
    first = {tag: {"enum": list(forms), "description": words, "examples": [next(iter(forms))]}}
    properties = {name: _any_of(schemas) for name, schemas in by_name.items()}
    return {"type": "object", "properties": first | properties, "required": [tag, *sorted(shared or ())]}


def _any_of(schemas: list[Any]) -> Any:
    if len(schemas) == 1:
        return schemas[0]
    words = {key: schemas[0][key] for key in ("description", "examples") if key in schemas[0]}
    plain: list[Any] = []
    for schema in schemas:
        bare = {key: value for key, value in schema.items() if key not in ("description", "examples")}
        plain += [] if bare in plain else [bare]
    return {**(plain[0] if len(plain) == 1 else {"anyOf": plain}), **words}
