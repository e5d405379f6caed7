"""Client quotas: the limits of one entity are created, altered and deleted together."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from reconciler.codec import Codec
from reconciler.codec.changes import created, deleted, updated
from reconciler.codec.kinds.quota import CODEC as QUOTA
from reconciler.model import (
    Change,
    ClusterState,
    Create,
    Delete,
    Selector,
    Update,
    resource_of,
)
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity, altered, values_of
from reconciler.plan.kinds.interface import LackingRight, PhaseContext
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


def quotas_after(quotas: Iterable[ClientQuota], changes: Iterable[Change]) -> frozenset[ClientQuota]:
    """Live quotas with changes made, those of other kinds passed over."""
    after = {quota.entity: quota for quota in quotas}
    for change in changes:
        if isinstance(resource_of(change), ClientQuota):
            entity: QuotaEntity = quota_changed(change).entity
            there = after[entity].values if entity in after else {}
            after[entity] = ClientQuota(entity, altered(there, change.before, change.after))
    return frozenset(quota for quota in after.values() if quota.values)


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
    listing = live.listing(ClientQuota)
    if listing.items is None:
        return Observed(StepState.UNREADABLE, subject, "readable", listing.gap or "the quotas were not read")
    there = next((quota.values for quota in listing.items if quota.entity == entity), {})
    before, after = values_of(change.before), values_of(change.after)
    touched = sorted({*before, *after})
    now, old, new = ({key: values.get(key) for key in touched} for values in (there, before, after))
    if now == new:
        return DONE
    return PENDING if now == old else Observed(StepState.STALE, subject, _limits(old), _limits(now))


def _limits(values: dict[str, float | None]) -> str:
    return ", ".join(f"{key}={'unset' if value is None else f'{value:g}'}" for key, value in values.items())


def lacking_right(live: ClusterState) -> LackingRight | None:
    """ALTER_CONFIGS on the cluster (KIP-546)."""
    return LackingRight("alter quotas", "ALTER_CONFIGS") if live.listing(ClientQuota).may_alter is False else None


def refusals(change: Change) -> Iterator[Refusal]:
    """None: a quota grants nothing and loses nothing."""
    yield from ()


def is_selected(change: Change, selector: Selector) -> bool:
    """By the principal of its entity."""
    return selector.selects_listed(quota_changed(change))


def irreversible(change: Change) -> str | None:
    """Nothing: limits that went can be set again."""
    return None


def broker_defaults(change: Change) -> Iterator[str]:
    """None: a quota leaves nothing open."""
    yield from ()
