"""Client quotas: how many go into a request, and how a change is reverted."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from reconciler.apply.kinds.interface import Moved, Right, UndoDraft
from reconciler.model import (
    CLUSTER_NAME,
    AclOperation,
    Change,
    ClusterState,
    Create,
    Declaration,
    Delete,
    DesiredItem,
    ResourceType,
    Scope,
    Update,
    resource_of,
)
from reconciler.model.kinds.quota import ClientQuota
from reconciler.plan import Step
from reconciler.ports import ReadRequest

TYPES: Final = (ClientQuota,)
#: Altering a quota twice is the same as once.
REPEATED: Final[frozenset[str]] = frozenset()

_MAX_QUOTAS: Final = 500


def request(changes: Iterable[Change], request: ReadRequest) -> ReadRequest:
    """All quotas, where one changes: Kafka lists them in one answer."""
    touched = any(isinstance(resource_of(change), ClientQuota) for change in changes)
    return request.also(ClientQuota.KIND) if touched else request


def batches(steps: Sequence[Step], live: ClusterState) -> Iterator[Sequence[Step]]:
    """By number."""
    for start in range(0, len(steps), _MAX_QUOTAS):
        yield steps[start : start + _MAX_QUOTAS]


def pause_after(change: Change, seconds: float) -> float:
    """None."""
    return 0.0


def outside(change: Change, scope: Scope) -> str | None:
    """The entity, if it is not in scope."""
    quota: ClientQuota = resource_of(change)
    return None if scope.owns_listed(quota, declared=True) else quota.subject


def foreign_changes(moved: Moved) -> tuple[str, ...]:
    """None are looked for: each step finds a quota that is not as it expects."""
    return ()


def is_recreated(change: Change, live: ClusterState) -> bool:
    """A quota has no identity but its entity."""
    return False


def lacking_right(live: ClusterState) -> str | None:
    """ALTER_CONFIGS on the cluster (KIP-546)."""
    return "ALTER_CONFIGS on CLUSTER kafka-cluster" if live.listing(ClientQuota).may_alter is False else None


def right(change: Change) -> Right | None:
    """ALTER_CONFIGS on the cluster (KIP-546)."""
    return Right(AclOperation.ALTER_CONFIGS, ((ResourceType.CLUSTER, CLUSTER_NAME),))


def keep(draft: UndoDraft) -> None:
    """Nothing: a quota that a draft leaves out stays as it is."""


def revert(step: Step, draft: UndoDraft) -> Iterator[str]:
    """Put the limits back that were there before, unless somebody has changed them since."""
    quota: ClientQuota = resource_of(step.change)
    live, declared = draft.live.listing(ClientQuota), draft.declared.of(ClientQuota).get(quota.key)
    after = None if isinstance(step.change, Delete) else quota
    if declared is not None and declared.expired:
        yield f"{quota.subject} stays: it has expired"
    elif live.items is None:
        yield f"{quota.subject} stays: {live.gap or 'the quotas were not read'}"
    elif live.by_key.get(quota.key) != after:
        yield f"{quota.subject} stays: somebody has changed it since"
    else:
        before = step.change.before if isinstance(step.change, Update | Delete) else ClientQuota(quota.entity)
        draft.want(DesiredItem(before, Declaration(draft.origin), absent=isinstance(step.change, Create)))
