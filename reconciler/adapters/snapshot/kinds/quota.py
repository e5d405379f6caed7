"""Client quotas by Kafka's rules (``ClientQuotaControlManager``), for a cluster that is a file or in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from reconciler.adapters.snapshot.answers import DONE, failed
from reconciler.adapters.snapshot.broker import Snapshot
from reconciler.model import NOT_READ, Change, ClusterState, resource_of
from reconciler.model.kinds.quota import IP, QUOTA_KEYS, ClientQuota, QuotaEntity, altered, values_of
from reconciler.ports import Answer, ReadRequest

TYPES: Final = (ClientQuota,)


def view(snapshot: Snapshot, request: ReadRequest, state: ClusterState) -> ClusterState:
    """All quotas or none."""
    return state if ClientQuota.KIND in request.listings else state.with_listing(ClientQuota, NOT_READ)


def can_validate(change: Change) -> bool:
    """AlterClientQuotas has a field for it (KIP-546)."""
    return True


def send(before: Snapshot, changes: Sequence[Change]) -> tuple[Snapshot, list[Answer]]:
    """A change sets and removes its own keys only; a snapshot without quotas takes none."""
    state = before.state
    listing = state.listing(ClientQuota)
    if listing.items is None:
        reason = listing.gap or "the snapshot holds no quotas"
        return before, [failed("CLUSTER_AUTHORIZATION_FAILED", reason)] * len(changes)
    quotas = {quota.entity: dict(quota.values) for quota in listing.items}
    answers = []
    for change in changes:
        entity = resource_of(change).entity
        problem = _problem(entity, values_of(change.after))
        answers.append(DONE if problem is None else failed("INVALID_REQUEST", problem))
        if problem is None:
            quotas[entity] = altered(quotas.get(entity, {}), change.before, change.after)
    found = frozenset(ClientQuota(entity, values) for entity, values in quotas.items() if values)
    return replace(before, state=state.with_listing(ClientQuota, replace(listing, items=found))), answers


def _problem(entity: QuotaEntity, values: Mapping[str, float]) -> str | None:
    of_ip = any(kind == IP for kind, _ in entity.parts)
    if of_ip and len(entity.parts) > 1:
        return "Invalid quota entity combination"
    for key, value in values.items():
        if key not in QUOTA_KEYS or QUOTA_KEYS[key].of_ip != of_ip:
            return f"Invalid configuration key {key}"
        if value <= 0:
            return f"Quota {key} must be greater than 0"
        if QUOTA_KEYS[key].whole and value != int(value):
            return f"{key} cannot be a fractional value."
    return None
