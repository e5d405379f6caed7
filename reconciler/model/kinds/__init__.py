"""How a floor finds what it knows of a kind of resource: by the type of a change's sides, or by a kind's name."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, Protocol, TypeVar

from reconciler.model.config_resource import ConfigResource
from reconciler.model.listing import Change, ListedItem, resource_of

#: The type of a resource of each listed kind, by the name of its module here, in the order in which they are shown.
LISTED_KINDS: Final[Mapping[str, str]] = {
    "quota": "ClientQuota",
    "group_config": "GroupConfig",
    "client_metrics": "ClientMetrics",
    "scram_user": "ScramUser",
}


@cache
def listed_types() -> tuple[type[ListedItem], ...]:
    """The types of all listed kinds."""
    return tuple(getattr(import_module(f"{__name__}.{module}"), name) for module, name in LISTED_KINDS.items())


@cache
def copying_type() -> type[ConfigResource]:
    """The type of the listed kind by which brokers copy records: :meth:`ConfigResource.copies`."""
    kinds: tuple[Any, ...] = listed_types()
    copying: type[ConfigResource] = next(kind for kind in kinds if getattr(kind, "COPIES_SINCE", None) is not None)
    return copying


@cache
def listed_kind(resource: type[ListedItem]) -> Any:
    """The one ``reconciler.kinds.ListedKind`` of a type of resources, from its module in ``reconciler.kinds``.

    It is above every floor that asks, and imported when the first one does: most commands meet no listed kind. What a
    floor asks of it is a base class there, which mypy holds it to.
    """
    return import_module(f"reconciler.kinds.{resource.__module__.rpartition('.')[2]}").KIND


class _Kind(Protocol):
    @property
    def TYPES(self) -> tuple[type, ...]: ...


K = TypeVar("K", bound=_Kind)


def kind_finder(kinds: Iterable[K]) -> Callable[[Change], K]:
    """A function that gives the kind of a change; it raises ``KeyError`` for one that no kind knows."""
    by_type = {side: kind for kind in kinds for side in kind.TYPES}

    def kind_of(change: Change) -> K:
        """The kind of resource that ``change`` is about."""
        return by_type[type(resource_of(change))]

    return kind_of
