"""Types of single fields: texts, numbers with units, ends, rates.

The types of single fields. A manifest's scalars are texts, so each type reads a text and says what it expects.

Unions are told apart by shape, so that a mistake gives one problem and not one for each alternative. JSON Schemas
are for editors, which type scalars by YAML's own rules: there a number is a number.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from reconciler.manifest.read.findings import quoted, trouble_of
from reconciler.manifest.read.problem import Code, did_you_mean, one_of
from reconciler.model.acl import AclOperation
from reconciler.model.desired import Expiry

# Numbers, booleans, ends and durations as people write them; readers raise ``ValueError`` with words for a person.

#: Longer numbers fit no field of Kafka (Java's ``long`` has 19 digits).
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})", re.ASCII)
_DECIMAL_NUMBER = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,19})?([eE][+-]?[0-9]{1,2})?", re.ASCII)
_AMOUNT = re.compile(r"([0-9]{1,19})[ ]?([A-Za-z]+)", re.ASCII)
#: What somebody may have meant for a day, and for an instant.
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_INSTANT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(\.[0-9]+)?(.*)", re.ASCII)

MILLISECONDS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
#: The largest number that Kafka's messages (float64) carry without rounding.
MAX_LIMIT: Final = 2**53
BYTES: Final = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def integer(text: str) -> int:
    """A decimal integer without leading zeros, signs of plus, or underscores."""
    if _INTEGER.fullmatch(text):
        return int(text)
    meant = _whole_number(text.strip().replace("_", "").replace(",", "").lstrip("+"))
    advice = "write digits alone, such as 6" if meant is None else f"write {meant}"
    raise ValueError(f"{quoted(text)} is not a whole number: {advice}")


def _whole_number(text: str) -> int | None:
    """The whole number that somebody wrote in another way, as ``6.048e+8``; ``None`` if it is none."""
    if not _DECIMAL_NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() and abs(number) < 10**19 else None


def in_range(number: int, low: int, high: int) -> int:
    """``number`` if it is neither below ``low`` nor above ``high``."""
    if number < low:
        raise ValueError(f"{number} is too small: at least {low}")
    if number > high:
        raise ValueError(f"{number} is too large: at most {high}")
    return number


def boolean(text: str) -> bool:
    """``true`` or ``false``, nothing else."""
    if text in ("true", "false"):
        return text == "true"
    meant = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}
    word = meant.get(text.strip().lower(), "one of them")
    raise ValueError(f"{quoted(text)} is neither true nor false: write {word}")


def ending(text: str) -> Expiry:
    """A day as YYYY-MM-DD, or an instant as RFC 3339 writes it, with an offset and whole seconds."""
    try:
        return Expiry.of(text)
    except ValueError:
        raise ValueError(_no_ending(text)) from None


def _no_ending(text: str) -> str:
    if _DAY.fullmatch(text):
        return f"{text} is not a date: write a day that its month has"
    match = _INSTANT.fullmatch(text)
    if match is None:
        return f"{quoted(text)} is not a date: write YYYY-MM-DD, or an instant such as 2027-01-31T18:00:00Z"
    # Without an offset it would end at another instant wherever it is read.
    offset = "Z" if match[5] in ("", "z") else match[5]
    meant = f"{match[1]}T{match[2]}{match[3] or ':00'}{offset}"
    try:
        Expiry.of(meant)
    except ValueError:
        return f"{quoted(text)} is not an instant: write it as 2027-01-31T18:00:00Z"
    what = "has no offset" if not match[5] else "is not an instant"
    return f"{quoted(text)} {what}: write {meant}" + ("" if match[5] else " for UTC")


def seconds(text: str) -> float:
    """A duration such as ``2s``, ``500ms`` or ``1h``, in seconds."""
    match = _AMOUNT.fullmatch(text)
    if match and match[2] in ("ms", "s", "m", "h"):
        return int(match[1]) * MILLISECONDS[match[2]] / 1000
    raise ValueError(f"{quoted(text)} is not a duration: write a number and ms, s, m or h, such as 2s")


def amount(text: str, units: dict[str, int]) -> int:
    """An integer, or a number with one of ``units``."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return integer(text)
    if match[2] in units:
        return int(match[1]) * units[match[2]]
    meant = next((unit for unit in units if _same_unit(match[2], unit)), None)
    write = f"a whole number, or one with {', '.join(units)}" if meant is None else f"{match[1]}{meant}"
    raise ValueError(f"{quoted(text)} has no known unit: write {write}")


def _same_unit(word: str, unit: str) -> bool:
    """Whether a word stands for a unit in another spelling: ``days`` for ``d``, ``MB`` and ``m`` for ``MiB``."""
    written = word.lower().removesuffix("/s")
    return written in _OTHERWISE.get(unit.removesuffix("/s"), ())


#: How else people write a unit; a size of a thousand bytes is taken for one of 1,024, and only proposed.
_OTHERWISE: Final[Mapping[str, tuple[str, ...]]] = {
    "ms": ("ms", "msec", "millis", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "m": ("m", "min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("d", "day", "days"),
    "B": ("b", "byte", "bytes"),
    **{f"{sign}iB": (f"{sign}ib".lower(), f"{sign}b".lower(), sign.lower()) for sign in "KMGT"},
}


T = TypeVar("T")
#: A whole scalar that names one of the cluster's ``vars``.
VARIABLE_PATTERN = r"^\$\{vars\.[A-Za-z0-9_.-]+\}$"
_VARIABLE_SCHEMA = {"type": "string", "pattern": VARIABLE_PATTERN}
#: How the branches of a union are called in pydantic's paths; no key of a manifest looks like this.
TEXT_TAG, LIST_TAG, MAPPING_TAG, MIXED_TAG = "<text>", "<list>", "<mapping>", "<mixed list>"
GUARD_TAG, LINT_TAG = "<guard>", "<lint>"
TAGS: Final = (TEXT_TAG, LIST_TAG, MAPPING_TAG, MIXED_TAG, GUARD_TAG, LINT_TAG)


class ManifestModel(BaseModel):
    """A mapping in a manifest: immutable, camelCase, no unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, defer_build=True)


def refuse(code: Code, message: str, advice: str = "") -> PydanticCustomError:
    """The error by which a type of ours refuses a value; code and words reach the user as they are."""
    return PydanticCustomError("manifest", "{message}", {"code": code, "message": message, "advice": advice})


def reading(read: Callable[[str], T]) -> Callable[[object], object]:
    """A validator from a reader of texts that raises ``ValueError`` in words for a person."""

    def validate(value: object) -> object:
        if not isinstance(value, str):
            raise refuse(Code.WRONG_SHAPE, "a single value is expected here")
        try:
            return read(value)
        except ValueError as error:
            raise refuse(*trouble_of(Code.WRONG_VALUE, error)) from None

    return validate


def ends(what: str, *, required: bool = False) -> Any:
    """The field ``expires``; ``what`` begins the sentence of its description: ``The rule holds``."""
    description = f"{what} through this day (UTC), or until this instant."
    return Field(... if required else None, description=description, examples=["2027-01-31", "2027-01-31T18:00:00Z"])


def _between(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        return in_range(integer(text), low, high)

    return read


def _operation(value: object) -> object:
    if not isinstance(value, str):
        raise refuse(Code.WRONG_SHAPE, "an operation is expected here", "write one, or a list of them")
    if value not in OPERATIONS:
        advice = did_you_mean(value.replace("-", "_"), OPERATIONS, one_of(OPERATIONS))
        raise refuse(Code.OPERATION, f"Kafka has no operation {quoted(value)}", advice)
    return OPERATIONS[value]


def shape(value: object) -> str:
    """Which branch of a union a value belongs to."""
    return LIST_TAG if isinstance(value, list) else MAPPING_TAG if isinstance(value, dict) else TEXT_TAG


def shape_of_names(value: object) -> str:
    """The same, with a branch of its own for a list in which not all are texts."""
    return MIXED_TAG if isinstance(value, list) and not set(map(type, value)) <= {str} else shape(value)


def one_or_list(value: object) -> str:
    """Which branch of a union without a mapping a value belongs to."""
    return LIST_TAG if isinstance(value, list) else TEXT_TAG


def one_or_mapping(value: object) -> str:
    """Which branch of a union without a list a value belongs to."""
    return MAPPING_TAG if isinstance(value, dict) else TEXT_TAG


def words_schema(words: Iterable[str]) -> WithJsonSchema:
    """One of these words, or a variable."""
    return WithJsonSchema({"anyOf": [{"type": "string", "enum": sorted(words)}, _VARIABLE_SCHEMA]})


def _integer_schema(low: int, high: int) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": "integer", "minimum": low, "maximum": high}, _VARIABLE_SCHEMA]})


#: The operations that a rule can name; ANY and UNKNOWN belong in filters.
OPERATIONS = {operation.name: operation for operation in AclOperation if operation >= AclOperation.ALL}

Boolean = Annotated[
    bool, BeforeValidator(reading(boolean)), WithJsonSchema({"anyOf": [{"type": "boolean"}, _VARIABLE_SCHEMA]})
]
Ends = Annotated[
    Expiry,
    BeforeValidator(reading(ending)),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^([0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2}))?"
            r"|\$\{vars\.[A-Za-z0-9_.-]+\})$",
        }
    ),
]
Seconds = Annotated[
    float, BeforeValidator(reading(seconds)), WithJsonSchema({"type": "string", "pattern": "^[0-9]+ ?(ms|s|m|h)$"})
]
Percent = Annotated[
    int,
    BeforeValidator(reading(_between(0, 100))),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 100}),
]
_COUNT = BeforeValidator(reading(_between(0, 2**31 - 1)))
#: Of a ``Cluster`` or a ``Fleet``, in which no variable is allowed.
FixedCount = Annotated[int, _COUNT, WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 2**31 - 1})]
Count = Annotated[int, _COUNT, _integer_schema(0, 2**31 - 1)]
Partitions = Annotated[int, BeforeValidator(reading(_between(1, 2**31 - 1))), _integer_schema(1, 2**31 - 1)]
Replicas = Annotated[int, BeforeValidator(reading(_between(1, 2**15 - 1))), _integer_schema(1, 2**15 - 1)]
Operation = Annotated[AclOperation, BeforeValidator(_operation), words_schema(OPERATIONS)]
#: How much a failure or a breach weighs.
Severity = Annotated[Literal["error", "warning"], words_schema(("error", "warning"))]
#: Any scalar; an editor may take it for a number or a boolean.
Text = Annotated[str, WithJsonSchema({"type": ["string", "number", "boolean"]})]


#: A principal: what an editor can see of its form.
PrincipalText = Annotated[
    str,
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r":|\$\{vars\.",
            "patternErrorMessage": "A principal is Type:name, such as User:svc-payments.",
        }
    ),
]


def _reason_text(value: object) -> object:
    if isinstance(value, str) and not value.strip():
        raise refuse(Code.WRONG_VALUE, "a reason is expected here", "say why")
    return value


#: A text that says something.
Reason = Annotated[Text, BeforeValidator(_reason_text)]


OneOrMoreTexts = Annotated[
    Annotated[Text, Tag(TEXT_TAG)] | Annotated[list[Text], Field(min_length=1), Tag(LIST_TAG)],
    Discriminator(one_or_list),
]
OneOrMorePrincipals = Annotated[
    Annotated[PrincipalText, Tag(TEXT_TAG)] | Annotated[list[PrincipalText], Field(min_length=1), Tag(LIST_TAG)],
    Discriminator(one_or_list),
]
OneOrMoreOperations = Annotated[
    Annotated[Operation, Tag(TEXT_TAG)] | Annotated[list[Operation], Field(min_length=1), Tag(LIST_TAG)],
    Discriminator(one_or_list),
]


# Rates as a limit of a client is written: ``10MiB/s``, ``200%``, ``2.5/s``, or the bare number that Kafka stores.

_RATE = re.compile(r"(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,9})?", re.ASCII)
_BYTES: Final = {f"{unit}/s": size for unit, size in BYTES.items()}


def _positive(number: float) -> float:
    if not 0 < number <= MAX_LIMIT:
        raise ValueError(f"{number:g} is out of range: write a number above 0, {MAX_LIMIT} at most")
    return number


def _bytes(text: str) -> float:
    match = re.fullmatch(r"([0-9]{1,19}) ?([A-Za-z]+/s)", text, re.ASCII)
    if match and match[2] in _BYTES:
        return _positive(int(match[1]) * _BYTES[match[2]])
    if not re.fullmatch("-?[0-9]{1,19}", text, re.ASCII):
        other = re.fullmatch(r"([0-9]{1,19}) ?([A-Za-z]+(?:/s)?)", text, re.ASCII)
        meant = next((unit for unit in _BYTES if other and _same_unit(other[2], unit)), None)
        write = f"{other[1]}{meant}" if other and meant else f"a whole number of bytes, or one with {', '.join(_BYTES)}"
        raise ValueError(f"{quoted(text)} is not a byte rate: write {write}")
    return _positive(integer(text))


def _decimal(unit: str, text: str) -> float:
    bare = text.removesuffix(unit).rstrip(" ")
    if not _RATE.fullmatch(bare):
        raise ValueError(f"{quoted(text)} is not a number: write one such as 2.5{unit}")
    return _positive(float(bare))


def _whole_rate(text: str) -> float:
    return _positive(integer(text.removesuffix("/s")))


def _limit_schema(pattern: str) -> WithJsonSchema:
    number: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_LIMIT}
    return WithJsonSchema(
        {"anyOf": [number, {"type": "string", "pattern": f"^[0-9.]+ ?{pattern}$|{VARIABLE_PATTERN}"}]}
    )


ByteRate = Annotated[float, BeforeValidator(reading(_bytes)), _limit_schema("(B|KiB|MiB|GiB|TiB)/s")]
Percentage = Annotated[float, BeforeValidator(reading(partial(_decimal, "%"))), _limit_schema("%")]
MutationRate = Annotated[float, BeforeValidator(reading(partial(_decimal, "/s"))), _limit_schema("/s")]
ConnectionRate = Annotated[float, BeforeValidator(reading(_whole_rate)), _limit_schema("/s")]
