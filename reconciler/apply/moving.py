"""Changes that brokers accept at once and perform over hours: begun only where nothing moves, awaited, told truly.

What was accepted goes on in the brokers, whatever becomes of this run: the next one of the same plan waits for it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from reconciler.apply.answers import OUTCOMES, answered
from reconciler.apply.kinds import kind_of
from reconciler.apply.kinds.interface import Left
from reconciler.apply.outcome import Outcome, StepOutcome
from reconciler.apply.run import Run, StoppedError
from reconciler.apply.verification import read
from reconciler.model import ClusterState
from reconciler.plan import Step, StepState, describe
from reconciler.plan.observed import Observed
from reconciler.plan.observed_replicas import lacks_replicas
from reconciler.retry import polls

#: Seconds in which something has to move: a broker that is down holds a move up until it is back.
STALLED_SECONDS: Final = 600.0
#: The code of an outcome that ends the run: whatever holds this move up would hold up the next one.
STALLED: Final = "stalled"
#: Seconds in which nothing of a move that was accepted is told to be moving, though it is not where it should be.
CANCELLED_SECONDS: Final = 30.0
CANCELLED: Final = "cancelled"
_CANCELLED: Final = "brokers do not move it any more: somebody has cancelled it"
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 10.0
_GOES_ON: Final = "brokers accepted it and go on with it: apply the same plan again to wait for it"
_PERHAPS: Final = "whether brokers go on with it is not known: apply the same plan again to see"
_NOT_BEGUN: Final = "what had begun is moved, and the rest has not begun: apply the same plan again to go on"


def is_gradual(run: Run, step: Step) -> bool:
    """Whether brokers go on with a change after they accepted it."""
    return kind_of(step.change).left(step.change, run.start) is not None


def unchanged(run: Run, batch: Sequence[Step]) -> list[Step]:
    """The steps that are still to be done, read anew: what came before them may have taken hours."""
    live, ready, settled = read(run), [], []
    for step in batch:
        found = step.observed(live)
        if found.state in (StepState.PENDING, StepState.UNREADABLE):  # what hides, :func:`move` waits for
            ready.append(step)
        elif found.state is StepState.DONE:
            settled.append(StepOutcome(step, Outcome.ALREADY))
        else:
            message = f"{found.subject}: expected {found.expected}, found {found.found}"
            settled.append(StepOutcome(step, Outcome.FAILED, "changed_meanwhile", message))
    run.record_outcomes(settled)
    return ready


def move(run: Run, step: Step) -> StepOutcome:
    """Perform one gradual step, as much at a time as is permitted, and wait until brokers are through with each batch.

    What moves already is waited for and not sent again. It ends early where you ask to stop, where nothing moves for
    ``STALLED_SECONDS``, or where somebody else has changed what moves: then nothing is done, and nothing is undone.
    """
    environment, kind = run.environment, kind_of(step.change)
    while True:
        live = _settled(run, step)
        found = step.observed(live)
        if found.state is StepState.DONE:
            return StepOutcome(step, Outcome.DONE)
        if found.state is StepState.UNREADABLE:
            return StepOutcome(step, Outcome.UNKNOWN, "unreadable", f"{found.subject}: {found.found}; {_PERHAPS}")
        if found.state is not StepState.PENDING:
            message = f"{found.subject}: expected {found.expected}, found {found.found}"
            return StepOutcome(step, Outcome.FAILED, "changed_meanwhile", message)
        batch = kind.next_batch(step.change, live, environment.move_limits)
        if isinstance(batch, str):
            return StepOutcome(step, Outcome.FAILED, "not_begun", batch)
        if not batch.begun:
            if environment.interrupted():
                return StepOutcome(step, Outcome.UNKNOWN, "unfinished", _NOT_BEGUN)
            run.lease_guard.renew()
            (answer,) = answered(environment.cluster.send, [batch.change], environment.clock)
            if not answer.good:
                return StepOutcome(step, OUTCOMES[answer.status], answer.code, answer.message)
        if (early := _await_batch(run, step, replace(step, change=batch.change))) is not None:
            return early


def _settled(run: Run, step: Step) -> ClusterState:
    """The cluster once every replica of what is to move is seen and in sync, or after ``STALLED_SECONDS``.

    Between two batches a broker may restart: nothing more begins meanwhile.
    """
    told = False
    for _ in polls(run.environment.clock, STALLED_SECONDS):
        live = read(run)
        found = step.observed(live)
        hidden = found.state is StepState.UNREADABLE
        if not (lacks_replicas(found) or hidden) or run.environment.interrupted():
            break
        if not told:
            why = found.found if hidden else f"{found.found} in sync"
            run.environment.progress.note(f"{describe(step.change)}: waiting, {why}")
            told = True
        run.lease_guard.renew()
    return live


def _await_batch(run: Run, step: Step, part: Step) -> StepOutcome | None:
    """Wait for a batch of ``step``; why the step ends with it, ``None`` where brokers are through."""
    clock, progress = run.environment.clock, run.environment.progress
    told, since, pause = "", clock.monotonic(), _FIRST_PAUSE
    idle_since: float | None = None
    while True:
        now, left, found = _look(run, step, part)
        if found is not None and found.state is StepState.DONE:
            return None
        if found is not None and found.state is not StepState.PENDING:
            message = f"{found.subject}: expected {found.expected}, found {found.found}"
            return StepOutcome(step, Outcome.FAILED, "changed_meanwhile", message)
        if now != told:
            told, since = now, clock.monotonic()
            progress.moving(now, left.copied if left is not None else 0)
        # A broker that answers by what it knew may not show yet what another one has accepted or done.
        if left is None or left.moving:
            idle_since = None
        elif idle_since is None:
            idle_since = clock.monotonic()
        if idle_since is not None and clock.monotonic() - idle_since > CANCELLED_SECONDS:
            return StepOutcome(step, Outcome.FAILED, CANCELLED, _CANCELLED)
        if clock.monotonic() - since > STALLED_SECONDS:
            why = f"nothing moved for {STALLED_SECONDS / 60:.0f} minutes; {_GOES_ON}"
            return StepOutcome(step, Outcome.UNKNOWN, STALLED, why)
        if run.environment.interrupted():
            return StepOutcome(step, Outcome.UNKNOWN, "unfinished", _GOES_ON)
        run.lease_guard.renew()
        clock.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _look(run: Run, step: Step, part: Step) -> tuple[str, Left | None, Observed | None]:
    """What is left of a step, in words and as numbers, and what is found of the batch.

    A reading that fails, or does not show where the replicas are, tells nothing.
    """
    try:
        live = read(run)
    except StoppedError as error:
        return f"waiting; {error}", None, None
    found = part.observed(live)
    if found.state is StepState.UNREADABLE:
        return f"waiting; {found.subject}: {found.found}", None, None
    left = kind_of(step.change).left(step.change, live)
    if left is None:
        return "", None, found
    waiting = f", of which {left.waiting:,} wait" if left.waiting else ""
    count = left.moving + left.waiting
    words = f"{describe(step.change)}: {count:,} partitions left{waiting}, {_amount(left.copied)} to copy"
    return words, left, found


def _amount(size: int) -> str:
    for unit, divisor in (("GiB", 2**30), ("MiB", 2**20)):
        if size >= divisor:
            return f"{size / divisor:.1f} {unit}"
    return f"{size:,} bytes"
