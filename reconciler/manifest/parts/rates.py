"""Rates as a limit of a client is written: ``10MiB/s``, ``200%``, ``2.5/s``, or the bare number that Kafka stores."""

import re
from functools import partial
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, WithJsonSchema

from reconciler.manifest.parts import units
from reconciler.manifest.parts.fields import VARIABLE_PATTERN, reading
from reconciler.manifest.reader.source import quoted
from reconciler.model.kinds.quota import MAX_LIMIT

_DECIMAL = re.compile(r"(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,9})?", re.ASCII)
_BYTES: Final = {f"{unit}/s": size for unit, size in units.BYTES.items()}


def _positive(number: float) -> float:
    if not 0 < number <= MAX_LIMIT:
        raise ValueError(f"{number:g} is out of range: write a number above 0, {MAX_LIMIT} at most")
    return number


def _bytes(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,19}) ?([A-Za-z]+/s)", text, re.ASCII)
    if found and found[2] in _BYTES:
        return _positive(int(found[1]) * _BYTES[found[2]])
    if found or not re.fullmatch("-?[0-9]{1,19}", text, re.ASCII):
        raise ValueError(
            f"{quoted(text)} is not a byte rate: write a whole number of bytes, or one with {', '.join(_BYTES)}"
        )
    return _positive(units.integer(text))


def _decimal(unit: str, text: str) -> float:
    bare = text.removesuffix(unit).rstrip(" ")
    if not _DECIMAL.fullmatch(bare):
        raise ValueError(f"{quoted(text)} is not a number: write one such as 2.5{unit}")
    return _positive(float(bare))


def _whole(text: str) -> float:
    return _positive(units.integer(text.removesuffix("/s")))


def _limit_schema(pattern: str) -> WithJsonSchema:
    number: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_LIMIT}
    return WithJsonSchema(
        {"anyOf": [number, {"type": "string", "pattern": f"^[0-9.]+ ?{pattern}$|{VARIABLE_PATTERN}"}]}
    )


ByteRate = Annotated[float, BeforeValidator(reading(_bytes)), _limit_schema("(B|KiB|MiB|GiB|TiB)/s")]
Percentage = Annotated[float, BeforeValidator(reading(partial(_decimal, "%"))), _limit_schema("%")]
MutationRate = Annotated[float, BeforeValidator(reading(partial(_decimal, "/s"))), _limit_schema("/s")]
ConnectionRate = Annotated[float, BeforeValidator(reading(_whole)), _limit_schema("/s")]
