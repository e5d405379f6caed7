"""Perform a plan: phase by phase, each awaited, watched between, verified at the end.

Nothing here decides what to do: the plan does. A step that failed or is unknown holds back only what depends on it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from reconciler.apply.batches import batches, pause_behind
from reconciler.apply.outcome import GOOD, Outcome, Result, StepOutcome
from reconciler.apply.preflight import Preflight
from reconciler.apply.progress import Progress
from reconciler.apply.sending import pause, send
from reconciler.apply.watch import Sight, look
from reconciler.model import ClusterState
from reconciler.plan import Phase, Plan, Standing, Step, Undone, describe, standing, touched_topics
from reconciler.ports import Answer, Clock, Cluster, ClusterError, ReadRequest, Verdict

#: Seconds that a reading may take to show what was reported done: brokers apply ACLs after they were committed.
SETTLE_SECONDS: Final = 30.0

_NOT_SHOWN: Final = "reported done, but the cluster does not show it"

_OUTCOMES = {
    Verdict.DONE: Outcome.DONE,
    Verdict.ALREADY: Outcome.ALREADY,
    Verdict.FAILED: Outcome.FAILED,
    Verdict.UNKNOWN: Outcome.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class World:
    """What an apply needs of the world; ``interrupted`` turns true when a person asked to stop."""

    cluster: Cluster
    clock: Clock
    progress: Progress
    interrupted: Callable[[], bool] = lambda: False


@dataclass(slots=True)
class _Run:
    plan: Plan
    world: World
    start: ClusterState
    default_allow: bool | None
    outcomes: dict[Step, StepOutcome] = field(default_factory=dict)
    stopped: str = ""

    def told(self) -> tuple[StepOutcome, ...]:
        """An outcome for every step, in the plan's order."""
        return tuple(
            self.outcomes.get(step, StepOutcome(step, Outcome.NOT_ATTEMPTED, message=self.stopped))
            for step in self.plan.steps
        )


def perform(plan: Plan, start: ClusterState, preflight: Preflight, world: World) -> Result:
    """Perform ``plan`` on a cluster that was read as ``start`` and passed :func:`check`."""
    run = _Run(plan, world, start, plan.terms.default_allow)
    for step, finding in zip(plan.steps, preflight.findings, strict=True):
        if finding.standing is Standing.DONE:
            run.outcomes[step] = StepOutcome(step, Outcome.ALREADY)
    phases = [(phase, list(steps)) for phase, steps in groupby(plan.steps, key=lambda step: step.phase)]
    for number, (phase, steps) in enumerate(phases):
        live = _look_again(run) if number else start
        if live is None:
            break
        _perform_phase(run, phase, steps, live)
        if world.interrupted():
            break
        following = phases[number + 1][0] if number + 1 < len(phases) else phase
        if any(phase <= barrier < following for barrier in plan.barriers):
            world.progress.barrier(plan.terms.barrier_wait)
            world.clock.sleep(plan.terms.barrier_wait)
    return _end(run)


def _look_again(run: _Run) -> ClusterState | None:
    """Read before a phase; ``None`` and a reason in the run where the plan must not go on."""
    live, sight = _settle(run)
    if live is None:
        return None
    for step in sight.missing:
        run.outcomes[step] = StepOutcome(step, Outcome.UNKNOWN, "not_shown", _NOT_SHOWN)
    if sight.foreign:
        run.stopped = "somebody else changed what this plan touches: " + "; ".join(sight.foreign[:5])
        return None
    return live


def _settle(run: _Run) -> tuple[ClusterState | None, Sight]:
    """Read until everything that was reported done shows, for a bounded time; the last reading counts."""
    clock = run.world.clock
    deadline = clock.monotonic() + SETTLE_SECONDS
    attempt = 0
    while True:
        try:
            live = run.world.cluster.read(_request(run.plan))
        except ClusterError as error:
            run.stopped = f"the cluster could not be read again: {error}"
            return None, Sight((), ())
        sight = look(run.start, live, run.outcomes.values(), run.plan.steps)
        if not sight.missing or clock.monotonic() > deadline:
            return live, sight
        clock.sleep(pause(attempt, clock))
        attempt += 1


def _request(plan: Plan) -> ReadRequest:
    return ReadRequest(all_topics=False, topic_names=touched_topics(plan.steps))


def _perform_phase(run: _Run, phase: Phase, steps: list[Step], live: ClusterState) -> None:
    run.world.progress.phase(phase, len(steps))
    undone = Undone(
        (item.step.change for item in run.outcomes.values() if item.outcome not in GOOD),
        default_allow=run.default_allow,
    )
    ready = [step for step in steps if _ready(run, step, undone, live)]
    run.world.progress.sent(len(steps) - len(ready))
    for _, kind in groupby(ready, key=lambda step: type(step.change)):
        for batch in batches(phase, list(kind), len(live.bindings)):
            if run.world.interrupted():
                return
            _send(run, phase, batch)


def _ready(run: _Run, step: Step, undone: Undone, live: ClusterState) -> bool:
    """Whether the step is to be sent; gives those that are not their outcome."""
    if step in run.outcomes:
        return False
    found = standing(step, live)
    if found.standing is Standing.DONE:
        run.outcomes[step] = StepOutcome(step, Outcome.ALREADY)
    elif found.standing is not Standing.PENDING:
        message = f"{found.subject}: expected {found.expected}, found {found.found}"
        run.outcomes[step] = StepOutcome(step, Outcome.FAILED, "changed_meanwhile", message)
    elif (other := undone.holding_back(step)) is not None:
        run.outcomes[step] = StepOutcome(
            step, Outcome.BLOCKED, message=f"waits for “{describe(other)}”", blocked_by=other
        )
    else:
        return True
    return False


def _send(run: _Run, phase: Phase, batch: Sequence[Step]) -> None:
    clock = run.world.clock
    began = clock.monotonic()
    answers = send(run.world.cluster, batch, clock)
    for step, answer in zip(batch, answers, strict=True):
        run.outcomes[step] = _outcome(step, answer)
    run.world.progress.sent(len(batch))
    if any(answer.verdict is Verdict.UNKNOWN for answer in answers):
        _resolve(run, batch)
    if seconds := pause_behind(phase, clock.monotonic() - began):
        clock.sleep(seconds)


def _outcome(step: Step, answer: Answer) -> StepOutcome:
    return StepOutcome(step, _OUTCOMES[answer.verdict], answer.code, answer.message)


def _resolve(run: _Run, batch: Sequence[Step]) -> None:
    """Read again after an unknown outcome: what shows is done, the rest stays unknown."""
    run.world.progress.note("an outcome is unknown; reading the cluster again")
    try:
        live = run.world.cluster.read(_request(run.plan))
    except ClusterError as error:
        run.world.progress.note(f"the cluster could not be read: {error}")
        return
    for step in batch:
        unknown = run.outcomes[step].outcome is Outcome.UNKNOWN
        if unknown and standing(step, live).standing is Standing.DONE:
            run.outcomes[step] = StepOutcome(step, Outcome.DONE)


def _end(run: _Run) -> Result:
    """Read until everything done shows, and name the rest."""
    interrupted = run.world.interrupted()
    stopped = run.stopped
    live, sight = _settle(run)
    differences = [
        f"{describe(step.change)}: reported done, but the cluster does not show it" for step in sight.missing
    ]
    differences += [f"meanwhile, by somebody else: {text}" for text in sight.foreign if not stopped]
    return Result(
        plan=run.plan,
        outcomes=run.told(),
        verified=live is not None,
        differences=tuple(differences),
        stopped=stopped or run.stopped,
        interrupted=interrupted,
    )
