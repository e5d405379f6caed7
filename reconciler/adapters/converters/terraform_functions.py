"""Terraform's functions without effects, and how its values turn into texts, booleans, lists and sets."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_SHOWN: Final = 80


class NotPlainError(Exception):
    """An expression that is not evaluated; the message quotes it."""

    def __init__(self, text: object) -> None:
        """Keep the beginning of the expression."""
        super().__init__(str(text)[:_SHOWN])


class Set(tuple[Any, ...]):
    """Terraform's set of texts: sorted, each one once. Any other tuple or list keeps its order."""

    __slots__ = ()


def text_of(value: Any) -> str:
    """A text, number or truth as Terraform puts it into a text; raises :class:`NotPlainError` for anything else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else str(value)
    if isinstance(value, str):
        return value
    raise NotPlainError(value)


def unescaped(text: str) -> str:
    """What a quoted text says, with its escapes resolved; raises :class:`NotPlainError`."""
    # "$${" is a literal "${" in HCL and no escape in JSON: it would become a reference further on.
    if "$${" in text or "%%{" in text:
        raise NotPlainError(text)
    try:
        plain: str = json.loads(f'"{text}"')
    except ValueError as error:
        raise NotPlainError(text) from error
    return plain


def truth_of(value: Any) -> bool:
    """A boolean, or a text that Terraform takes for one; raises :class:`NotPlainError`."""
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise NotPlainError(value)


def as_set(values: Any) -> Set:
    """Terraform's set of texts."""
    if isinstance(values, str | Mapping):
        raise NotPlainError(values)
    return Set(sorted({text_of(value) for value in values}))


def _merge(*maps: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in maps:
        found.update(one)
    return found


def _flatten(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found += _flatten(value) if isinstance(value, list | tuple) else [value]
    return found


def _lookup(of: Mapping[str, Any], key: str, *default: Any) -> Any:
    if key in of:
        return of[key]
    [other] = default
    return other


#: Those that configurations of Kafka use. What is missing is never guessed: its resource is named as not converted.
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "toset": as_set,
    "tolist": list,
    "tomap": dict,
    "tostring": text_of,
    "concat": lambda *lists: [item for one in lists for item in items_of(one)],
    "merge": _merge,
    "keys": sorted,
    "values": lambda of: [of[key] for key in sorted(of)],
    "length": len,
    "distinct": lambda values: list(dict.fromkeys(items_of(values))),
    "flatten": _flatten,
    "setunion": lambda *sets: as_set([item for one in sets for item in items_of(one)]),
    "contains": lambda values, value: value in items_of(values),
    "lookup": _lookup,
    "join": lambda separator, values: text_of(separator).join(text_of(item) for item in items_of(values)),
    "lower": lambda text: text_of(text).lower(),
    "upper": lambda text: text_of(text).upper(),
}


def items_of(values: Any) -> Sequence[Any]:
    """The items of a list, tuple or set; raises :class:`NotPlainError` for a mapping, whose items are pairs."""
    if not isinstance(values, list | tuple):
        raise NotPlainError(values)
    return values
