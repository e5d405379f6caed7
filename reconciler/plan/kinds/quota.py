"""Client quotas: the limits of one entity are created, altered and deleted together."""

from collections.abc import Mapping
from typing import Any, Final

from reconciler.codec import Codec
from reconciler.codec.changes import created, deleted, updated
from reconciler.codec.values import QUOTA
from reconciler.model import (
    Change,
    ClientQuota,
    Create,
    Delete,
    Update,
    resource_of,
)

TYPES: Final = (ClientQuota,)


def _difference(before: ClientQuota, after: ClientQuota) -> str | None:
    return None if before.entity == after.entity else "before and after are not of the same entity"


CODECS: Final[Mapping[str, Codec[Any]]] = {
    "CreateQuota": created(QUOTA),
    "AlterQuota": updated(QUOTA, _difference),
    "DeleteQuota": deleted(QUOTA),
}
_VERBS: Final = {Create: "create", Update: "alter", Delete: "delete"}


def action(change: Change) -> str:
    """``CreateQuota``, ``AlterQuota`` or ``DeleteQuota``."""
    return f"{_VERBS[type(change)].capitalize()}Quota"


def describe(change: Change) -> str:
    """``alter quota of user alice``."""
    return f"{_VERBS[type(change)]} quota of {quota_changed(change).entity}"


def key(change: Change) -> tuple[str, Any]:
    """By entity."""
    return "quota", quota_changed(change).entity


def touches(change: Change) -> frozenset[object]:
    """The entity."""
    return frozenset((quota_changed(change).entity,))


def is_reversible(change: Change) -> bool:
    """Always: limits that went can be set again."""
    return True


def quota_changed(change: Change) -> ClientQuota:
    """The quota that a change is about."""
    quota: ClientQuota = resource_of(change)
    return quota
