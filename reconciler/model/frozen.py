"""Immutable mappings, and building many values without the cyclic collector.

An immutable mapping: sorted by key, hashable, picklable, equal to any mapping with the same items.
"""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

V_co = TypeVar("V_co", covariant=True)
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
