"""Client quotas: the limits of one entity are created, altered and deleted together."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from reconciler.codec import Codec
from reconciler.codec.changes import created, deleted, updated
from reconciler.codec.values import QUOTA
from reconciler.model import Change, ClientQuota, ClusterState, Create, Delete, Selector, Update, resource_of
from reconciler.plan.kinds.interface import PhaseContext
from reconciler.plan.observed import DONE, PENDING, Observed, StepState
from reconciler.plan.phase import Phase
from reconciler.plan.refusal import Refusal

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


def is_destructive(change: Change) -> bool:
    """Whether limits go."""
    return isinstance(change, Delete)


def phase(change: Change, context: PhaseContext) -> Phase:
    """One phase, in which neither access nor the order of anything else depends on quotas."""
    return Phase.ALTER_QUOTAS


def observe(change: Change, live: ClusterState) -> Observed:
    """Whether the keys that change have the values before, or those after; other keys of the entity do not matter."""
    entity = quota_changed(change).entity
    subject = f"quota of {entity}"
    if live.quotas is None:
        return Observed(StepState.UNREADABLE, subject, "readable", live.quota_gap or "the quotas were not read")
    there = next((quota.values for quota in live.quotas if quota.entity == entity), {})
    before, after = (side.values if isinstance(side, ClientQuota) else {} for side in (change.before, change.after))
    touched = sorted({*before, *after})
    now, old, new = ({key: values.get(key) for key in touched} for values in (there, before, after))
    if now == new:
        return DONE
    return PENDING if now == old else Observed(StepState.STALE, subject, _limits(old), _limits(now))


def _limits(values: dict[str, float | None]) -> str:
    return ", ".join(f"{key}={'unset' if value is None else f'{value:g}'}" for key, value in values.items())


def refusals(change: Change) -> Iterator[Refusal]:
    """None: a quota grants nothing and loses nothing."""
    yield from ()


def is_selected(change: Change, selector: Selector) -> bool:
    """By the principal of its entity."""
    return selector.selects_quota(quota_changed(change).entity)


def irreversible(change: Change) -> str | None:
    """Nothing: limits that went can be set again."""
    return None


def broker_defaults(change: Change) -> Iterator[str]:
    """None: a quota leaves nothing open."""
    yield from ()
