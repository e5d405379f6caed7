"""Perform a plan: phase by phase, each awaited, watched between, verified at the end.

Nothing here decides what to do: the plan does. A step that failed or is unknown holds back only what depends on it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeAlias

from reconciler.apply import records
from reconciler.apply.barrier import Barrier, FixedWait
from reconciler.apply.batches import batches, pause_after
from reconciler.apply.bridges import BridgeLifecycle
from reconciler.apply.default_allow import Observed, compare, observe
from reconciler.apply.environment import ApplyEnvironment
from reconciler.apply.lease import Lease, LeaseHeldError, active_claim, time_of
from reconciler.apply.outcome import GOOD, Outcome, Result, StepOutcome
from reconciler.apply.preflight import Preflight
from reconciler.apply.proof import Proof
from reconciler.apply.recreated_topics import recreated_topics
from reconciler.apply.run import Run, StoppedError
from reconciler.apply.sending import send
from reconciler.apply.verification import await_visible, exact_read, reread, resolve_unknown
from reconciler.model import AclBinding, ClusterState, without_bridges
from reconciler.plan import Phase, Plan, Standing, Step, barriers, describe, standing
from reconciler.ports import Answer, AnswerStatus, RecordError

_OUTCOMES = {
    AnswerStatus.DONE: Outcome.DONE,
    AnswerStatus.ALREADY: Outcome.ALREADY,
    AnswerStatus.FAILED: Outcome.FAILED,
    AnswerStatus.UNKNOWN: Outcome.UNKNOWN,
}


#: Looks at the cluster again, as :func:`check` does.
Recheck: TypeAlias = Callable[[ClusterState], Preflight]


def perform(
    plan: Plan, start: ClusterState, preflight: Preflight, environment: ApplyEnvironment, recheck: Recheck | None = None
) -> Result:
    """Perform ``plan`` on a cluster that was read as ``start`` and passed :func:`check`.

    With a probe the cluster is read again, exactly, and ``recheck`` decides; raises what it raises, and
    :class:`UnprovenError`, with nothing of the plan sent.
    """
    run = Run(plan, environment, without_bridges(start), plan.terms.default_allow)
    barrier: FixedWait | Proof = (
        FixedWait(run) if environment.probe_setup is None else Proof(run, environment.probe_setup)
    )
    lease = None if environment.lease_request is None else Lease(run, environment.lease_request)
    bridges = BridgeLifecycle(run, preflight.bridges)
    try:
        run.open()
        _take(run, lease)
        barrier.begin()
        exact = lease is not None or isinstance(barrier, Proof)
        if exact:
            preflight = _exactly(run, barrier, bridges, preflight, recheck)
        run.recognise(preflight)
        # Where nothing was read since, a person may have thought about the plan for long.
        _perform_phases(run, barrier, bridges, run.start if exact else reread(run))
    except StoppedError as stop:
        run.stopped = str(stop)
    except Exception as error:  # of the plan nothing was sent, and whoever called says why
        _leave(barrier, lease)
        _closed(run, Result(plan, run.all_outcomes(), verified=False, stopped=str(error)))
        raise
    still_open = bridges.end()
    left = barrier.end()
    result = replace(_end(run, left, still_open), notes=bridges.interruptions())
    if lease is not None:
        lease.release()
    return _closed(run, result)


def _take(run: Run, lease: Lease | None) -> None:
    """Keep others away, or at least out of the way of whoever does so."""
    if lease is not None:
        lease.take()
        run.lease_guard = lease
    elif (claim := active_claim(run.start, time_of(run.environment.clock))) is not None:
        raise LeaseHeldError(claim)


def _leave(barrier: Barrier, lease: Lease | None) -> None:
    barrier.end()
    if lease is not None:
        lease.release()


def _exactly(
    run: Run, barrier: FixedWait | Proof, bridges: BridgeLifecycle, preflight: Preflight, recheck: Recheck | None
) -> Preflight:
    """What the plan is held against: a reading that cannot be old, by brokers that are as they were declared."""
    held = run.lease_guard.placed
    live = exact_read(run, [*barrier.placed, *held], preflight.request)
    run.start = without_bridges(live)
    barrier.trust(run.start)
    found = recheck(live) if recheck else preflight
    bridges.wished = found.bridges
    observed = observe(barrier, live) if isinstance(barrier, Proof) else Observed.UNSEEN
    compare(observed, found, run.plan.terms.cluster, declared=run.default_allow)
    bridges.take_over(live)
    if observed is Observed.OFF:
        bridges.tear_down("default-allow is off: it would grant what nothing else grants")
    elif observed is Observed.ON:
        bridges.build()
    return found


def _perform_phases(run: Run, barrier: Barrier, bridges: BridgeLifecycle, now: ClusterState) -> None:
    """All phases; ``now`` is the state as it was read just before the first one."""
    phases = bridges.stages()
    places = barriers({phase for phase, _ in phases})
    for number, (phase, steps) in enumerate(phases):
        live = reread(run) if number else now
        run.lease_guard.renew(live)
        bridges.check()
        if steps:
            _perform_phase(run, bridges, phase, steps, live)
        if run.environment.interrupted():
            return
        if phase is Phase.CREATE_FIRST and any(run.outcomes[step].outcome not in GOOD for step in steps):
            raise StoppedError("what has to come before everything else could not be created")
        following = phases[number + 1][0] if number + 1 < len(phases) else phase
        relied_on = bool(bridges.standing) or _unsettled(run, phases[number + 1 :])
        if any(phase <= place < following for place in places) and relied_on:
            barrier.stand()


def _unsettled(run: Run, phases: Sequence[tuple[Phase, list[Step]]]) -> bool:
    """Whether anything may still be sent that relies on what was sent before."""
    return any(step not in run.outcomes for _, steps in phases for step in steps)


def _perform_phase(run: Run, bridges: BridgeLifecycle, phase: Phase, steps: list[Step], live: ClusterState) -> None:
    run.environment.progress.phase(phase, len(steps))
    ready = _ready(run, phase, steps, live)
    run.environment.progress.sent(len(steps) - len(ready))
    for _, kind in groupby(ready, key=lambda step: type(step.change)):
        for batch in batches(phase, list(kind), len(live.bindings), run.environment.max_batch):
            if run.environment.interrupted():
                return
            bridges.check()
            _send(run, phase, batch)


def _ready(run: Run, phase: Phase, steps: list[Step], live: ClusterState) -> list[Step]:
    """The steps that are to be sent; the others get their outcome. One that was moved waits as its new phase does."""
    undone = run.undone()
    ready, settled = [], []
    for step in steps:
        if step in run.outcomes:
            continue
        found = standing(step, live)
        if found.standing is Standing.DONE:
            settled.append(StepOutcome(step, Outcome.ALREADY))
        elif found.standing is not Standing.PENDING:
            message = f"{found.subject}: expected {found.expected}, found {found.found}"
            settled.append(StepOutcome(step, Outcome.FAILED, "changed_meanwhile", message))
        elif (other := undone.holding_back(replace(step, phase=phase))) is not None:
            message = f"waits for “{describe(other)}”"
            settled.append(StepOutcome(step, Outcome.BLOCKED, message=message, blocked_by=other))
        else:
            ready.append(step)
    run.record_outcomes(settled)
    return ready


def _send(run: Run, phase: Phase, batch: Sequence[Step]) -> None:
    clock = run.environment.clock
    run.lease_guard.renew()
    number = run.record_intent(phase, batch)
    began = clock.monotonic()
    answers = send(run.environment.cluster, batch, clock)
    run.record_outcomes([_outcome(step, answer) for step, answer in zip(batch, answers, strict=True)], number)
    run.environment.progress.sent(len(batch))
    if any(answer.status is AnswerStatus.UNKNOWN for answer in answers):
        resolve_unknown(run, batch, number)
    if seconds := pause_after(phase, clock.monotonic() - began):
        clock.sleep(seconds)


def _outcome(step: Step, answer: Answer) -> StepOutcome:
    return StepOutcome(step, _OUTCOMES[answer.status], answer.code, answer.message)


def _end(run: Run, left: Sequence[AclBinding], bridges: Sequence[str]) -> Result:
    """Read until everything done shows, and name the rest.

    ``left`` are sentinels that could not be removed, ``bridges`` says which of those still stand, and why.
    """
    interrupted, stopped = run.environment.interrupted(), run.stopped
    differences = [f"{binding}: could not be removed; “reconciler cleanup” does" for binding in left]
    differences += bridges
    verified = False
    try:
        _, sight = await_visible(run)
        verified = True
        differences += (
            f"{describe(step.change)}: reported done, but the cluster does not show it" for step in sight.missing
        )
        differences += (f"meanwhile, by somebody else: {text}" for text in sight.foreign if not stopped)
        differences += recreated_topics(run)
    except StoppedError as stop:
        run.stopped = stopped or str(stop)
    return Result(
        plan=run.plan,
        outcomes=run.all_outcomes(),
        verified=verified,
        differences=tuple(differences),
        stopped=run.stopped,
        interrupted=interrupted,
    )


def _closed(run: Run, result: Result) -> Result:
    """Write down the end; a record that cannot be kept is part of the result."""
    record = records.ended(run.environment.identity.run, result, run.environment.clock.now())
    try:
        run.environment.journal.write(record)
        run.environment.audit.write(record)
    except RecordError as error:
        return replace(result, stopped=result.stopped or f"the end could not be written down: {error}")
    return result
