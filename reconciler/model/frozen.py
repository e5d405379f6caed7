"""Immutable mappings, and building many values without the cyclic collector.

One is sorted by key, hashable, picklable, equal to any mapping with the same items. The other comes from one of its
kind by few changes, and shares the rest with it.
"""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar, overload

V_co = TypeVar("V_co", covariant=True)
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_Other = TypeVar("_Other")
#: A layer is so many times as large as the one above it.
_TIMES: Final = 16
_ELSEWHERE: Final[Any] = object()
#: New objects before the cyclic collector looks at them, instead of 700: some 20 MB, the most garbage that can wait.
_NEW_OBJECTS: Final = 200_000


class FrozenMap(Mapping[str, V_co], Generic[V_co]):
    """Texts to values; iteration is in key order, so that equal maps print alike."""

    __slots__ = ("_items",)
    _items: dict[str, V_co]

    def __init__(self, items: Mapping[str, V_co] | None = None) -> None:
        """Keeps a sorted copy of ``items``."""
        self._items = dict(sorted(items.items(), key=lambda item: item[0])) if items else {}

    def __getitem__(self, key: str) -> V_co:
        """The value of ``key``; raises ``KeyError``."""
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        """Keys in order."""
        return iter(self._items)

    def __len__(self) -> int:
        """How many items there are."""
        return len(self._items)

    def __hash__(self) -> int:
        """Equal maps hash alike; raises ``TypeError`` where a value cannot be hashed."""
        return hash(tuple(self._items.items()))

    def __lt__(self, other: "FrozenMap[V_co]") -> bool:
        """Order by items, so that what holds a map can be sorted."""
        return tuple(self._items.items()) < tuple(other._items.items())

    def __repr__(self) -> str:
        """Shows the items."""
        return f"FrozenMap({self._items})"


class Layers(Mapping[_Key, _Value]):
    """Immutable. To change one takes no copy of it: a thousand that come from one another have most in common.

    The layers are dictionaries, the newest first, where ``None`` is for a key that is gone. Each is at most a
    sixteenth of the next one: a look-up takes up to four of 10,000 items, a change of one copies about 30.
    """

    __slots__ = ("_layers", "_length")

    def __init__(self, items: Mapping[_Key, _Value] | None = None) -> None:
        """Of a copy of ``items``."""
        self._layers: tuple[dict[_Key, _Value | None], ...] = ({**items},) if items else ()
        self._length = len(items or ())

    def with_items(self, changed: Mapping[_Key, _Value | None]) -> "Layers[_Key, _Value]":
        """The same with these items, and without the keys of which the value is ``None``."""
        if not changed:  # an empty layer more each time
            return self
        copy = Layers[_Key, _Value]()
        copy._length = self._length + sum(
            (value is not None) - (self.get(key) is not None) for key, value in changed.items()
        )
        newest, below = {**changed}, self._layers
        while below and len(below[0]) < _TIMES * len(newest):
            newest, below = {**below[0], **newest}, below[1:]
        copy._layers = (newest, *below)
        return copy

    @overload
    def get(self, key: _Key, /) -> _Value | None: ...
    @overload
    def get(self, key: _Key, /, default: _Value | _Other) -> _Value | _Other: ...

    def get(self, key: _Key, /, default: _Value | _Other | None = None) -> _Value | _Other | None:
        """The value, or ``default`` without one."""
        for layer in self._layers:
            value = layer.get(key, _ELSEWHERE)
            if value is not _ELSEWHERE:
                return default if value is None else value
        return default

    def __getitem__(self, key: _Key) -> _Value:
        """The value; raises ``KeyError`` without one."""
        if (value := self.get(key)) is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        """Whether there is a value."""
        return self.get(key) is not None  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[_Key]:
        """The keys, the oldest first."""
        for number, layer in reversed([*enumerate(self._layers)]):
            newer = self._layers[:number]
            for key, value in layer.items():
                if value is not None and not any(key in other for other in newer):
                    yield key

    def __len__(self) -> int:
        """How many keys there are."""
        return self._length


# Suspends Python's cyclic collector while many small values are built, none of them in a cycle.
#
# The collector would look at each of a million objects several times: half of the time of reading 100,000 bindings.


@contextmanager
def without_collector() -> Iterator[None]:
    """Suspends it, and resumes it if it was on."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def collect_rarely() -> None:
    """From now on, without a look at what is there already.

    That is mostly modules, none of which goes away: looking at them again and again takes a tenth of the time of a
    short command, and a fifth of that of a fleet's plan.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
