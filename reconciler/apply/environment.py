"""What an apply works with: a cluster, a clock, somewhere to write, and how to ask every node."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reconciler.apply.progress import Progress
from reconciler.ports import Clock, Cluster, Ledger, Probe


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """Who takes the lease, and whose lease is broken for it, if it stands in the way."""

    holder: str
    breaks: str | None = None


@dataclass(frozen=True, slots=True)
class ProbeSetup:
    """How to ask nodes: as ``principal`` by ``probe``, and as ourselves by ``own``.

    ``own_principal`` is what the declaration says of us, and ``own_is_super`` whether it calls us a super user;
    ``brokers`` are those that it expects, ``seconds`` the time that a barrier may take.
    """

    probe: Probe
    principal: str
    own: Probe
    own_principal: str | None = None
    own_is_super: bool = False
    brokers: frozenset[int] = frozenset()
    seconds: float = 30.0


class NoLedger:
    """Keeps nothing."""

    def write(self, *records: Mapping[str, Any]) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which run this is, and whose: drawn and found out by whoever starts it."""

    run: str = "unnamed"
    operator: str = ""
    file_digest: str | None = None


@dataclass(frozen=True, slots=True)
class ApplyEnvironment:
    """What an apply works with; ``interrupted`` turns true when a person asked to stop.

    ``max_batch`` makes requests smaller than they would be; ``probe_setup`` says how to prove what nodes enforce,
    ``lease_request`` that no other run of ours may go on beside this one.
    """

    cluster: Cluster
    clock: Clock
    progress: Progress
    interrupted: Callable[[], bool] = lambda: False
    identity: Identity = Identity()
    journal: Ledger = field(default_factory=NoLedger)
    audit: Ledger = field(default_factory=NoLedger)
    max_batch: int | None = None
    probe_setup: ProbeSetup | None = None
    lease_request: LeaseRequest | None = None
