"""Codecs of values of several forms, told apart by a field's value or by which field is there."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from reconciler.codec.interface import Codec, SchemaError, unexpected
from reconciler.codec.objects import Field
from reconciler.codec.scalars import TEXT

T = TypeVar("T")


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
    known = {item.name: item.codec for item in fields}

    def read(value: Any) -> T:
        if value.__class__ is not dict:
            raise unexpected("an object", value)
        if len(value) != 1 or (name := next(iter(value))) not in known:
            raise SchemaError(f"expected exactly one of {', '.join(known)}")
        try:
            return build(name, known[name].read(value[name]))
        except SchemaError as error:
            raise error.inside(name) from None

    def write(value: T) -> dict[str, Any]:
        name, item = parts(value)
        return {name: known[name].write(item)}

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
    found: dict[str, list[Any]] = {}
    shared: set[str] | None = None
    for form in forms.values():
        for name, schema in form.schema["properties"].items():
            if schema not in found.setdefault(name, []):
                found[name].append(schema)
        required = set(form.schema["required"])
        shared = required if shared is None else shared & required
    first = {tag: {"enum": list(forms), "description": words, "examples": [next(iter(forms))]}}
    properties = {name: _any_of(schemas) for name, schemas in found.items()}
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
