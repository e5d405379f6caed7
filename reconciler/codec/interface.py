"""What a codec is: how a value reads from JSON, how it is written, and the JSON Schema of both."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from reconciler.dataclass import dataclass

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


def unexpected(wanted: str, found: object) -> SchemaError:
    """The error for a value of another type."""
    return SchemaError(f"expected {wanted}, found {_KINDS.get(type(found), type(found).__name__)}")
