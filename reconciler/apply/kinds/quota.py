"""Client quotas: how many go into a request, and how a change is reverted."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from reconciler.apply.kinds.interface import Moved, Right, UndoDraft
from reconciler.model import (
    CLUSTER_NAME,
    AclOperation,
    Change,
    ClientQuota,
    ClusterState,
    Create,
    Declaration,
    Delete,
    DesiredQuota,
    ResourceType,
    Scope,
    Update,
    resource_of,
)
from reconciler.plan import Step
from reconciler.ports import ReadRequest

TYPES: Final = (ClientQuota,)
#: Altering a quota twice is the same as once.
REPEATED: Final[frozenset[str]] = frozenset()

_MAX_QUOTAS: Final = 500


def request(changes: Iterable[Change], request: ReadRequest) -> ReadRequest:
    """All quotas, where one changes: Kafka lists them in one answer."""
    return replace(request, quotas=any(isinstance(resource_of(change), ClientQuota) for change in changes))


def batches(steps: Sequence[Step], live: ClusterState) -> Iterator[Sequence[Step]]:
    """By number."""
    for start in range(0, len(steps), _MAX_QUOTAS):
        yield steps[start : start + _MAX_QUOTAS]


def pause_after(change: Change, seconds: float) -> float:
    """None."""
    return 0.0


def outside(change: Change, scope: Scope) -> str | None:
    """The entity, if it is not in scope."""
    entity = resource_of(change).entity
    return None if scope.owns_quota(entity, declared=True) else f"quota of {entity}"


def foreign_changes(moved: Moved) -> tuple[str, ...]:
    """None are looked for: each step finds a quota that is not as it expects."""
    return ()


def is_recreated(change: Change, live: ClusterState) -> bool:
    """A quota has no identity but its entity."""
    return False


def lacking_right(live: ClusterState) -> str | None:
    """ALTER_CONFIGS on the cluster (KIP-546)."""
    return "ALTER_CONFIGS on CLUSTER kafka-cluster" if live.may_alter_quotas is False else None


def right(change: Change) -> Right | None:
    """ALTER_CONFIGS on the cluster (KIP-546)."""
    return Right(AclOperation.ALTER_CONFIGS, ((ResourceType.CLUSTER, CLUSTER_NAME),))


def keep(draft: UndoDraft) -> None:
    """Nothing: a quota that a draft leaves out stays as it is."""


def revert(step: Step, draft: UndoDraft) -> Iterator[str]:
    """Put the limits back that were there before, unless somebody has changed them since."""
    quota: ClientQuota = resource_of(step.change)
    now = next((one for one in draft.live.quotas or () if one.entity == quota.entity), None)
    after = None if isinstance(step.change, Delete) else quota
    if quota.entity in draft.declared.expired_quotas:
        yield f"quota of {quota.entity} stays: it has expired"
    elif draft.live.quotas is None:
        yield f"quota of {quota.entity} stays: {draft.live.quota_gap or 'the quotas were not read'}"
    elif now != after:
        yield f"quota of {quota.entity} stays: somebody has changed it since"
    else:
        before = step.change.before if isinstance(step.change, Update | Delete) else ClientQuota(quota.entity)
        absent = isinstance(step.change, Create)
        draft.quotas[quota.entity] = DesiredQuota(before, Declaration(draft.origin), absent)
