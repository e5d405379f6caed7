"""How a floor finds what it knows of a kind of resource: by the type of a change's sides, or by a kind's name."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, Protocol, TypeVar

from reconciler.model.change import Change, resource_of
from reconciler.model.listing import ListedItem

#: The type of a resource of each listed kind, by the name of its module here, in the order in which they are shown.
LISTED_KINDS: Final[Mapping[str, str]] = {
    "quota": "ClientQuota",
    "group_config": "GroupConfig",
    "scram_user": "ScramUser",
}


@cache
def listed_types() -> tuple[type[ListedItem], ...]:
    """The types of all listed kinds."""
    return tuple(getattr(import_module(f"{__name__}.{module}"), name) for module, name in LISTED_KINDS.items())


def listed_kinds(floor: str) -> tuple[Any, ...]:
    """What a floor knows of each listed kind: ``KIND`` of its module in ``floor``, the name of a package.

    Each module gives its ``KIND`` the type that the floor asks for, so mypy checks it there. A kind without its module
    is an ``ImportError`` at the first import: it is never left out.
    """
    return tuple(import_module(f"{floor}.{name}").KIND for name in LISTED_KINDS)


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
