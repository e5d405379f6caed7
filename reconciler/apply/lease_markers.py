"""The markers of leases: what a run writes on the cluster to say that it holds one, and how others read it.

Whoever may alter ACLs can write such a marker. So one counts only if it is exactly what a run writes, and ends within
the longest time that a run asks for: what is forged locks others out for that time, and never forever.
"""

import datetime
from collections.abc import Collection
from typing import Final
from urllib.parse import quote, unquote

from reconciler.apply.barriers.sentinels import PREFIX
from reconciler.dataclass import dataclass
from reconciler.model import (
    NOBODY,
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ClusterState,
    ResourcePattern,
    ResourceType,
)
from reconciler.ports import Clock, Cluster

LEASE_PREFIX: Final = f"{PREFIX}lease."
#: The longest lease that a run writes, in seconds: a barrier of half an hour fits in. A longer one is forged.
LONGEST: Final = 3_600.0
#: Seconds by which clocks may differ: for so long an expired marker still counts.
GRACE: Final = 30.0
_STAMP: Final = "%Y%m%dT%H%M%SZ"
_MARK: Final = AccessControlEntry(NOBODY, WILDCARD, AclOperation.DESCRIBE, AclPermissionType.ALLOW)


@dataclass(frozen=True, slots=True)
class LeaseClaim:
    """A marker as the cluster lists it."""

    holder: str
    run: str
    until: datetime.datetime
    binding: AclBinding

    @property
    def ends(self) -> str:
        """When it ends by itself, RFC 3339 in UTC."""
        return self.until.strftime("%Y-%m-%dT%H:%M:%SZ")

    def counts(self, now: datetime.datetime) -> bool:
        """Whether its run may be going on: it has not expired, and does not end later than any run would write."""
        left = (self.until - now).total_seconds()
        return -GRACE <= left <= LONGEST + GRACE


def lease_claims(bindings: Collection[AclBinding]) -> tuple[LeaseClaim, ...]:
    """Every marker among ``bindings`` that a run could have written, in order; others on such names are no claims."""
    names = (binding for binding in bindings if binding.pattern.name.startswith(LEASE_PREFIX))
    return tuple(claim for binding in sorted(names) if (claim := _claim(binding)) is not None)


def marker(holder: str, run: str, until: datetime.datetime) -> AclBinding:
    """The binding ``__kr.lease.<holder>.<run>.<expiry>`` for a principal that cannot exist."""
    name = quote(holder, safe="@", errors="replace").replace(".", "%2E")
    pattern = ResourcePattern(ResourceType.TOPIC, f"{LEASE_PREFIX}{name}.{run}.{until.strftime(_STAMP)}")
    return AclBinding(pattern, _MARK)


def active_claims(live: ClusterState, now: datetime.datetime) -> tuple[LeaseClaim, ...]:
    """The claims of the run that holds the lease, and of those that are about to."""
    return tuple(claim for claim in lease_claims(live.bindings) if claim.counts(now))


def time_of(clock: Clock) -> datetime.datetime:
    """The time of day as the clock has it."""
    return datetime.datetime.fromisoformat(clock.now())


def lease_time(cluster: Cluster, clock: Clock) -> datetime.datetime:
    """The time by which leases are written and judged: the controller's, or this machine's where nobody tells.

    All machines share the controller's clock. By a wrong clock of its own a machine would take the leases of others for
    expired, and remove them.
    """
    return cluster.controller_time() or time_of(clock)


def _claim(binding: AclBinding) -> LeaseClaim | None:
    text = binding.pattern.name.removeprefix(LEASE_PREFIX)
    try:
        holder, run, stamp = text.split(".")
        until = datetime.datetime.strptime(stamp, _STAMP).replace(tzinfo=datetime.UTC)
    except ValueError:
        return None
    claim = LeaseClaim(unquote(holder), run, until, binding)
    # Written again it has to be the same: other principals, pattern types and spellings are not ours.
    return claim if marker(claim.holder, run, until) == binding else None
