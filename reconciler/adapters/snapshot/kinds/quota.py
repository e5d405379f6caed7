"""Client quotas by Kafka's rules (``ClientQuotaControlManager``), for a cluster that is a file or in memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from reconciler.adapters.snapshot.answers import DONE, failed
from reconciler.adapters.snapshot.broker import Snapshot
from reconciler.model import IP, QUOTA_KEYS, Change, ClientQuota, ClusterState, QuotaEntity, resource_of
from reconciler.ports import Answer, ReadRequest

TYPES: Final = (ClientQuota,)


def view(snapshot: Snapshot, request: ReadRequest, state: ClusterState) -> ClusterState:
    """All quotas or none."""
    if request.quotas or (state.quotas is None and state.quota_gap is None):
        return state
    return replace(state, quotas=None, quota_gap=None)


def can_validate(change: Change) -> bool:
    """AlterClientQuotas has a field for it (KIP-546)."""
    return True


def send(before: Snapshot, changes: Sequence[Change]) -> tuple[Snapshot, list[Answer]]:
    """A change sets and removes its own keys only; a snapshot without quotas takes none."""
    state = before.state
    if state.quotas is None:
        reason = state.quota_gap or "the snapshot holds no quotas"
        return before, [failed("CLUSTER_AUTHORIZATION_FAILED", reason)] * len(changes)
    quotas = {quota.entity: dict(quota.values) for quota in state.quotas}
    answers = []
    for change in changes:
        entity, old, new = resource_of(change).entity, _values(change.before), _values(change.after)
        problem = _problem(entity, new)
        answers.append(DONE if problem is None else failed("INVALID_REQUEST", problem))
        if problem is None:
            kept = {key: value for key, value in quotas.get(entity, {}).items() if key not in old}
            quotas[entity] = {**kept, **new}
    found = frozenset(ClientQuota(entity, values) for entity, values in quotas.items() if values)
    return replace(before, state=replace(state, quotas=found)), answers


def _values(side: object) -> dict[str, float]:
    return dict(side.values) if isinstance(side, ClientQuota) else {}


def _problem(entity: QuotaEntity, values: dict[str, float]) -> str | None:
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
