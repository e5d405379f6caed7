"""Whether a later step relies on what was sent: as long as one may still be sent, whatever became of others."""

from itertools import product

from reconciler.apply.barrier import FixedWait
from reconciler.apply.environment import Identity, Outcome, Progress, StepOutcome
from reconciler.apply.performing import _unsettled, perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment, Run
from reconciler.model.state import ClusterState
from reconciler.plan.proposal import bindings_after
from reconciler.snapshot.file import MemoryCluster
from tests.faults.scenario import plan_for
from tests.property.clock import StillClock
from tests.property.transitions import declared
from tests.worlds import acl

OLD = frozenset({acl("x", "User:a"), acl("x", "User:b"), acl("y", "User:a")})
NEW = frozenset({acl("x-", "User:a"), acl("z", "User:a")})
LIVE = ClusterState("cluster", OLD)
PLAN = plan_for(LIVE, declared(NEW, {}))


def test_a_step_without_an_outcome_may_still_be_sent() -> None:
    phases = [
        (phase, [step for step in PLAN.steps if step.phase is phase])
        for phase in dict.fromkeys(s.phase for s in PLAN.steps)
    ]
    assert len(phases) == 2
    for settled in product((True, False), repeat=len(PLAN.steps)):
        world = ApplyEnvironment(MemoryCluster(LIVE), StillClock(), Progress(), identity=Identity("run"))
        run = Run(PLAN, world, LIVE, False)
        run.outcomes.update(
            (step, StepOutcome(step, Outcome.DONE)) for step, one in zip(PLAN.steps, settled, strict=True) if one
        )
        assert _unsettled(run, phases) is (not all(settled))
        assert _unsettled(run, phases[1:]) is any(step not in run.outcomes for step in phases[1][1])
        assert _unsettled(run, []) is False


class Counted(FixedWait):
    """Counts the waits."""

    waits = 0

    def wait(self) -> None:
        Counted.waits += 1


def test_a_run_that_is_resumed_waits_before_what_is_left_of_a_phase() -> None:
    for done in product((True, False), repeat=len(OLD)):
        gone = [one for one, over in zip(sorted(OLD), done, strict=True) if over]
        live = ClusterState("cluster", OLD - {*gone})
        cluster = MemoryCluster(live)
        Counted.waits = 0
        world = ApplyEnvironment(cluster, StillClock(), Progress(), identity=Identity("run"), barrier=Counted)
        result = perform(PLAN, live, check(PLAN, live, PLAN.terms), world)
        assert result.succeeded
        assert cluster.state.bindings == bindings_after(OLD, PLAN.steps) == NEW
        assert Counted.waits == (0 if all(done) else 1)
