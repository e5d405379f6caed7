"""Whether JSON values have the shape that a schema of ours says; a plan file's every field is checked before it counts.

Knows of JSON Schema what ``schema.py`` uses. A schema is compiled once, because a plan may hold 150,000 steps.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from reconciler.plan.file.schema import plan_schema

#: The place that does not fit, as in ``.steps[3].id``, or ``None``.
Check: TypeAlias = Callable[[Any], str | None]
_HERE: Final = ""
_MISSING: Final = object()


def misfit(document: object) -> str | None:
    """The first place at which a saved plan's document is not as its schema says."""
    return _plan()(document)


@cache
def _plan() -> Check:
    return compiled(plan_schema())


def compiled(schema: Mapping[str, Any]) -> Check:
    """The check of one schema; raises ``ValueError`` for a keyword that this does not know."""
    unknown = set(schema) - _KNOWN
    if unknown:
        raise ValueError(f"unknown keywords {sorted(unknown)}")
    checks = [make(schema[key], schema) for key, make in _MAKERS.items() if key in schema]
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda value: place if (place := first(value)) is not None else second(value)

    def check(value: Any) -> str | None:
        for one in checks:
            if (place := one(value)) is not None:
                return place
        return None

    return check


def _type(name: str, _: Mapping[str, Any]) -> Check:
    if name == "string":  # what most values are
        return lambda value: None if isinstance(value, str) else _HERE
    is_it = _TYPES[name]
    return lambda value: None if is_it(value) else _HERE


def _is_number(value: float) -> bool:
    """Neither a boolean nor endless, nor longer than a machine counts."""
    return not isinstance(value, bool) and abs(value) < 2**63


def _test(holds: Callable[[Any], bool]) -> Check:
    return lambda value: None if holds(value) else _HERE


def _enum(values: list[Any], _: Mapping[str, Any]) -> Check:
    kinds, known = tuple({type(value) for value in values}), frozenset(values)
    return lambda value: None if type(value) in kinds and value in known else _HERE


def _pattern(pattern: str, _: Mapping[str, Any]) -> Check:
    search = re.compile(pattern).search
    return lambda value: None if search(value) else _HERE


def _any(schemas: list[Mapping[str, Any]], _: Mapping[str, Any]) -> Check:
    checks = [compiled(schema) for schema in schemas]

    def check(value: Any) -> str | None:
        deepest = _HERE
        for one in checks:
            if (place := one(value)) is None:
                return None
            deepest = max(deepest, place, key=len)
        return deepest

    return check


def _items(schema: Mapping[str, Any], _: Mapping[str, Any]) -> Check:
    inner = compiled(schema)

    def check(value: Any) -> str | None:
        for number, item in enumerate(value):
            if (place := inner(item)) is not None:
                return f"[{number}]{place}"
        return None

    return check


def _properties(schemas: Mapping[str, Mapping[str, Any]], schema: Mapping[str, Any]) -> Check:
    required = frozenset(schema.get("required", ()))
    fields = [(key, compiled(inner), key in required) for key, inner in schemas.items()]

    def check(value: Any) -> str | None:
        for key, one, needed in fields:
            item = value.get(key, _MISSING)
            if item is _MISSING:
                if needed:
                    return f".{key}"
            elif (place := one(item)) is not None:
                return f".{key}{place}"
        return None

    return check


def _additional(allowed: bool | Mapping[str, Any], schema: Mapping[str, Any]) -> Check:
    if allowed is True:
        return lambda _: None
    known = frozenset(schema.get("properties", ()))
    inner = compiled(allowed) if allowed else lambda _: _HERE

    def check(value: Any) -> str | None:
        for key, item in value.items():
            if key not in known and (place := inner(item)) is not None:
                return f".{key}{place}"
        return None

    return check


_TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and _is_number(value),
    "number": lambda value: isinstance(value, int | float) and _is_number(value),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
#: In the order in which they are asked: what is of the wrong type has no items.
_MAKERS: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], Check]]] = {
    "type": _type,
    "const": lambda wanted, _: _test(lambda value: type(value) is type(wanted) and value == wanted),
    "enum": _enum,
    "pattern": _pattern,
    "minimum": lambda least, _: _test(lambda value: value >= least),
    "minLength": lambda least, _: _test(lambda value: len(value) >= least),
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "anyOf": _any,
    "oneOf": _any,
}
#: What ``required`` says is asked with ``properties``.
_KNOWN: Final = frozenset(_MAKERS) | {
    "required",
    "$schema",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "format",
}
