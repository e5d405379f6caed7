"""The sides of a change in JSON: ``before`` and ``after``, one of them null where nothing is there."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from reconciler.codec.interface import Codec, SchemaError, unexpected
from reconciler.codec.objects import Record, derived, field, record
from reconciler.codec.scalars import TEXT, constant
from reconciler.model.change import Create, Delete, Impossible, Update

T = TypeVar("T")
_BEFORE: Final = "What is expected to be there before; null where it is created."
_AFTER: Final = "What is there afterwards; null where it is deleted."
_NOTHING: Final = constant(None)


def created(side: Codec[T]) -> Record[Create[T]]:
    """A resource that is created."""
    return record(Create, derived("before", _NOTHING, _BEFORE, get=lambda _: None), field("after", side, _AFTER))


def deleted(side: Codec[T]) -> Record[Delete[T]]:
    """A resource that is deleted."""
    return record(Delete, field("before", side, _BEFORE), derived("after", _NOTHING, _AFTER, get=lambda _: None))


def updated(
    side: Codec[T], difference: Callable[[T, T], str | None] = lambda _before, _after: None
) -> Record[Update[T]]:
    """A resource that changes; ``difference`` says why two sides cannot be of one resource."""

    def build(before: T, after: T) -> Update[T]:
        if (why := difference(before, after)) is not None:
            raise ValueError(why)
        return Update(before, after)

    return record(build, field("before", side, _BEFORE), field("after", side, _AFTER))


def _impossible_side(value: Any) -> tuple[str, str, str]:
    """Name, what would have to change, and its value."""
    if value.__class__ is not dict:
        raise unexpected("an object", value)
    others = [key for key in value if key != "name"]
    if len(others) != 1 or "name" not in value:
        raise SchemaError("expected the name and one other field")
    return TEXT.read(value["name"]), others[0], TEXT.read(value[others[0]])


_SIDE: Final[Codec[tuple[str, str, str]]] = Codec(
    _impossible_side, lambda side: {"name": side[0], side[1]: side[2]}, {"type": "object"}
)


def _impossible(before: tuple[str, str, str], after: tuple[str, str, str]) -> Impossible:
    if before[:2] != after[:2]:
        raise ValueError("before and after are not about the same")
    return Impossible(before[1], before[0], before[2], after[2], "")


#: A declared state that Kafka cannot reach; its reason is kept with the difference that stays.
IMPOSSIBLE: Final[Record[Impossible]] = record(
    _impossible,
    field("before", _SIDE, _BEFORE, get=lambda change: (change.name, change.what, change.before)),
    field("after", _SIDE, _AFTER, get=lambda change: (change.name, change.what, change.after)),
)
