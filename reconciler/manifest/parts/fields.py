"""The types of single fields. A manifest's scalars are texts, so each type reads a text and says what it expects.

Unions are told apart by shape, so that a mistake gives one problem and not one for each alternative. JSON Schemas
are for editors, which type scalars by YAML's own rules: there a number is a number.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from reconciler.manifest.parts import units
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.source import quoted
from reconciler.manifest.reader.suggest import did_you_mean, one_of
from reconciler.model import AclOperation, Expiry

T = TypeVar("T")
#: A whole scalar that names one of the cluster's ``vars``.
VARIABLE_PATTERN = r"^\$\{vars\.[A-Za-z0-9_.-]+\}$"
_VARIABLE_SCHEMA = {"type": "string", "pattern": VARIABLE_PATTERN}
#: How the branches of a union are called in pydantic's paths; no key of a manifest looks like this.
TEXT_TAG, LIST_TAG, MAPPING_TAG = "<text>", "<list>", "<mapping>"


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
            message, _, advice = str(error).partition(": ")
            raise refuse(Code.WRONG_VALUE, message, advice) from None

    return validate


def ends(what: str, *, required: bool = False) -> Any:
    """The field ``expires``; ``what`` begins the sentence of its description: ``The rule holds``."""
    description = f"{what} through this day (UTC), or until this instant."
    return Field(... if required else None, description=description, examples=["2027-01-31", "2027-01-31T18:00:00Z"])


def _between(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        return units.in_range(units.integer(text), low, high)

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


def one_or_list(value: object) -> str:
    """Which branch of a union without a mapping a value belongs to."""
    return LIST_TAG if isinstance(value, list) else TEXT_TAG


def words_schema(words: Iterable[str]) -> WithJsonSchema:
    """One of these words, or a variable."""
    return WithJsonSchema({"anyOf": [{"type": "string", "enum": sorted(words)}, _VARIABLE_SCHEMA]})


def _integer_schema(low: int, high: int) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": "integer", "minimum": low, "maximum": high}, _VARIABLE_SCHEMA]})


#: The operations that a rule can name; ANY and UNKNOWN belong in filters.
OPERATIONS = {operation.name: operation for operation in AclOperation if operation >= AclOperation.ALL}

Boolean = Annotated[
    bool, BeforeValidator(reading(units.boolean)), WithJsonSchema({"anyOf": [{"type": "boolean"}, _VARIABLE_SCHEMA]})
]
Ends = Annotated[
    Expiry,
    BeforeValidator(reading(units.ending)),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^([0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2}))?"
            r"|\$\{vars\.[A-Za-z0-9_.-]+\})$",
        }
    ),
]
Seconds = Annotated[
    float, BeforeValidator(reading(units.seconds)), WithJsonSchema({"type": "string", "pattern": "^[0-9]+ ?(ms|s|m)$"})
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


def _said(value: object) -> object:
    if isinstance(value, str) and not value.strip():
        raise refuse(Code.WRONG_VALUE, "a reason is expected here", "say why")
    return value


#: A text that says something.
Reason = Annotated[Text, BeforeValidator(_said)]


OneOrMoreTexts = Annotated[
    Annotated[Text, Tag(TEXT_TAG)] | Annotated[list[Text], Field(min_length=1), Tag(LIST_TAG)],
    Discriminator(one_or_list),
]
OneOrMoreOperations = Annotated[
    Annotated[Operation, Tag(TEXT_TAG)] | Annotated[list[Operation], Field(min_length=1), Tag(LIST_TAG)],
    Discriminator(one_or_list),
]
