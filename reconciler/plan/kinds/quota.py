"""Client quotas: the limits of one entity are created, altered and deleted together."""

from typing import Any, Final

from reconciler.model import (
    DEFAULT_NAME,
    Change,
    ClientQuota,
    Create,
    Delete,
    QuotaEntity,
    Update,
    resource_of,
)
from reconciler.plan.kinds.interface import Side

TYPES: Final = (ClientQuota,)
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


def to_json(change: Change) -> tuple[Side, Side]:
    """The entity and its limits, on each side where there are any."""
    return _side(change.before), _side(change.after)


def from_json(action: str, before: Any, after: Any) -> Change:
    """The inverse of :func:`to_json`; raises ``KeyError``, ``TypeError`` or ``ValueError``."""
    if action == "CreateQuota":
        return Create(quota_from(after))
    return Delete(quota_from(before)) if action == "DeleteQuota" else Update(quota_from(before), quota_from(after))


def is_reversible(change: Change) -> bool:
    """Always: limits that went can be set again."""
    return True


def quota_side(quota: ClientQuota) -> dict[str, Any]:
    """The parts of the entity, ``null`` for a default, and its limits by key."""
    return {"entity": {kind: name or None for kind, name in quota.entity.parts}, "values": dict(quota.values)}


def quota_from(side: Any) -> ClientQuota:
    """The inverse of :func:`quota_side`."""
    named = {kind: name or DEFAULT_NAME for kind, name in side["entity"].items()}
    return ClientQuota(QuotaEntity(tuple(sorted(named.items()))), side["values"])


def quota_changed(change: Change) -> ClientQuota:
    """The quota that a change is about."""
    quota: ClientQuota = resource_of(change)
    return quota


def _side(quota: Any) -> Side:
    return None if quota is None else quota_side(quota)
