"""What a run says at its end: of what it could not remove, of what does not show, of others, and of its own stop."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from reconciler.apply.environment import Identity, Outcome, Progress, StepOutcome
from reconciler.apply.performing import _close, _end
from reconciler.apply.run import FOREIGN_SECONDS, VISIBLE_SECONDS, ApplyEnvironment, Run, StoppedError
from reconciler.model.acl import AclBinding
from reconciler.model.state import ClusterState
from reconciler.plan.kinds import describe
from reconciler.ports import ClusterError, ReadRequest
from reconciler.snapshot.file import MemoryCluster
from tests.faults.scenario import plan_for
from tests.property.clock import StillClock
from tests.property.transitions import declared
from tests.worlds import acl

OLD, NEW, OTHER = acl("old", "User:a"), acl("new", "User:a"), acl("new", "User:stranger")
LIVE = ClusterState("cluster", frozenset({OLD}))
PLAN = plan_for(LIVE, declared(frozenset({NEW}), {}))
SENTINEL = acl("__kr.run.1", "User:probe")


class Last(MemoryCluster):
    """What the last reading shows, or how it ends."""

    error: Exception | None = None

    def read(self, request: ReadRequest) -> ClusterState:
        if self.error is not None:
            raise self.error
        return super().read(request)


def _run(bindings: set[AclBinding], *, interrupted: bool = False) -> tuple[Run, Last, StillClock]:
    cluster, clock = Last(ClusterState("cluster", frozenset(bindings))), StillClock()
    world = ApplyEnvironment(cluster, clock, Progress(), lambda: interrupted, identity=Identity("run"))
    run = Run(PLAN, world, LIVE, False)
    run.outcomes.update((step, StepOutcome(step, Outcome.DONE)) for step in PLAN.steps)
    return run, cluster, clock


@pytest.mark.parametrize("interrupted", [False, True])
@pytest.mark.parametrize("stopped", [False, True])
def test_what_does_not_show_and_what_others_did_is_named_and_of_a_stopped_run_only_its_own(
    stopped: bool, interrupted: bool
) -> None:
    for created, deleted, foreign in product((True, False), repeat=3):
        there = {*([NEW] if created else []), *([] if deleted else [OLD]), *([OTHER] if foreign else [])}
        run, _, clock = _run(there, interrupted=interrupted)
        if stopped:
            run.stop(StoppedError("enough"))
        result = _end(run, (), ())
        missing = {
            f"{describe(step.change)}: reported done, but the cluster does not show it"
            for step in PLAN.steps
            if not (created if step.change.before is None else deleted)
        }
        others = {f"meanwhile, by somebody else: {OTHER} appeared"} if foreign and not stopped else set()
        unmet = [text for text in result.differences if text.startswith("reviewed, and not in force: User:a")]
        assert len(unmet) == (not created)
        assert sorted({*result.differences} - {*unmet}) == sorted(missing | others)
        assert len(result.differences) == len(missing | others | {*unmet})
        assert (result.verified, result.interrupted) == (True, interrupted)
        assert result.stopped == ("enough" if stopped else "")
        assert [item.outcome for item in result.outcomes] == [Outcome.DONE] * len(PLAN.steps)
        # What others did ends the wait for what does not show.
        longest = 0.0 if not missing else FOREIGN_SECONDS if foreign else VISIBLE_SECONDS
        assert clock.seconds <= longest + 10
        assert clock.seconds > 0 or not missing


def test_what_could_not_be_removed_comes_first_and_then_what_may_still_come() -> None:
    run, _, _ = _run({NEW})
    run.in_doubt[SENTINEL] = None
    removed, bridge, doubt = _end(run, (SENTINEL,), ("the bridge on TOPIC x is still there",)).differences
    assert removed == f"{SENTINEL}: could not be removed; “reconciler cleanup” does"
    assert bridge == "the bridge on TOPIC x is still there"
    assert doubt.startswith("no answer came to a request that creates 1 bindings")
    run.still_throttled["topic t"] = "topic t stays throttled"
    assert _end(run, (), ()).differences[1:] == ("topic t stays throttled",)


@pytest.mark.parametrize("error", [ClusterError("_TRANSPORT", "gone"), TypeError("bad")])
def test_a_last_reading_that_ends_badly_verifies_nothing_and_the_first_reason_counts(error: Exception) -> None:
    run, cluster, _ = _run({NEW})
    cluster.error = error
    result = _end(run, (), ())
    assert not result.verified
    assert (
        "the cluster could not be read again" if isinstance(error, ClusterError) else "TypeError: bad"
    ) in result.stopped
    run, cluster, _ = _run({NEW})
    cluster.error = error
    run.stop(StoppedError("enough"))
    assert _end(run, (), ()).stopped == "enough"


class Full:
    """Cannot be written."""

    def write(self, *records: Mapping[str, Any]) -> None:
        raise OSError("no space")


@pytest.mark.parametrize("where", ["journal", "audit"])
def test_an_end_that_cannot_be_written_down_is_no_success(where: str) -> None:
    run, cluster, clock = _run({NEW})
    fine = _end(run, (), ())
    assert _close(run, fine) == fine
    world = ApplyEnvironment(cluster, clock, Progress(), identity=Identity("run"))
    run.environment = replace(world, journal=Full()) if where == "journal" else replace(world, audit=Full())
    assert _close(run, fine).stopped == "the end could not be written down: OSError: no space"
    assert not _close(run, fine).succeeded
    run.stop(StoppedError("enough"))
    assert _close(run, _end(run, (), ())).stopped == "enough"
