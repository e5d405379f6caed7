"""How a floor finds what it knows of a kind of resource: by the type of a change's sides."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from reconciler.model.change import Change, resource_of


class _Kind(Protocol):
    @property
    def TYPES(self) -> tuple[type, ...]:  # noqa: N802 - a constant of each module
        ...


K = TypeVar("K", bound=_Kind)


def kind_finder(kinds: Iterable[K]) -> Callable[[Change], K]:
    """A function that gives the kind of a change; it raises ``KeyError`` for one that no kind knows."""
    by_type = {side: kind for kind in kinds for side in kind.TYPES}

    def kind_of(change: Change) -> K:
        """The kind of resource that ``change`` is about."""
        return by_type[type(resource_of(change))]

    return kind_of
