"""Requests of steps to the cluster: written down, sent, repeated where that is safe, their outcomes written down.

Only answers that say "not applied, try again" are repeated. An unknown outcome is never repeated blindly: the state is
read first.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Final, NamedTuple, NoReturn

from reconciler.access.authorizer import Authorizer
from reconciler.apply.environment import Outcome, StepOutcome
from reconciler.apply.kinds import kind_of
from reconciler.apply.moves import STALLED, begin, is_gradual, move, settle, unchanged
from reconciler.apply.run import OUTCOMES, Run, StoppedError, answered, identified, resolve_unknown
from reconciler.apply.undo import still_empty
from reconciler.model.addresses import ANY_OTHER_HOST
from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.plan.kinds import describe
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Plan
from reconciler.plan.review.access_change import transition
from reconciler.plan.review.topics import BrokerAnswer, BrokerValidation, Ruling
from reconciler.plan.step import Step
from reconciler.ports import Answer, AnswerStatus, Clock, ClusterError, InspectableCluster, PipelinedWriter


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
        _finish(run, _Sent(batch, number, began, partial(_outcomes, run, batch, run.send)))
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
        return first.pop()() if first else run.send(changes)

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
        outcomes = sent.outcomes()
    except Exception as error:  # nothing says how far the request got, and the reading may fail as well
        run.stop(error)
        run.record_outcomes([StepOutcome(step, Outcome.UNKNOWN, "unexpected", run.stopped) for step in batch], number)
        resolve_unknown(run, batch, number)
        raise
    run.record_outcomes(identified(run, outcomes), number)
    run.environment.progress.sent(len(batch))
    if any(item.outcome is Outcome.UNKNOWN for item in outcomes):
        resolve_unknown(run, batch, number)
    change = batch[0].change
    if seconds := kind_of(change).pause_after(change, clock.monotonic() - sent.began):
        clock.sleep(seconds)


# How much goes into one request: what a broker takes without harm, as each kind knows, and no more than asked for.

#: What we and the brokers need on the cluster goes in one request, however small others are to be.
_UNDIVIDED: Final = frozenset({Phase.CREATE_FIRST, Phase.DELETE_LAST})


def batches(
    phase: Phase, steps: Sequence[Step], live: ClusterState, most: int | None = None
) -> Iterator[Sequence[Step]]:
    """Cut the steps of one phase into requests of one action each and at most ``most`` steps, order kept."""
    # Inside a phase steps are sorted by action, so equal actions are next to each other.
    for _, group in groupby(steps, key=lambda step: step.action):
        alike = list(group)
        for batch in kind_of(alike[0].change).batches(alike, live):
            size = len(batch) if most is None or phase in _UNDIVIDED else most
            yield from (batch[start : start + size] for start in range(0, len(batch), size))


# Ask a cluster in advance whether it would accept a plan's steps: in batches, with nothing performed (KIP-108).
#
# A refusal is about one step. Everything else (a time-out, a controller that failed, a policy plug-in that threw
# something else than ``PolicyViolationException``) says nothing about any step: it is reported as it came. If it is
# the answer to a whole request nothing more is asked: such a plug-in makes the controller resign each time (seen on
# 3.9; on 4.3 only its topic is affected).

_NO_RIGHT: Final = frozenset({"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"})
#: Refusals that are about the version of client or broker, not about the step.
_NO_WORD: Final = frozenset({"UNSUPPORTED_VERSION"})
_NOT_ASKED: Final = Answer(
    AnswerStatus.UNKNOWN, "not_asked", "not asked, because the cluster gave no answer about the steps before"
)


def validate(plan: Plan, live: ClusterState, cluster: InspectableCluster, clock: Clock) -> BrokerValidation:
    """Ask about every step that the cluster can be asked about."""
    now = clock.now()
    asked = [step for step in plan.steps if kind_of(step.change).right(step.change) is not None]
    answers: dict[Step, Answer] = {}
    lost = False
    # By action and not by phase: nothing is performed, so as few requests as possible do.
    by_action: dict[str, list[Step]] = {}
    for step in asked:
        by_action.setdefault(step.action, []).append(step)
    for steps in by_action.values():
        for batch in kind_of(steps[0].change).batches(steps, live):
            changes = [step.change for step in batch]
            batch_answers = [_NOT_ASKED] * len(batch) if lost else answered(cluster.validate, changes, clock)
            answers.update(zip(batch, batch_answers, strict=True))
            lost = lost or all(answer.status is AnswerStatus.UNKNOWN for answer in batch_answers)
    return BrokerValidation(now, tuple(_rulings(plan, live, ((step, answers[step]) for step in asked))))


def _rulings(plan: Plan, live: ClusterState, answers: Iterable[tuple[Step, Answer]]) -> Iterator[BrokerAnswer]:
    pairs = list(answers)
    lacking = any(answer.code in _NO_RIGHT for _, answer in pairs)
    after = _afterwards(plan, live) if lacking else None
    for step, answer in pairs:
        ruling = _ruling(answer)
        if ruling is Ruling.REFUSED and answer.code in _NO_RIGHT and _granted(step, plan, after):
            ruling = Ruling.AFTER_GRANT
        yield BrokerAnswer(step.id, describe(step.change), ruling, answer.code, answer.message, step.origin)


def _ruling(answer: Answer) -> Ruling:
    if answer.good:
        return Ruling.ACCEPTED
    # librdkafka's own errors begin with an underscore.
    of_itself = answer.code.startswith("_") or answer.code in _NO_WORD or answer.retriable
    return Ruling.UNKNOWN if answer.status is AnswerStatus.UNKNOWN or of_itself else Ruling.REFUSED


def _afterwards(plan: Plan, live: ClusterState) -> Authorizer | None:
    acl_transition = transition(live, plan.steps, plan.terms.facts, default_allow=plan.terms.default_allow)
    return acl_transition.after if acl_transition else None


def _granted(step: Step, plan: Plan, after: Authorizer | None) -> bool:
    """Whether the plan itself gives us the right that is missing now; ACLs come before all else."""
    principal, right = plan.terms.facts.principal, kind_of(step.change).right(step.change)
    if after is None or principal is None or right is None:
        return False
    return any(
        after.authorize(principal, ANY_OTHER_HOST, right.operation, *place).allowed is True for place in right.places
    )
