"""The lease of a run: taken, renewed, given back, left by a dead run.

An opt-in lease: a marker binding on the cluster keeps two runs of the reconciler apart.

Kafka writes bindings into one log and lists them as of one offset in it, so a run that sees its own marker sees every
marker that was written before. A run holds the lease once a listing shows its own marker and no other: of two runs the
later one sees the earlier. Time decides only whether a marker that its run no longer renews may be removed, and that
time is the controller's.
"""

import datetime
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Final
from urllib.parse import quote, unquote

from reconciler.apply.barrier import PREFIX
from reconciler.apply.environment import LeaseRequest
from reconciler.apply.run import ApplyEnvironment, LeaseGuard, Run, StoppedError, create, exact_read, read, remove
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    AclBinding,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.markers import MARK_ENTRY
from reconciler.model.scope import on_reserved_names
from reconciler.model.state import ClusterState
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.ports import Clock, Cluster
from reconciler.retry import attempts

# The markers of leases: what a run writes on the cluster to say that it holds one, and how others read it.
#
# Whoever may alter ACLs can write such a marker. So one counts only if it is exactly what a run writes, and ends
# within the longest time that a run asks for: what is forged locks others out for that time, and never forever.

LEASE_PREFIX: Final = f"{PREFIX}lease."
#: The longest lease that a run writes, in seconds: a barrier of half an hour fits in. A longer one is forged.
LONGEST: Final = 3_600.0
#: Seconds by which clocks may differ: for so long an expired marker still counts.
GRACE: Final = 30.0
_STAMP: Final = "%Y%m%dT%H%M%SZ"


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
        remaining = (self.until - now).total_seconds()
        return -GRACE <= remaining <= LONGEST + GRACE


def lease_claims(bindings: Collection[AclBinding]) -> tuple[LeaseClaim, ...]:
    """Every marker among ``bindings`` that a run could have written, in order; others on such names are no claims."""
    names = (binding for binding in bindings if binding.pattern.name.startswith(LEASE_PREFIX))
    return tuple(claim for binding in sorted(names) if (claim := _claim(binding)) is not None)


def marker(holder: str, run: str, until: datetime.datetime) -> AclBinding:
    """The binding ``__kr.lease.<holder>.<run>.<expiry>`` for a principal that cannot exist."""
    name = quote(holder, safe="@", errors="replace").replace(".", "%2E")
    pattern = ResourcePattern(ResourceType.TOPIC, f"{LEASE_PREFIX}{name}.{run}.{until.strftime(_STAMP)}")
    return AclBinding(pattern, MARK_ENTRY)


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


def claims_now(live: ClusterState, cluster: Cluster, clock: Clock) -> tuple[LeaseClaim, ...]:
    """The :func:`active_claims` by the time of leases, for which nobody is asked where there is no claim."""
    return active_claims(live, lease_time(cluster, clock)) if on_reserved_names(live.bindings) else ()


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


#: Seconds that a run waits for one that began later and is about to give way.
_PATIENCE: Final = 10.0


class LeaseHeldError(Exception):
    """Other runs hold the lease, or are about to; ``claims`` say whose, the first one first."""

    def __init__(self, *claims: LeaseClaim) -> None:
        """``str()`` names each holder, the run, and when the lease ends by itself."""
        holders = (f"{claim.holder} holds the lease, by run {claim.run}, until {claim.ends}" for claim in claims)
        super().__init__("; ".join(holders))
        self.claims = claims


def lasting(terms: Terms, seconds: float, send_seconds: float) -> float:
    """Seconds until a lease expires without renewal: a run does not renew it while it waits at a barrier.

    Renewed at half, it always has more left than a request may be under way, ``send_seconds``.
    """
    barrier = terms.barrier_wait if terms.probe is None else max(terms.barrier_wait, terms.barrier_seconds)
    return min(max(seconds, 2 * send_seconds) + 2 * barrier, LONGEST)


@dataclass(slots=True)
class Lease(LeaseGuard):
    """The lease of one run.

    Invariant: whenever something is sent, more of the lease is left than the longest send takes, repeats by the client
    included. A request that was given up by then cannot meet the next holder, unless a broker keeps it longer than any
    client waits: Kafka has no token by which it could refuse the request of a former holder.
    """

    run: Run
    lease_request: LeaseRequest
    own: LeaseClaim | None = None
    renew_at: float = field(default=0.0)
    _half: float = 0.0
    #: When it ends, by the monotonic clock and by the time of day of this machine.
    _ends: float = 0.0
    _ends_by: datetime.datetime = field(default=datetime.datetime.min.replace(tzinfo=datetime.UTC))

    def take(self) -> None:
        """Take the lease; raises :class:`LeaseHeldError` or ``StoppedError``, and leaves no marker then."""
        broken = self._broken()
        self._place()
        try:
            self._await(broken)
            self._require_margin()
        except BaseException:  # Ctrl-C too: a marker that stays would lock others out until it expires
            self.release()
            raise
        self.run.environment.progress.note(f"holding the lease until {self._own.until}, renewed during this run")

    def renew(self, live: ClusterState | None = None) -> None:
        """See ``LeaseGuard``: renew in time, and stop once a listing shows that another run broke the lease."""
        if live is not None:
            self._check(live, self._own)
        if self.run.environment.clock.monotonic() >= self.renew_at or self.remaining <= self._half:
            old = self._own
            self._place()
            self._check(exact_read(self.run, [self._own.binding]), old)
            # The old marker goes last, so that at no moment there is none.
            if self._own.binding != old.binding:
                remove(self.run, [old.binding])
        self._require_margin()

    @property
    def remaining(self) -> float:
        """Seconds until it ends; of two clocks the one that says less.

        A machine that was suspended has a monotonic clock that stood still, and a lease that did not.
        """
        clock = self.run.environment.clock
        return min(self._ends - clock.monotonic(), (self._ends_by - time_of(clock)).total_seconds())

    def _require_margin(self) -> None:
        if (seconds := self.remaining) <= self.run.environment.send_seconds:
            raise StoppedError(
                f"the lease of this run ends in {max(seconds, 0):.0f} s, and a request may be under way for "
                f"{self.run.environment.send_seconds:.0f} s: nothing more is sent"
            )

    def release(self) -> None:
        """Give it back; a marker that cannot be removed expires."""
        if self.own is not None and remove(self.run, [self.own.binding]):
            self.run.environment.progress.note(f"the lease could not be given back: it ends at {self.own.until}")
        self.own = None

    @property
    def placed(self) -> tuple[AclBinding, ...]:
        """The marker: a listing without it is older than this run."""
        return () if self.own is None else (self.own.binding,)

    @property
    def _own(self) -> LeaseClaim:
        if self.own is None:
            raise StoppedError("this run does not hold the lease")
        return self.own

    def _now(self) -> datetime.datetime:
        return lease_time(self.run.environment.cluster, self.run.environment.clock)

    def _broken(self) -> frozenset[AclBinding]:
        """The markers that you have seen when you break the lease: one that appears later is respected."""
        claims = lease_claims(exact_read(self.run, ()).bindings)
        now = self._now()
        broken = frozenset(claim.binding for claim in claims if claim.holder in self.lease_request.breaks)
        # All of them at once: whoever breaks one should not have to learn of the next by a second refusal.
        if others := [claim for claim in claims if claim.counts(now) and claim.binding not in broken]:
            raise LeaseHeldError(*others)
        return broken

    def _place(self) -> None:
        environment = self.run.environment
        seconds = lasting(self.run.plan.terms, self.lease_request.seconds, environment.send_seconds)
        begun, began_by = environment.clock.monotonic(), time_of(environment.clock)
        now = self._now()
        until = (now + datetime.timedelta(seconds=seconds)).replace(microsecond=0)
        binding = marker(self.lease_request.holder, environment.identity.run, until)
        self._ends, self._ends_by = begun + (until - now).total_seconds(), began_by + (until - now)
        # Where the longest lease is short for such requests, it is renewed sooner.
        self._half = max(seconds / 2, min(environment.send_seconds, seconds))
        self.renew_at = begun + seconds - self._half
        self.own = LeaseClaim(self.lease_request.holder, environment.identity.run, until, binding)
        create(self.run, [binding], "the lease's marker")

    def _await(self, broken: Collection[AclBinding]) -> None:
        """Return once a listing shows this marker alone; of two runs that see each other the later one gives way."""
        clock, own = self.run.environment.clock, self._own
        deadline = clock.monotonic() + _PATIENCE
        while others := [
            c for c in lease_claims(exact_read(self.run, [own.binding]).bindings) if c.binding != own.binding
        ]:
            now = self._now()
            gone = [c.binding for c in others if c.binding in broken or not c.counts(now)]
            for claim in others:
                if claim.binding not in gone and (claim.run < own.run or clock.monotonic() > deadline):
                    raise LeaseHeldError(claim)
            remove(self.run, gone)
            clock.sleep(0.2)  # the other run is about to see our marker and to give way

    def _check(self, live: ClusterState, own: LeaseClaim) -> None:
        """While our marker exists, no other run can have taken the lease; a broker that lags is asked again."""
        for turn in attempts(self.run.environment.clock):
            if turn:
                live = read(self.run)
            if own.binding in live.bindings:
                return
        other = next((claim for claim in lease_claims(live.bindings) if claim.run != own.run), None)
        raise StoppedError(f"the lease of this run was broken{f' by {other.holder}' if other else ''}")


# The lease of a command that performs no plan, and writes to the cluster all the same.


@contextmanager
def holding(environment: ApplyEnvironment, terms: Terms, live: ClusterState) -> Iterator[None]:
    """Hold the lease that ``environment`` asks for; without a request nothing is held.

    Raises ``LeaseHeldError``, and ``StoppedError`` where the lease cannot be taken; it leaves no marker then.
    """
    if environment.lease_request is None:
        yield
        return
    today: datetime.date = time_of(environment.clock)
    # It names what has to be read, which is all bindings, and how long a lease lasts; nobody performs it.
    nothing = Plan(live.cluster_id, terms, Options(), today, ())
    lease = Lease(Run(nothing, environment, live, terms.default_allow), environment.lease_request)
    lease.take()
    try:
        yield
    finally:
        lease.release()
