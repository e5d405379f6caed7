"""Codecs of annotated values: a class says once which fields it has and what each means.

Types choose codecs; where one does not say enough, the annotation names another::

    reason: Annotated[AnyText, Says("Why it is accepted.", "until the migration is over")]
    place: Annotated[Origin | None, Says("Where it is declared.", "acls.yaml:8:16", omit=True)] = None

A value whose JSON is not its fields has a table of :func:`reconciler.codec.objects.record`.
"""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeAlias, TypeVar, Union, get_args, get_origin

from reconciler.codec.containers import array, mapping, nullable
from reconciler.codec.interface import Codec
from reconciler.codec.objects import REQUIRED, Field, Record, described, flat, record
from reconciler.codec.scalars import ANY_TEXT, BOOLEAN, COUNT, DATE, NUMBER, TEXT, by_value, integer
from reconciler.codec.values import BINDING, ORIGIN
from reconciler.model import AclBinding, Origin

T = TypeVar("T")
_UNSAID: Final[Any] = object()
#: Asked for by class, for ``get_origin`` asks a type ten questions: a command derives some fifty classes.
_ANNOTATED: Final[Any] = type(Annotated[str, ...])
_UNIONS: Final[Any] = (UnionType, type(Union[str, None]))  # noqa: UP007 - its class is what is wanted

AnyText: TypeAlias = Annotated[str, ANY_TEXT]
AnyInteger: TypeAlias = Annotated[int, integer(None)]

_CODECS: Final[Mapping[Any, Codec[Any]]] = {
    str: TEXT,
    int: COUNT,
    float: NUMBER,
    bool: BOOLEAN,
    datetime.date: DATE,
    AclBinding: BINDING,
    Origin: ORIGIN,
}


class Says:
    """A field of the JSON object: its description and an example in the schema, and what is unlike its attribute.

    ``name`` is its name where that is not the attribute's in camel case. ``default`` is the value where the field is
    absent, that of the class unless given; ``REQUIRED``: it has to be there, whatever default the class has. ``omit``
    leaves a field with its default out of what is written, so ``None`` is never null; with ``null``, it may be read.
    """

    __slots__ = ("default", "example", "name", "null", "omit", "words")

    def __init__(
        self,
        words: str,
        example: Any = _UNSAID,
        *,
        name: str = "",
        default: Any = _UNSAID,
        omit: bool = False,
        null: bool = False,
    ) -> None:
        """``example`` is one value as JSON has it."""
        self.words, self.name, self.default, self.omit, self.null = words, name, default, omit, null
        self.example: tuple[Any, ...] = () if example is _UNSAID else (example,)


class Flat:
    """The fields of this value stand among those of the object that holds it."""


def camel(name: str) -> str:
    """``live_bindings`` as JSON spells it, ``liveBindings``."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def record_of(cls: type[T], *more: Field, named: Callable[[str], str] = camel, closed: bool = False) -> Record[T]:
    """The codec of a dataclass or named tuple whose annotations describe its fields; ``more`` are only written.

    ``named`` makes the names of JSON of those of attributes. With ``closed``, fields that the class does not have are
    refused. Both hold for annotated classes within it, too. Raises ``TypeError`` where a field is not described, or no
    codec is known of its type.
    """
    kind: Any = cls
    derived: Record[T] = _record(kind, named, closed)
    return record(cls, *derived.fields, *more, closed=closed) if more else derived


@cache
def _record(cls: Any, named: Callable[[str], str], closed: bool) -> Record[Any]:
    defaults = _defaults(cls)
    fields = (_field(cls, name, defaults.get(name, REQUIRED), named, closed) for name in cls.__annotations__)
    return record(cls, *fields, closed=closed)


def _field(cls: Any, attribute: str, default: Any, named: Callable[[str], str], closed: bool) -> Field:
    kind, *notes = _parts(cls.__annotations__[attribute])
    says = next((note for note in notes if isinstance(note, Says)), None)
    own = next((note for note in notes if isinstance(note, Codec)), None)
    if says is not None and says.omit and not says.null:
        kind = _without_none(kind)
    try:
        codec = own or _codec(kind, named, closed)
    except TypeError as error:
        raise TypeError(f"{cls.__name__}.{attribute}: {error}") from None
    if Flat in notes:
        return flat(codec, attribute)
    if says is None:
        raise TypeError(f"{cls.__name__}.{attribute}: no word about it")
    schema = described(codec, says.words, *says.example)
    name = says.name or named(attribute)
    default = default if says.default is _UNSAID else says.default
    return Field(name, codec, schema, attribute, attrgetter(attribute), default, says.omit)


@cache
def _codec(kind: Any, named: Callable[[str], str], closed: bool) -> Codec[Any]:
    kind, *notes = _parts(kind)
    if found := next((note for note in notes if isinstance(note, Codec)), _CODECS.get(kind)):
        return found
    plain = _without_none(kind)
    if plain is not kind:
        return nullable(_codec(plain, named, closed))
    origin: Any = get_origin(kind)
    arguments = get_args(kind)
    if origin is tuple and arguments[1:] == (...,):
        return array(_codec(arguments[0], named, closed))
    if origin is Mapping and arguments[0] is str:
        return mapping(_codec(arguments[1], named, closed))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return by_value(kind)
    if any(one.__class__ is _ANNOTATED for one in getattr(kind, "__annotations__", {}).values()):
        return _record(kind, named, closed)
    raise TypeError(f"no codec is known of {kind}")


def _parts(kind: Any) -> tuple[Any, ...]:
    """A type, and what is noted with it."""
    return (kind.__origin__, *kind.__metadata__) if kind.__class__ is _ANNOTATED else (kind,)


def _without_none(kind: Any) -> Any:
    if kind.__class__ not in _UNIONS or NoneType not in get_args(kind):
        return kind
    first, *others = (one for one in get_args(kind) if one is not NoneType)
    return Union[(first, *others)] if others else first


def _defaults(cls: Any) -> dict[str, Any]:
    if not hasattr(cls, "__dataclass_fields__"):
        return dict(cls._field_defaults)
    found = {}
    for name, one in cls.__dataclass_fields__.items():
        if one.default is not MISSING:
            found[name] = one.default
        elif one.default_factory is not MISSING:
            found[name] = one.default_factory()
    return found
