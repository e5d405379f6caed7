"""Requests of steps to the cluster: written down, sent, repeated where that is safe, their outcomes written down.

Only answers that say "not applied, try again" are repeated. An unknown outcome is never repeated blindly: the state is
read first.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, NoReturn

from reconciler.apply.answers import OUTCOMES, answered
from reconciler.apply.kinds import kind_of
from reconciler.apply.moving import STALLED, is_gradual, move, unchanged
from reconciler.apply.outcome import Outcome, StepOutcome
from reconciler.apply.recreated_topics import still_empty
from reconciler.apply.run import Run, StoppedError
from reconciler.apply.throttle import begin, settle
from reconciler.apply.verification import identified, resolve_unknown
from reconciler.model import Change
from reconciler.plan import Phase, Step, describe
from reconciler.ports import Answer, ClusterError, PipelinedWriter


class _Sent(NamedTuple):
    """A request of which the answers are due; ``outcomes`` waits for them. ``number`` is that of its batch."""

    batch: Sequence[Step]
    number: int
    began: float
    outcomes: Callable[[], list[StepOutcome]]


def send(run: Run, phase: Phase, batches: Iterable[Sequence[Step]], ready: Callable[[], None]) -> None:
    """Send batches of one kind of change each, ``ready`` called before each.

    What was sent has an outcome then, even if this raises, ``StoppedError`` or other. Steps of one phase wait for none
    of it, so as many requests as the kind permits are on their way at a time.
    """
    waiting: deque[_Sent] = deque()
    try:
        for batch in batches:
            ready()
            pipeline, most = run.environment.pipeline, kind_of(batch[0].change).in_flight(batch[0].change)
            while len(waiting) >= most:
                _finish(run, waiting.popleft())
            if pipeline is None or most == 1:
                _send_alone(run, phase, batch)
            else:
                waiting.append(_begun(run, phase, batch, pipeline))
                # What reads next loads while the broker works. Not where a phase takes long: what it is told ages.
                run.environment.prepare()
        while waiting:
            _finish(run, waiting.popleft())
    except Exception:
        for sent in waiting:
            with suppress(Exception):  # the first reason counts, and each outcome is known by then
                _finish(run, sent)
        raise


def _send_alone(run: Run, phase: Phase, batch: Sequence[Step]) -> None:
    """Send a batch and wait: for its answers, and for what brokers go on with after them."""
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
    if not (batch := still_empty(run, batch)):
        return
    number, began = _announced(run, phase, batch)
    if gradual:
        _finish(run, _Sent(batch, number, began, lambda: [move(run, step) for step in batch]))
        settle(run, batch)
    else:
        _finish(run, _Sent(batch, number, began, partial(_outcomes, run, batch, run.environment.cluster.send)))
    if any(run.outcomes[step].code == STALLED for step in batch):
        raise StoppedError(f"{describe(batch[0].change)}: {run.outcomes[batch[0]].message}")


def _begun(run: Run, phase: Phase, batch: Sequence[Step], pipeline: PipelinedWriter) -> _Sent:
    """Send a batch; what may be tried again is, one request after the other, once its answers are there."""
    number, began = _announced(run, phase, batch)
    try:
        first = [pipeline.begin(run.changes(batch))]
    except ClusterError as error:
        first = [partial(_raised, error)]
    except Exception as error:  # no more is sent
        _finish(run, _Sent(batch, number, began, partial(_raised, error)))
        raise

    def call(changes: Sequence[Change]) -> list[Answer]:
        return first.pop()() if first else run.environment.cluster.send(changes)

    return _Sent(batch, number, began, partial(_outcomes, run, batch, call))


def _raised(error: Exception) -> NoReturn:
    raise error


def _announced(run: Run, phase: Phase, batch: Sequence[Step]) -> tuple[int, float]:
    # Before the intent: a run that has lost its lease must not even announce a request.
    run.lease_guard.renew()
    for guard in run.send_guards:
        guard.check()
    return run.record_intent(phase, batch), run.environment.clock.monotonic()


def _outcomes(run: Run, batch: Sequence[Step], call: Callable[[Sequence[Change]], list[Answer]]) -> list[StepOutcome]:
    """What the answers alone say: some refusals may answer our own request, received twice (``REPEATED``)."""
    repeated = kind_of(batch[0].change).REPEATED
    answers = answered(call, run.changes(batch), run.environment.clock)
    return [
        StepOutcome(
            step,
            Outcome.UNKNOWN if answer.code in repeated else OUTCOMES[answer.status],
            answer.code,
            answer.message,
        )
        for step, answer in zip(batch, answers, strict=True)
    ]


def _finish(run: Run, sent: _Sent) -> None:
    """Wait for the answers to a request, and record the outcomes."""
    batch, number, clock = sent.batch, sent.number, run.environment.clock
    try:
        found = sent.outcomes()
    except Exception as error:  # nothing says how far the request got, and the reading may fail as well
        run.stop(error)
        run.record_outcomes([StepOutcome(step, Outcome.UNKNOWN, "unexpected", run.stopped) for step in batch], number)
        resolve_unknown(run, batch, number)
        raise
    run.record_outcomes(identified(run, found), number)
    run.environment.progress.sent(len(batch))
    if any(item.outcome is Outcome.UNKNOWN for item in found):
        resolve_unknown(run, batch, number)
    change = batch[0].change
    if seconds := kind_of(change).pause_after(change, clock.monotonic() - sent.began):
        clock.sleep(seconds)
