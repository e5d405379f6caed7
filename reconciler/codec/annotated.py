"""Codecs of annotated values: a class says once which fields it has and what each means.

Types choose codecs; where one does not say enough, the annotation names another::

    reason: Annotated[AnyText, Says("Why it is accepted.", "until the migration is over")]
    place: Annotated[Origin | None, Says("Where it is declared.", "acls.yaml:8:16", omit=True)] = None

A value whose JSON is not its fields has a table of :func:`reconciler.codec.objects.record`.
"""

import datetime
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, replace
from enum import Enum
from functools import cache, partial
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, ClassVar, Final, TypeVar, Union, get_args, get_origin

from reconciler.codec import values
from reconciler.codec.codec import (
    ANY_TEXT,
    BOOLEAN,
    COUNT,
    DATE,
    NUMBER,
    TEXT,
    Codec,
    array,
    by_value,
    converted,
    integer,
    mapping,
    nullable,
    number,
)
from reconciler.codec.objects import Field, Record, described, flat, group, optional, record
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, PatternType, ResourcePattern, ResourceType
from reconciler.model.desired import Expiry, Origin
from reconciler.model.says import REQUIRED, UNSAID, Apart, As, Flat, Form, Says
from reconciler.model.secrets import is_reference

T = TypeVar("T")
#: Asked for by class, for ``get_origin`` asks a type ten questions: a command derives some fifty classes.
_ANNOTATED: Final[Any] = type(Annotated[str, ...])
_UNIONS: Final[Any] = (UnionType, type(Union[str, None]))  # noqa: UP007 - its class is what is wanted


def _reference(text: str) -> str:
    # Its text is not repeated: it may be the secret.
    if not is_reference(text):
        raise ValueError("is not a reference to a secret")
    return text


NO_CODECS: Final[Mapping[str, Codec[Any]]] = MappingProxyType({})
_FORMS: Final[Mapping[Form, Codec[Any]]] = {
    Form.ANY_TEXT: ANY_TEXT,
    Form.NAME: values.NAME,
    Form.ANY_INTEGER: integer(None),
    Form.ANY_NUMBER: number(math.inf),
    Form.REFERENCE: converted(values.NAME, _reference, str),
}
_CODECS: Final[Mapping[Any, Codec[Any]]] = {
    str: TEXT,
    int: COUNT,
    float: NUMBER,
    bool: BOOLEAN,
    datetime.date: DATE,
    AclBinding: values.BINDING,
    Origin: values.ORIGIN,
    Expiry: values.EXPIRY,
    ResourcePattern: values.PATTERN,
    ResourceType: values.RESOURCE_TYPE,
    PatternType: values.PATTERN_TYPE,
    AclOperation: values.OPERATION,
    AclPermissionType: values.PERMISSION,
}


def camel(name: str) -> str:
    """``live_bindings`` as JSON spells it, ``liveBindings``."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def record_of(
    cls: type[T],
    *more: Field,
    first: tuple[Field, ...] = (),
    named: Callable[[str], str] = camel,
    closed: bool = False,
    codecs: Mapping[str, Codec[Any]] = NO_CODECS,
) -> Record[T]:
    """The codec of a dataclass or named tuple whose annotations describe its fields.

    ``first`` and ``more`` precede and follow them, and are only written.
    ``named`` makes the names of JSON of those of attributes. With ``closed``, fields that the class does not have are
    refused. Both hold for annotated classes within it, too. ``codecs`` are those of attributes whose JSON depends on
    where the value stands. An attribute that no constructor takes (``init=False``) is written, and only checked when it
    is read. Raises ``TypeError`` where a field is not described, or no codec is known of its type.
    """
    kind: Any = cls
    if not (first or more or codecs):
        plain: Record[T] = _record(kind, named, closed)
        return plain
    return record(_build(cls), *first, *_fields(kind, named, closed, codecs), *more, closed=closed)


@cache
def _record(cls: Any, named: Callable[[str], str], closed: bool) -> Record[Any]:
    return record(_build(cls), *_fields(cls, named, closed, NO_CODECS), closed=closed)


def _fields(cls: Any, named: Callable[[str], str], closed: bool, codecs: Mapping[str, Codec[Any]]) -> tuple[Field, ...]:
    attributes = getattr(cls, "__dataclass_fields__", {})
    defaults = _defaults(cls)
    ordered: list[Field] = []
    for part, names in groupby(_order(cls), key=lambda name: (says := _says(cls, name)) and says.group):
        fields = [_field(cls, name, defaults.get(name, REQUIRED), named, closed, codecs.get(name)) for name in names]
        ordered += fields if part is None else [group(part.name, part.words, *fields)]
    computed = {name for name, item in attributes.items() if not item.init}
    return tuple(replace(item, keyword="") if item.keyword in computed else item for item in ordered)


def _build(cls: Any) -> Callable[..., Any]:
    """What makes a value of its fields: those that stand apart have their defaults."""
    apart = {
        name: note.default for name in cls.__annotations__ for note in _notes(cls, name) if isinstance(note, Apart)
    }
    return partial(cls, **{name: item for name, item in apart.items() if item is not UNSAID}) if apart else cls


def _order(cls: Any) -> list[str]:
    """The attributes in the order of JSON."""
    names = [name for name, kind in cls.__annotations__.items() if getattr(kind, "__origin__", None) is not ClassVar]
    names = [name for name in names if not any(isinstance(note, Apart) for note in _notes(cls, name))]
    for name in tuple(names):
        says = _says(cls, name)
        if says is not None and says.before:
            names.remove(name)
            names.insert(names.index(says.before), name)
    return names


def _field(
    cls: Any, attribute: str, default: Any, named: Callable[[str], str], closed: bool, given: Codec[Any] | None
) -> Field:
    kind, *notes = _parts(cls.__annotations__[attribute])
    says = _says(cls, attribute)
    plain = _without_none(kind)
    if says is not None and says.omit and not says.null:
        kind = plain
    try:
        codec = given or _noted(notes, named, closed) or _codec(plain if Flat in notes else kind, named, closed)
    except TypeError as error:
        raise TypeError(f"{cls.__name__}.{attribute}: {error}") from None
    if Flat in notes:
        return flat(codec, attribute) if plain is kind else optional(codec, attribute, codec.schema["required"][0])
    if says is None:
        raise TypeError(f"{cls.__name__}.{attribute}: no word about it")
    schema = described(codec, says.words, *says.example)
    name = says.name or named(attribute)
    default = default if says.default is UNSAID else says.default
    return Field(name, codec, schema, attribute, attrgetter(attribute), default, says.omit)


@cache
def _codec(kind: Any, named: Callable[[str], str], closed: bool) -> Codec[Any]:
    kind, *notes = _parts(kind)
    if codec := _noted(notes, named, closed) or _CODECS.get(kind):
        return codec
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
    if any(item.__class__ is _ANNOTATED for item in getattr(kind, "__annotations__", {}).values()):
        return _record(kind, named, closed)
    raise TypeError(f"no codec is known of {kind}")


def _says(cls: Any, attribute: str) -> Says | None:
    return next((note for note in _notes(cls, attribute) if isinstance(note, Says)), None)


def _notes(cls: Any, attribute: str) -> tuple[Any, ...]:
    return _parts(cls.__annotations__[attribute])[1:]


def _noted(notes: Iterable[Any], named: Callable[[str], str], closed: bool) -> Codec[Any] | None:
    """The codec that an annotation names."""
    for note in notes:
        if isinstance(note, As):
            return _other(note, _codec(note.kind, named, closed))
        if isinstance(note, Codec | Form):
            return note if isinstance(note, Codec) else _FORMS[note]
    return None


def _other(note: As, base: Codec[Any]) -> Codec[Any]:
    return converted(base, note.read, lambda value: base.write(note.write(value)))


def _parts(kind: Any) -> tuple[Any, ...]:
    """A type, and what is noted with it."""
    return (kind.__origin__, *kind.__metadata__) if kind.__class__ is _ANNOTATED else (kind,)


def _without_none(kind: Any) -> Any:
    if kind.__class__ not in _UNIONS or NoneType not in get_args(kind):
        return kind
    first, *others = (arg for arg in get_args(kind) if arg is not NoneType)
    return Union[(first, *others)] if others else first


def _defaults(cls: Any) -> dict[str, Any]:
    if not hasattr(cls, "__dataclass_fields__"):
        return dict(cls._field_defaults)
    defaults = {}
    for name, item in cls.__dataclass_fields__.items():
        if item.default is not MISSING:
            defaults[name] = item.default
        elif item.default_factory is not MISSING:
            defaults[name] = item.default_factory()
    return defaults
