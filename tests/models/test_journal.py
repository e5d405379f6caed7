"""The machine that follows every run of the tests: what it takes, and each thing that it refuses."""

import os
import signal
from collections.abc import Sequence
from copy import copy
from typing import Any

import pytest

from reconciler.apply import performing
from reconciler.apply.environment import Outcome, Progress
from reconciler.apply.performing import perform
from reconciler.apply.preflight import check
from reconciler.apply.run import ApplyEnvironment, Run
from reconciler.snapshot.file import MemoryCluster
from tests.faults.scenario import before, plan_for, wish
from tests.models.journal import Trace, written_in
from tests.prepared import prepared
from tests.property.clock import StillClock

RUN = {"record": "run"}
END = {"record": "end"}


def intent(batch: int, phase: int, *steps: str) -> dict[str, Any]:
    return {"record": "intent", "batch": batch, "phase": phase, "steps": steps}


def outcomes(batch: int | None, outcome: str, *steps: str) -> dict[str, Any]:
    return {"record": "outcomes", "batch": batch, "outcomes": [{"step": step, "outcome": outcome} for step in steps]}


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (
            [
                RUN,
                intent(1, 4, "a"),
                ["a"],
                outcomes(1, "done", "a"),
                "wait",
                intent(2, 9, "b"),
                ["b"],
                outcomes(2, "unknown", "b"),
                outcomes(2, "done", "b"),
                outcomes(None, "blocked", "c"),
                END,
            ],
            None,
        ),
        ([intent(1, 4, "a")], "intent in a journal that is new"),
        ([RUN, RUN], "run in a journal that is running"),
        ([RUN, END, intent(1, 4, "a")], "intent after the end"),
        ([RUN, ["a"]], "a sent without an intent"),
        ([RUN, intent(1, 4, "a"), ["b"]], "b sent without an intent"),
        ([RUN, intent(1, 4, "a"), outcomes(1, "done", "a"), ["a"]], "a sent without an intent"),
        ([RUN, intent(1, 4, "a"), END], "the end, while answers to batches [1] are due"),
        ([RUN, intent(2, 4, "a")], "batch 2 after batch 0"),
        ([RUN, intent(1, 4, "a"), intent(2, 4, "a")], "a announced twice"),
        ([RUN, intent(1, 4, "a"), intent(2, 5, "b")], "phase 5 while answers to batches [1] are due"),
        ([RUN, intent(1, 4, "a"), "wait"], "a wait for brokers while answers to batches [1] are due"),
        (
            [RUN, intent(1, 4, "a"), outcomes(1, "done", "a"), intent(2, 9, "b")],
            "phase 9 without a wait for brokers after phases [4]",
        ),
        ([RUN, intent(1, 9, "a"), outcomes(1, "done", "a"), "wait", intent(2, 4, "b")], "phase 4 after phase 9"),
        ([RUN, outcomes(1, "done", "a")], "outcomes of batch 1, which was not announced so"),
        ([RUN, intent(1, 4, "a"), outcomes(1, "done", "b")], "outcomes of batch 1, which was not announced so"),
        ([RUN, outcomes(None, "done", "a")], "outcomes {'a': 'done'} of what was never sent"),
    ],
)
def test_each_break_of_the_protocol_is_found(events: list[Any], said: str | None) -> None:
    trace = Trace()
    for event in events:
        if event == "wait":
            trace.waited()
        elif isinstance(event, list):
            trace.send(event)
        else:
            trace.take(event)
    assert trace.problems[:1] == ([] if said is None else [said])


class _Kept:
    def write(self, *records: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("fault", "said"), [("none", ""), ("no intent", "not announced so"), ("no wait", "without a wait for brokers")]
)
def test_a_run_that_forgets_a_part_of_it_is_found(
    fault: str, said: str, runs_followed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hooks see what the product does: with a fault put into it they say so, without one nothing."""
    if fault == "no intent":
        monkeypatch.setattr(Run, "record_intent", lambda run, phase, steps: run.batches)
    if fault == "no wait":
        monkeypatch.setattr(performing, "waits", _never)
    _performed()
    found, runs_followed[:] = list(runs_followed), []
    assert any(said in problem for problem in found) is bool(said)


def _never(phases: Sequence[Any]) -> tuple[bool, ...]:
    return (False,) * len(phases)


def _performed() -> None:
    cluster, plan = MemoryCluster(before(1)), plan_for(before(1), wish(1))
    world = ApplyEnvironment(cluster, StillClock(), Progress(), journal=_Kept())
    result = perform(plan, cluster.state, check(plan, cluster.state, plan.terms), world)
    assert all(item.outcome is Outcome.DONE for item in result.outcomes)


def test_a_run_in_a_process_of_its_own_is_followed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBLEMS", "wanted")
    assert prepared().run("tests.models.test_journal") == -signal.SIGKILL
    found = written_in(prepared().home, "wanted")
    assert any("without a wait for brokers" in problem for problem in found)
    assert all("test_journal" in problem for problem in found)


def test_what_a_command_breaks_is_a_problem_of_the_worker_that_ran_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBLEMS", "wanted")
    worker, other = prepared(), copy(prepared())
    other.join(0)
    assert other.run("tests.models.test_journal") == -signal.SIGKILL
    assert written_in(worker.home, "wanted") == []
    assert written_in(other.home, "wanted")


if __name__ == "__main__":  # such a process
    vars(performing)["waits"] = _never
    _performed()
    os.kill(os.getpid(), signal.SIGKILL)
