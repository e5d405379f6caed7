"""Perform a plan phase by phase: wait after each, watch for other people's changes, verify at the end.

Nothing here decides what to do: the plan does. A step that failed or is unknown holds back only what depends on it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from reconciler.apply import records
from reconciler.apply.barrier import FixedWait
from reconciler.apply.bridges import BridgeLifecycle, compare
from reconciler.apply.environment import GOOD, Barrier, DefaultAllow, Outcome, Result, StepOutcome
from reconciler.apply.lease import Lease, LeaseHeldError, claims_now, time_of
from reconciler.apply.marks import BreakGlassGuard, Unlocking, lock_watch
from reconciler.apply.moves import settle
from reconciler.apply.preflight import Preflight
from reconciler.apply.run import (
    ApplyEnvironment,
    Run,
    StoppedError,
    await_visible,
    changed_meanwhile,
    doubts,
    exact_read,
    read,
    reread,
    unmet_gains,
)
from reconciler.apply.sending import batches, send
from reconciler.apply.undo import recreated_topics
from reconciler.model.acl import AclBinding
from reconciler.model.state import ClusterState
from reconciler.plan.kinds import describe
from reconciler.plan.observed import StepState
from reconciler.plan.phase import Phase, waits
from reconciler.plan.proposal import Plan
from reconciler.plan.step import Step

#: Seconds between two looks at a lease that somebody else holds.
_NEXT_LOOK: Final = 0.5
#: Looks at the cluster again, as :func:`check` does.
Recheck: TypeAlias = Callable[[ClusterState], Preflight]


def perform(
    plan: Plan, start: ClusterState, preflight: Preflight, environment: ApplyEnvironment, recheck: Recheck | None = None
) -> Result:
    """Perform ``plan`` on a cluster that was read as ``start`` and passed :func:`check`.

    With a lease, or a barrier that verifies, the cluster is read again, exactly, and ``recheck`` decides; raises what
    it raises, and :class:`UnprovenError`, with nothing of the plan sent. Once a bridge or a step was sent nothing is
    raised: whatever goes wrong stops the run.
    """
    default_allow = plan.terms.default_allow
    run = Run(plan, environment, start, default_allow)
    barrier = (environment.barrier or FixedWait)(run)
    lease = None if environment.lease_request is None else Lease(run, environment.lease_request)
    bridges = BridgeLifecycle(run, preflight.bridges)
    end = plan.options.break_glass
    given = None if end is None else BreakGlassGuard(run, end)
    watch = lock_watch(run)
    ending = None if plan.options.unlock is None else Unlocking(run, plan.options.unlock)
    try:
        run.open()
        _take(run, lease)
        if given is not None:
            given.place()
            run.send_guards.append(given)
        if ending is not None:
            ending.place()
        run.send_guards += [item for item in (watch, ending) if item is not None]
        barrier.start()
        exact = lease is not None or given is not None or barrier.verifies
        if exact:
            preflight = _check_exactly(run, barrier, bridges, preflight, recheck)
        run.defeated = bool(preflight.defeated)
        run.record_done_before(preflight)
        # You may have taken your time to approve the plan: read again, unless that was just done.
        _perform_phases(run, barrier, bridges, run.start if exact else reread(run))
    except StoppedError as stop:
        run.stop(stop)
    except Exception as error:
        if not run.batches and not bridges.live:  # nothing of the plan was sent; the caller reports why
            barrier.end()
            run.stop(error)
            if given is not None:
                given.settle()
            if ending is not None:
                ending.settle()
            if lease is not None:
                lease.release()
            stopped = environment.redact(str(error))
            _close(run, Result(plan, run.all_outcomes(), verified=False, stopped=stopped))
            raise
        run.stop(error)
    kept = tuple(text for item in (given, watch, ending) if item is not None for text in item.settle())
    # The lease goes last: until then no cleanup takes our bridges and probe ACLs for leftovers.
    still_open = bridges.end()
    remaining = barrier.end()
    result = replace(_end(run, remaining, (*still_open, *kept)), notes=bridges.interruptions())
    if lease is not None:
        lease.release()
    return _close(run, result)


def _take(run: Run, lease: Lease | None) -> None:
    """Take the lease if one was asked for; without, refuse to run while another run holds it. Waits if it may."""
    clock, patience = run.environment.clock, run.environment.lease_patience
    deadline = clock.monotonic() + patience.seconds
    live = run.start
    while True:
        try:
            if lease is not None:
                lease.take()
                run.lease_guard = lease
            elif claims := claims_now(live, run.environment.cluster, clock):
                raise LeaseHeldError(*claims)
        except LeaseHeldError:
            if clock.monotonic() >= deadline or run.environment.interrupted():
                if patience.goes_on:
                    return
                raise
            clock.sleep(_NEXT_LOOK)
            live = read(run)
        else:
            return


def _check_exactly(
    run: Run, barrier: Barrier, bridges: BridgeLifecycle, preflight: Preflight, recheck: Recheck | None
) -> Preflight:
    """Check the plan again on a reading that cannot be old, once the brokers are known to be as declared."""
    placed = [mark for guard in run.send_guards for mark in guard.placed]
    live = exact_read(run, [*barrier.placed, *run.lease_guard.placed, *placed], preflight.request)
    for guard in run.send_guards:
        guard.admit(live)
    run.start = run.compared(live)
    barrier.check(run.start)
    rechecked = recheck(live) if recheck else preflight
    bridges.planned = rechecked.bridges
    observed = barrier.observe_default_allow(live)
    compare(observed, rechecked, run.plan.terms.cluster, declared=run.default_allow)
    bridges.take_over(live)
    if observed is DefaultAllow.ON:
        bridges.build()
    return rechecked


def _perform_phases(run: Run, barrier: Barrier, bridges: BridgeLifecycle, now: ClusterState) -> None:
    """All phases; ``now`` is the state as it was read just before the first one."""
    phases = bridges.stages()
    waited = waits([phase for phase, _ in phases])
    for number, (phase, steps) in enumerate(phases):
        live = reread(run) if number else now
        run.lease_guard.renew(live)
        bridges.check()
        send(run, phase, _batches(run, phase, steps, live), bridges.check)
        if run.environment.interrupted():
            return
        # These keep us, the brokers and the protected principals working while the plan closes resources.
        if phase is Phase.CREATE_FIRST and any(run.outcomes[step].outcome not in GOOD for step in steps):
            raise StoppedError("the first phase could not be created")
        # Quotas, group configs and moves rely on no bridge, and a move may take hours.
        if phase is Phase.DELETE_LAST:
            bridges.close()
        # Without a later step that relies on it a barrier would only cost time; an open bridge relies on it too.
        if waited[number] and (bridges.live or _unsettled(run, phases[number + 1 :])):
            barrier.wait()


def _batches(run: Run, phase: Phase, steps: list[Step], live: ClusterState) -> Iterator[Sequence[Step]]:
    """What of a phase has to be sent, a request at a time, until you ask to stop; the other steps get their outcome."""
    if not steps:
        return
    run.environment.progress.phase(phase, len(steps))
    ready = _ready(run, phase, steps, live)
    run.environment.progress.sent(len(steps) - len(ready))
    for batch in batches(phase, ready, live, run.environment.max_batch):
        if run.environment.interrupted():
            return
        yield batch


def _unsettled(run: Run, phases: Sequence[tuple[Phase, list[Step]]]) -> bool:
    """Whether anything may still be sent that relies on what was sent before."""
    return any(step not in run.outcomes for _, steps in phases for step in steps)


def _ready(run: Run, phase: Phase, steps: list[Step], live: ClusterState) -> list[Step]:
    """The steps to send; the others get their outcome: nothing is created after its end.

    A step that was moved waits for what its new phase waits for.
    """
    blockers, at = run.blockers(), time_of(run.environment.clock)
    ready, settled = [], []
    # To look a step up hashes all that it holds.
    for step in steps if not run.outcomes else [step for step in steps if step not in run.outcomes]:
        observed = step.observed(live)
        # Somebody, or an earlier attempt of this run, was faster: the aim is reached, and sending again proves nothing.
        if observed.state is StepState.DONE:
            settled.append(StepOutcome(step, Outcome.ALREADY))
        elif observed.state is StepState.UNREADABLE:
            message = f"{observed.subject} could not be read, and nothing was sent: {observed.found}"
            settled.append(StepOutcome(step, Outcome.FAILED, "unreadable", message))
        elif observed.state is not StepState.PENDING:
            settled.append(changed_meanwhile(step, observed))
        elif step.change.after is not None and step.expires is not None and step.expires.over(at):
            # You may have taken your time to approve the plan, and phases before this one theirs.
            message = f"what it creates ended {step.expires.past}, and nothing was sent"
            settled.append(StepOutcome(step, Outcome.FAILED, "ended_meanwhile", message))
        elif (other := blockers.blocking(step, phase)) is not None:
            message = f"waits for “{describe(other)}”"
            settled.append(StepOutcome(step, Outcome.BLOCKED, message=message, blocked_by=other))
        else:
            if (halves := step.halves(live)) is not None:
                run.rests[step] = halves.rest
            ready.append(step)
    run.record_outcomes(settled)
    return ready


def _end(run: Run, remaining: Sequence[AclBinding], bridges: Sequence[str]) -> Result:
    """Read until everything that was done is visible, and name the rest.

    ``remaining`` are probe ACLs that could not be removed, ``bridges`` says which of those are still there, and why.
    """
    # Taken now: Ctrl-C during the last reading must not call a finished run interrupted.
    interrupted, stopped = run.environment.interrupted(), run.stopped
    differences = [f"{binding}: could not be removed; “reconciler cleanup” does" for binding in remaining]
    differences += bridges
    differences += doubts(run)
    settle(run, run.plan.steps)
    differences += run.still_throttled.values()
    verified = False
    try:
        live, differing = await_visible(run)
        verified = True
        differences += unmet_gains(run, live)
        differences += (
            f"{describe(step.change)}: reported done, but the cluster does not show it" for step in differing.missing
        )
        differences += (f"meanwhile, by somebody else: {text}" for text in differing.foreign if not stopped)
        differences += recreated_topics(run)
    except Exception as error:  # what was sent has to be reported, whatever the reading ends with
        run.stop(error)
    return Result(
        plan=run.plan,
        outcomes=run.all_outcomes(),
        verified=verified,
        differences=tuple(differences),
        stopped=run.stopped,
        interrupted=interrupted,
    )


def _close(run: Run, result: Result) -> Result:
    """Write down the end; a record that cannot be kept is part of the result."""
    record = records.ended(run.environment.identity.run, result, run.environment.clock.now())
    try:
        run.environment.journal.write(record)
        run.environment.audit.write(record)
    except Exception as error:
        return replace(result, stopped=result.stopped or f"the end could not be written down: {run.reason(error)}")
    return result
