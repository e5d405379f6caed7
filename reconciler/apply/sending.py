"""One request of steps to the cluster: written down, sent, repeated where that is safe, its outcomes written down.

Only answers that say "not applied, try again" are repeated. An unknown outcome is never repeated blindly: the state is
read first.
"""

from collections.abc import Collection, Sequence

from reconciler.apply.answers import OUTCOMES, answered
from reconciler.apply.kinds import kind_of
from reconciler.apply.moving import STALLED, is_gradual, move, unchanged
from reconciler.apply.outcome import Outcome, StepOutcome
from reconciler.apply.run import Run, StoppedError
from reconciler.apply.throttle import begin, settle
from reconciler.apply.verification import resolve_unknown
from reconciler.plan import Phase, Step, describe
from reconciler.ports import Answer


def send(run: Run, phase: Phase, batch: Sequence[Step]) -> None:
    """Send steps of one kind of change; each has an outcome then, even if this raises, ``StoppedError`` or other."""
    cluster, clock, kind = run.environment.cluster, run.environment.clock, kind_of(batch[0].change)
    gradual = is_gradual(run, batch[0])
    if gradual and not (batch := unchanged(run, batch)):
        return
    if gradual and (problem := begin(run, batch)):
        run.record_outcomes([StepOutcome(step, Outcome.FAILED, "not_throttled", problem) for step in batch])
        return
    # To set a throttle takes a while, in which somebody may have begun another move.
    if gradual and run.environment.throttle is not None and not unchanged(run, batch):
        settle(run, batch)
        return
    # Before the intent: a run that has lost its lease must not even announce a request.
    run.lease_guard.renew()
    number = run.record_intent(phase, batch)
    began = clock.monotonic()
    try:
        if gradual:
            found = [move(run, step) for step in batch]
        else:
            answers = answered(cluster.send, [step.change for step in batch], clock)
            found = [
                StepOutcome(step, _outcome(answer, kind.REPEATED), answer.code, answer.message)
                for step, answer in zip(batch, answers, strict=True)
            ]
    except Exception as error:  # nothing says how far the request got, and the reading may fail as well
        run.stop(error)
        run.record_outcomes([StepOutcome(step, Outcome.UNKNOWN, "unexpected", run.stopped) for step in batch], number)
        resolve_unknown(run, batch, number)
        raise
    run.record_outcomes(found, number)
    if gradual:
        settle(run, batch)
    run.environment.progress.sent(len(batch))
    if any(run.outcomes[step].outcome is Outcome.UNKNOWN for step in batch):
        resolve_unknown(run, batch, number)
    if any(run.outcomes[step].code == STALLED for step in batch):
        raise StoppedError(f"{describe(batch[0].change)}: {run.outcomes[batch[0]].message}")
    if seconds := kind.pause_after(batch[0].change, clock.monotonic() - began):
        clock.sleep(seconds)


def _outcome(answer: Answer, repeated: Collection[str]) -> Outcome:
    """What an answer alone says: some refusals may be the answer to our own request, received twice (``REPEATED``)."""
    return Outcome.UNKNOWN if answer.code in repeated else OUTCOMES[answer.status]
