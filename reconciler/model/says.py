"""Notes in annotations: what the fields of a value are in JSON. ``reconciler.codec.annotated`` makes codecs of them.

Values of the model hold these notes alone and know no codec::

    reason: Annotated[AnyText, Says("Why it is accepted.", "until the migration is over")]
"""

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

#: The default of a field that has to be there.
REQUIRED: Final[Any] = object()
#: Not given; ``None`` is a value.
UNSAID: Final[Any] = object()


class Form(Enum):
    """How a value looks in JSON, where its type alone does not say it."""

    #: A string that may hold half of a surrogate pair.
    ANY_TEXT = "any text"
    #: A string that is not empty.
    NAME = "name"
    #: An integer that may be negative.
    ANY_INTEGER = "any integer"
    #: A number of 0 or more, however large.
    ANY_NUMBER = "any number"
    #: A string that is one reference to a secret and nothing else; an error does not repeat it.
    REFERENCE = "reference"


AnyText: TypeAlias = Annotated[str, Form.ANY_TEXT]
Name: TypeAlias = Annotated[str, Form.NAME]
AnyInteger: TypeAlias = Annotated[int, Form.ANY_INTEGER]
AnyNumber: TypeAlias = Annotated[float, Form.ANY_NUMBER]
Reference: TypeAlias = Annotated[str, Form.REFERENCE]


class As(NamedTuple):
    """A value that is another one in JSON: the annotated type of that, and the functions from it and to it."""

    kind: Any
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


class FieldGroup(NamedTuple):
    """An object of its own for some fields of a value: its name in JSON and its description in the schema."""

    name: str
    words: str


class Says:
    """A field of the JSON object: its description and an example in the schema, and what is unlike its attribute.

    ``name`` is its name where that is not the attribute's in camel case. ``default`` is the value where the field is
    absent, that of the class unless given; ``REQUIRED``: it has to be there, whatever default the class has. ``omit``
    leaves a field with its default out of what is written, so ``None`` is never null; with ``null``, it may be read.
    ``before`` is the attribute that it precedes, where JSON has another order than the class; ``group``: the fields
    that follow one another with an equal one stand in an object of their own.
    """

    __slots__ = ("before", "default", "example", "group", "name", "null", "omit", "words")

    def __init__(  # noqa: PLR0913 - all that there is to say of a field, most of it by keyword
        self,
        words: str,
        example: Any = UNSAID,
        *,
        name: str = "",
        default: Any = UNSAID,
        omit: bool = False,
        null: bool = False,
        before: str = "",
        group: FieldGroup | None = None,
    ) -> None:
        """``example`` is one value as JSON has it."""
        self.words, self.name, self.default, self.omit, self.null = words, name, default, omit, null
        self.before, self.group = before, group
        self.example: tuple[Any, ...] = () if example is UNSAID else (example,)


class Apart:
    """The attribute is no field of the JSON object: who reads that has ``default``, that of the class unless given."""

    __slots__ = ("default",)

    def __init__(self, default: Any = UNSAID) -> None:
        """``default`` where the class has none."""
        self.default = default


class Flat:
    """The fields of this value stand among those of the object that holds it; of ``None``, they are absent."""
