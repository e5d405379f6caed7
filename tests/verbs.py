"""Changes of one verb, for tests that write to a cluster."""

from collections.abc import Iterable
from typing import Any

from reconciler.model.listing import Change, Create, Delete


def creations(items: Iterable[Any]) -> list[Change]:
    """Each one created."""
    return [Create(item) for item in items]


def deletions(items: Iterable[Any]) -> list[Change]:
    """Each one deleted."""
    return [Delete(item) for item in items]
