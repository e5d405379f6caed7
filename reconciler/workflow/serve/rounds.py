"""One round: read manifests and a cluster, compare, and do what a server may do by itself."""

import datetime
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from typing import Final

from reconciler.adapters.clock import SystemClock
from reconciler.apply import Identity, Outcome
from reconciler.apply.command_records import about_command, break_glass_lines
from reconciler.apply.lease_markers import time_of
from reconciler.apply.leftovers import leftovers, removable
from reconciler.dataclass import dataclass
from reconciler.model import AclBinding, break_glass_over, instant_of, running_break_glass
from reconciler.plan.guardrail_review import NO_GUARDRAILS
from reconciler.report.rounds import ApprovedOutcome, Round
from reconciler.workflow.applying import ApplyOptions, perform_now
from reconciler.workflow.attendant import Attendant, Unattended
from reconciler.workflow.clock_doubt import clock_doubt_of
from reconciler.workflow.clusters import Target, open_declared, split_cluster
from reconciler.workflow.command_ledger import command_ledger
from reconciler.workflow.leftovers import remove_written_down
from reconciler.workflow.options import ConnectionOptions, PlanOptions, now
from reconciler.workflow.planning import Planned, plan_on
from reconciler.workflow.reasons import WorkflowError
from reconciler.workflow.records import new_run
from reconciler.workflow.serve.approved import ApplySetting, ApprovedPlans
from reconciler.workflow.serve.evidence import SeenMarks, unended
from reconciler.workflow.serve.narrowing import expired_access, revocation
from reconciler.workflow.serve.source import Checkout, ManifestSource

#: How far the clock of whoever committed may be ahead of ours: by more, ours is behind, and nothing has ended yet.
_CLOCKS_DIFFER: Final = datetime.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What a server may do on one cluster, and under which rules.

    Without ``act`` it only looks. ``apply`` says what is written down, and as whose lease; ``approved`` are the signed
    plans that it performs.
    """

    cluster: str
    act: bool = False
    apply: ApplyOptions = ApplyOptions()
    guardrails: str | None = None
    approved: ApprovedPlans | None = None
    #: Remembered from round to round.
    witness: SeenMarks = field(default_factory=SeenMarks)

    @property
    def name(self) -> str:
        """The cluster's name in the manifests."""
        return split_cluster(self.cluster)[0] or self.cluster


class OnlyStoppable(Unattended):
    """Nobody attends a server; somebody may stop it, after the batch in flight."""

    def __init__(self, stopped: Callable[[], bool]) -> None:
        """``stopped`` says whether somebody has."""
        self._stopped = stopped

    def interruptions(self) -> AbstractContextManager[Callable[[], bool]]:
        """See :class:`Attendant`."""
        return nullcontext(self._stopped)


def run_round(
    source: ManifestSource,
    options: ServeOptions,
    connection: ConnectionOptions,
    attendant: Attendant,
    *,
    clock_doubt: str | None = None,
) -> Round:
    """One round; whatever goes wrong is in it. ``clock_doubt`` is why the time of this machine is not believed."""
    began, clock = now(), SystemClock()
    start = clock.monotonic()
    deeds = _Deeds(options, connection, attendant)
    found = Round(options.name, began)
    try:
        with source.checkout() as checkout:
            found = deeds.look(checkout, began, clock_doubt)
    except WorkflowError as error:
        # A log has a line for it, however many an error has.
        found = replace(found, failure=" ".join(str(error).split()), advice=error.advice or "")
    except OSError as error:
        found = replace(found, failure=f"{error.filename or 'this machine'}: {error.strerror or error}")
    return replace(
        found,
        seconds=clock.monotonic() - start,
        held_back=tuple(deeds.held_back),
        revoked=deeds.revoked,
        waiting=deeds.waiting,
        removed=deeds.removed,
        approved=deeds.approved,
    )


@dataclass(slots=True)
class _Deeds:
    """What a round has done so far: it stands whatever fails afterwards."""

    options: ServeOptions
    connection: ConnectionOptions
    attendant: Attendant
    held_back: list[str] = field(default_factory=list)
    revoked: int = 0
    waiting: int = 0
    removed: int = 0
    approved: tuple[ApprovedOutcome, ...] = ()

    def look(self, checkout: Checkout, began: datetime.datetime, clock_doubt: str | None) -> Round:
        """Compare, and act as far as that is permitted; raises a :class:`WorkflowError`."""
        options, attendant = self.options, self.attendant
        with open_declared(checkout.path, options.cluster, self.connection, attendant.tell, options.guardrails) as (
            manifests,
            target,
        ):
            doubt = clock_doubt or _behind(checkout, began)
            doubt = clock_doubt_of(target) if options.act and doubt is None else doubt
            acting = options.act and doubt is None
            if options.act and doubt is not None:
                self.held_back.append(doubt)
            if acting and options.approved is not None:
                apply = replace(self._own_again(), guardrails=options.guardrails)
                setting = ApplySetting(checkout.path, options.cluster, self.connection, apply, attendant)
                for one in options.approved.perform(setting):
                    self.approved = (*self.approved, one)
            planning = PlanOptions(began.replace(microsecond=0), allow_deletes=True, guardrails=options.guardrails)
            # A report refuses nothing: guards speak when something is to be changed.
            planned = plan_on(target, manifests, checkout.path, planning, guarded=False)
            vouched = self._witness(planned, target, acting=acting) if doubt is None else frozenset()
            self.waiting = len(expired_access(planned, vouched))
            if acting:
                self._narrow(planned, target, planning, checkout.commit, vouched)
                self._remove_dead(planned, target)
            drift = replace(planned.plan, guardrails=NO_GUARDRAILS, source_commit=checkout.commit)
            end = next_end(planned, planned.plan.as_of)
            return Round(options.name, began, drift=drift, servers=planned.servers, next_end=end)

    def _witness(self, planned: Planned, target: Target, *, acting: bool) -> frozenset[AclBinding]:
        """Take in what this reading shows of break-glass access; what a server may end of it."""
        live, at, records = planned.live, instant_of(planned.plan.as_of), self.options.apply.records
        seen = self.options.witness.look(live, at, records.audit)
        vouched = self.options.witness.vouched(live, at)
        over = [one for one in break_glass_over(live.bindings, at) if planned.declaration.scope.owns(one)]
        if acting:
            staying = unended(over, vouched, planned.desired.bindings)
            self.held_back += [_stay(number, why) for why, number in staying.items()]
        if seen and acting:
            identity = Identity(new_run(), records.who())
            about = about_command(identity, live.cluster_id, target.name)
            written = SystemClock().now()
            lines = [
                line
                for one in seen
                for line in break_glass_lines(about, one.sight, [one.access.binding], one.access.end, written)
            ]
            with command_ledger(target, records) as ledger:
                if why := ledger.conclude(lines):
                    self.held_back.append(f"what was seen of break-glass access could not be written down: {why}")
        return vouched

    def _narrow(
        self,
        planned: Planned,
        target: Target,
        planning: PlanOptions,
        commit: str | None,
        vouched: Collection[AclBinding],
    ) -> None:
        """Delete the access whose time is over, as far as that is all that a plan of it does.

        Marks stay for a while: a request that gave what they mark may arrive once more.
        """
        plan, staying = revocation(planned, target, planning, commit, vouched)
        self.held_back += [_stay(number, why) for why, number in staying.items()]
        if plan is None:
            return
        try:
            result = perform_now(plan, planned.live, target, self.connection, self._own_again(), self.attendant)
        except WorkflowError as error:
            self.held_back.append(_stay(len(plan.steps), str(error)))
            return
        self.revoked = result.count(Outcome.DONE) + result.count(Outcome.ALREADY)
        self.waiting = max(0, self.waiting - self.revoked)
        if not result.succeeded:
            self.held_back.append(result.stopped or "not every expired binding could be deleted")

    def _own_again(self) -> ApplyOptions:
        """How a server applies: a lease of its own name is of a process before this one, which died.

        Were it another that lives, its run would stop, and what it performs would be performed here; one that performs
        plans of the same directory keeps the journal locked. A person's lease holds.
        """
        apply = self.options.apply
        if apply.lease is None:
            return apply
        return replace(apply, lease=replace(apply.lease, breaks=(*apply.lease.breaks, apply.lease.holder)))

    def _remove_dead(self, planned: Planned, target: Target) -> None:
        """Remove what runs left that cannot be going on any more, but for those with a bridge.

        A bridge keeps somebody's access until its plan is performed: what becomes of it is for a person to say.
        """
        now_there = time_of(SystemClock())
        found = removable(leftovers(planned.live, now_there), planned.live, now_there)
        dead = [one for one in found if not one.bridges and not one.going_on(now_there)]
        if not dead:
            return
        cluster_id, records = planned.live.cluster_id, self.options.apply.records
        try:
            removal = remove_written_down(target, dead, lambda bridge: True, cluster_id, records)
        except WorkflowError as error:
            self.held_back.append(f"what dead runs left stays: {error}")
            return
        self.removed = sum(len(one.bindings) for one in dead) - len(removal.left)
        if removal.left:
            self.held_back.append(f"{len(removal.left)} bindings of dead runs could not be removed")
        if removal.unrecorded:
            self.held_back.append(f"what was removed could not be written down: {removal.unrecorded}")


def _stay(number: int, why: str) -> str:
    return f"{number} expired {'binding stays' if number == 1 else 'bindings stay'}: {why}"


def _behind(checkout: Checkout, at: datetime.datetime) -> str | None:
    """Why the clock of this machine is behind, if a commit says so."""
    if checkout.committed is None or checkout.committed - at <= _CLOCKS_DIFFER:
        return None
    made = f"{checkout.committed:%Y-%m-%dT%H:%M:%SZ}"
    return f"this machine's clock is behind: the manifests were committed at {made}"


def next_end(planned: Planned, as_of: datetime.date) -> datetime.datetime | None:
    """When the next access ends that is declared with an end, or break-glass; ``None`` where none does."""
    declared = (
        declaration.expires.end for declaration in planned.desired.bindings.values() if declaration.expires is not None
    )
    running = running_break_glass(planned.live.bindings, as_of)
    ends = (*declared, *(one.end for one in running.values()))
    return min((end for end in ends if end > instant_of(as_of)), default=None)
