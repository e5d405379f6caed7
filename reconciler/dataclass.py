"""``dataclasses.dataclass``, at a tenth of its price: a command defines three hundred classes before it does anything.

Those who read types see that very function, and from Python 3.14 on it is that one. Until then a class is defined as
``dataclasses.dataclass`` of Python 3.11 to 3.13 does it, and next to nothing is compiled for it.

The standard one writes the source of up to ten methods and compiles each: two thirds of a millisecond a class, 0.2 s
of a short command. Here methods are closures over the names of fields, and only ``__init__``, which has to be quick, is
compiled, when the first value of a class is made. ``fields``, ``replace``, ``asdict`` and ``match`` see no difference.
"""

import abc
import dataclasses
import inspect
import reprlib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter, ge, gt, le, lt
from types import MemberDescriptorType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Final, get_origin

_FIELDS: Final = "__dataclass_fields__"
_MATCHED: Final = "__match_args__"
#: What ``dataclasses.fields`` looks for in a field.
_PLAIN: Final = dataclasses._FIELD  # type: ignore[attr-defined]
#: Stands for a value that a factory has to make.
_MADE: Final = object()


def _dataclass(
    cls: Any = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    order: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 - the standard name
) -> Any:
    """As ``dataclasses.dataclass`` with these parameters; others, and fields by keyword only, nobody needs here."""

    def defined(one: Any) -> Any:
        return _defined(one, SimpleNamespace(frozen=frozen, slots=slots, order=order, eq=eq, repr=repr))

    return defined if cls is None else defined(cls)


def _defined(cls: Any, params: SimpleNamespace) -> Any:
    found = _fields(cls)
    explicit = _has_explicit_hash(cls)
    names = tuple(found)
    if params.slots:
        cls = _slotted(cls, names)
    params.__dict__.update(init=True, unsafe_hash=False, match_args=True, kw_only=False, weakref_slot=False)
    setattr(cls, _FIELDS, found)
    cls.__dataclass_params__ = params
    if _MATCHED not in cls.__dict__:
        setattr(cls, _MATCHED, tuple(name for name, one in found.items() if one.init))
    _add(cls, _methods(cls, found, params))
    if params.eq and not explicit:
        hashed = [n for n, one in found.items() if (one.compare if one.hash is None else one.hash)]
        cls.__hash__ = _hash(_values(hashed)) if params.frozen else None
    if "__init__" not in cls.__dict__:
        cls.__init__ = _first_init(cls, found, frozen=params.frozen)
    return abc.update_abstractmethods(cls)


def _fields(cls: Any) -> dict[str, Field[Any]]:
    """The fields by name, inherited ones first; what the class body says of its own becomes their default."""
    found: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        found.update(getattr(base, _FIELDS, {}))
    annotations: dict[str, Any] = inspect.get_annotations(cls)
    for name, kind in annotations.items():
        if kind is ClassVar or get_origin(kind) is ClassVar:
            continue
        declared = cls.__dict__.get(name, MISSING)
        one: Any = declared if isinstance(declared, Field) else dataclasses.field()
        if not isinstance(declared, Field | MemberDescriptorType):
            one.default = declared
        if one.default is not MISSING and one.default.__class__.__hash__ is None:
            raise ValueError(
                f"mutable default {type(one.default)} for field {name} is not allowed: use default_factory"
            )
        one.name, one.type, one.kw_only, one._field_type = name, kind, False, _PLAIN
        found[name] = one
        if isinstance(declared, Field):
            if one.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, one.default)
    return found


def _has_explicit_hash(cls: Any) -> bool:
    """A class that defines ``__eq__`` alone gets a ``__hash__`` of ``None`` from Python, which nobody wrote."""
    own = cls.__dict__.get("__hash__", MISSING)
    return not (own is MISSING or (own is None and "__eq__" in cls.__dict__))


def _slotted(cls: Any, names: Iterable[str]) -> Any:
    """The same class with slots: they can only be given to a class when it is made."""
    if "__slots__" in cls.__dict__:
        raise TypeError(f"{cls.__name__} already specifies __slots__")
    inherited = {name for base in cls.__mro__[1:-1] for name in _slots_of(base)}
    body = {name: value for name, value in cls.__dict__.items() if name not in names}
    body.pop("__dict__", None)
    body.pop("__weakref__", None)
    body["__slots__"] = tuple(name for name in names if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _slots_of(base: Any) -> Iterable[str]:
    slots = base.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


def _add(cls: Any, methods: Mapping[str, Any]) -> None:
    """The methods that the class does not define itself."""
    for name, method in methods.items():
        if name not in cls.__dict__:
            method.__name__, method.__qualname__, method.__module__ = name, f"{cls.__qualname__}.{name}", cls.__module__
            setattr(cls, name, method)


def _methods(cls: Any, found: Mapping[str, Field[Any]], params: SimpleNamespace) -> dict[str, Any]:
    names, methods = tuple(found), dict[str, Any]()
    values = _values([name for name, one in found.items() if one.compare])
    if params.repr:
        methods["__repr__"] = _repr([name for name, one in found.items() if one.repr])
    if params.eq:
        methods["__eq__"] = _eq(values)
    if params.order:
        for name, compare in (("__lt__", lt), ("__le__", le), ("__gt__", gt), ("__ge__", ge)):
            methods[name] = _ordered(values, compare)
    if params.frozen:
        methods["__setattr__"], methods["__delattr__"] = _frozen_set(cls, names), _frozen_delete(cls, names)
    if params.frozen and params.slots:
        methods["__getstate__"], methods["__setstate__"] = _state(names), _with_state(names)
    return methods


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda self: (getattr(self, names[0]),)) if names else (lambda self: ())


def _repr(names: list[str]) -> Any:
    def of(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    return reprlib.recursive_repr()(of)


def _eq(values: Callable[[Any], Any]) -> Any:
    def eq(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return eq


def _ordered(values: Callable[[Any], Any], compare: Callable[[Any, Any], bool]) -> Any:
    def ordered(self: Any, other: Any) -> Any:
        return compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

    return ordered


def _hash(values: Callable[[Any], Any]) -> Any:
    def of(self: Any) -> int:
        return hash(values(self))

    return of


def _frozen_set(cls: Any, names: tuple[str, ...]) -> Any:
    def set_to(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    return set_to


def _frozen_delete(cls: Any, names: tuple[str, ...]) -> Any:
    def delete(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return delete


def _state(names: tuple[str, ...]) -> Any:
    def state(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    return state


def _with_state(names: tuple[str, ...]) -> Any:
    def restore(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return restore


def _first_init(cls: Any, found: Mapping[str, Field[Any]], *, frozen: bool) -> Any:
    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807 - shown where arguments are wrong
        made = cls.__init__ = _init(cls, found, frozen=frozen)
        made(self, *values, **named)

    return __init__


def _init(cls: Any, found: Mapping[str, Field[Any]], *, frozen: bool) -> Any:
    """Compile the constructor; its parameters are the fields."""
    given, lines = ["self"], []
    known: dict[str, Any] = {"_made": _MADE, "_set": object.__setattr__, "__name__": cls.__module__}
    for name, one in found.items():
        value = name
        if one.default_factory is not MISSING:
            known[f"_make_{name}"] = one.default_factory
            value = f"_make_{name}() if {name} is _made else {name}" if one.init else f"_make_{name}()"
        elif one.default is not MISSING:
            known[f"_default_{name}"] = one.default
        if one.init:
            standard = one.default is not MISSING or one.default_factory is not MISSING
            instead = "_made" if one.default_factory is not MISSING else f"_default_{name}"
            given.append(f"{name}={instead}" if standard else name)
        elif one.default_factory is MISSING:
            if one.default is MISSING:
                continue
            value = f"_default_{name}"
        lines.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    # Names of fields are names in our own source; values are passed by reference, never as text.
    exec(f"def __init__({', '.join(given)}):\n" + ("\n".join(lines) or " pass"), known)  # noqa: S102
    made = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


if TYPE_CHECKING or sys.version_info >= (3, 14):
    from dataclasses import dataclass
else:
    dataclass = _dataclass

__all__ = ["dataclass"]
