"""Changes that brokers accept at once and perform over hours: begun only where nothing moves, awaited, told truly.

What was accepted goes on in the brokers, whatever becomes of this run: the next one of the same plan waits for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from reconciler.apply.kinds import kind_of
from reconciler.apply.kinds.interface import Left
from reconciler.apply.outcome import Outcome, StepOutcome
from reconciler.apply.run import Run, StoppedError
from reconciler.apply.verification import read
from reconciler.plan import Step, StepState, describe

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


def is_gradual(run: Run, step: Step) -> bool:
    """Whether brokers go on with a change after they accepted it."""
    return kind_of(step.change).left(step.change, run.start) is not None


def unchanged(run: Run, batch: Sequence[Step]) -> list[Step]:
    """The steps that are still to be done, read anew: what came before them may have taken hours."""
    live, ready, settled = read(run), [], []
    for step in batch:
        found = step.observed(live)
        if found.state is StepState.PENDING:
            ready.append(step)
        elif found.state is StepState.DONE:
            settled.append(StepOutcome(step, Outcome.ALREADY))
        else:
            message = f"{found.subject}: expected {found.expected}, found {found.found}"
            settled.append(StepOutcome(step, Outcome.FAILED, "changed_meanwhile", message))
    run.record_outcomes(settled)
    return ready


def await_finished(run: Run, found: Sequence[StepOutcome]) -> list[StepOutcome]:
    """The outcomes once brokers are through: what was accepted is done only then.

    It ends early where you ask to stop, where nothing moves for ``STALLED_SECONDS``, or where somebody else has
    changed what moves: then nothing is done, and nothing is undone.
    """
    clock, progress = run.environment.clock, run.environment.progress
    waiting = {item.step: item for item in found if item.outcome is Outcome.DONE}
    told, since, pause = "", clock.monotonic(), _FIRST_PAUSE
    idle_since: float | None = None
    while waiting:
        now, finished, left = _look(run, waiting)
        for step in finished:
            del waiting[step]
        if not waiting:
            break
        if now != told:
            told, since = now, clock.monotonic()
            progress.moving(now, sum(one.copied for one in left))
        # A broker that answers by what it knew may not show yet what another one has accepted or done.
        if any(one.partitions for one in left):
            idle_since = None
        elif left and idle_since is None:
            idle_since = clock.monotonic()
        if left and idle_since is not None and clock.monotonic() - idle_since > CANCELLED_SECONDS:
            return [_gone(waiting.get(item.step, item), waiting) for item in found]
        stalled = clock.monotonic() - since > STALLED_SECONDS
        if stalled or run.environment.interrupted():
            why = f"nothing moved for {STALLED_SECONDS / 60:.0f} minutes; {_GOES_ON}" if stalled else _GOES_ON
            code = STALLED if stalled else "unfinished"
            unfinished = {
                step: replace(item, outcome=Outcome.UNKNOWN, code=code, message=why) for step, item in waiting.items()
            }
            return [unfinished.get(item.step, item) for item in found]
        run.lease_guard.renew()
        clock.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    return list(found)


def _gone(item: StepOutcome, waiting: Mapping[Step, StepOutcome]) -> StepOutcome:
    if item.step not in waiting:
        return item
    return replace(item, outcome=Outcome.FAILED, code=CANCELLED, message=_CANCELLED)


def _look(run: Run, waiting: dict[Step, StepOutcome]) -> tuple[str, list[Step], list[Left]]:
    """What is left, in words and as numbers, and the steps that nobody has to wait for.

    A reading that fails tells nothing.
    """
    try:
        live = read(run)
    except StoppedError as error:
        return f"waiting; {error}", [], []
    left = {step: kind_of(step.change).left(step.change, live) for step in waiting}
    # Done, or changed by somebody else: what the last reading shows decides at the end of the run.
    through = [step for step in waiting if step.observed(live).state is not StepState.PENDING]
    words = [
        f"{describe(step.change)}: {one.partitions:,} partitions left, {_amount(one.copied)} to copy"
        for step, one in left.items()
        if one is not None and step not in through
    ]
    return "; ".join(words), through, [one for step, one in left.items() if one is not None and step not in through]


def _amount(size: int) -> str:
    for unit, divisor in (("GiB", 2**30), ("MiB", 2**20)):
        if size >= divisor:
            return f"{size / divisor:.1f} {unit}"
    return f"{size:,} bytes"
