"""Immutable mappings, and building many values without the cyclic collector.

An immutable mapping: sorted by key, hashable, picklable, equal to any mapping with the same items.
"""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Generic, TypeVar

V_co = TypeVar("V_co", covariant=True)


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
