"""A journal read back, and lines of commands: whatever records there are, and however many."""

from itertools import product
from typing import Any, Final

import pytest

from reconciler.apply import records
from reconciler.apply.audit import AUDIT, about_command, cleaning
from reconciler.apply.environment import Identity, Outcome, Result, StepOutcome
from reconciler.apply.moves import Ending, PartitionEnd, TopicMove, cancelled, cancelling
from reconciler.apply.records import JOURNAL_FORMAT, JournalError, past_runs
from reconciler.model.listing import Create
from reconciler.model.topic import PartitionLayout, Topic
from reconciler.plan.file import ids
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms, bindings_after
from reconciler.plan.step import Step
from tests.property.transitions import DAY
from tests.worlds import acl

TIME: Final = "2026-01-01T00:00:00Z"
STEPS: Final = tuple(Step(Phase.CREATE_ALLOW, Create(acl(name, "User:a"))) for name in "xyz")
PLAN: Final = Plan("id", Terms("c"), Options(), DAY, STEPS, source_commit="abc", tool_version="1")


def opened(run: str) -> dict[str, Any]:
    identity = Identity(run, "dana", plan_ids=(f"change-{'1' * 64}", f"plan-{'2' * 64}"))
    return records.opened(PLAN, records.about_run(PLAN, identity), identity, TIME)


def outcomes(run: str, *found: Outcome) -> dict[str, Any]:
    return records.outcomes(run, 1, [StepOutcome(step, one) for step, one in zip(STEPS, found, strict=False)], TIME)


def test_what_is_known_of_each_step_is_what_the_last_record_says() -> None:
    every = (None, *Outcome)
    for first, last in product(every, repeat=2):
        journal = [opened("a"), records.intent("a", 1, Phase.CREATE_ALLOW, STEPS[:2], TIME)]
        journal += [outcomes("a", one) for one in (first, last) if one is not None]
        (run,) = past_runs(journal)
        known = last or first
        assert run.steps == {STEPS[0].id: known, STEPS[1].id: None}
        assert run.performed == ({STEPS[0].id} if known is Outcome.DONE else frozenset())
        doubtful = {STEPS[0].id} if known in (None, Outcome.UNKNOWN) else set()
        assert run.doubtful == {*doubtful, STEPS[1].id}
        assert not run.ended


def test_runs_are_told_apart_and_an_end_is_of_one() -> None:
    end = records.ended("b", Result(PLAN, (), verified=True), TIME)
    journal = [opened("b"), opened("a"), outcomes("a", Outcome.DONE), end, outcomes("b", Outcome.FAILED)]
    first, second = past_runs(journal)
    assert (first.run, first.ended, first.steps) == ("b", True, {STEPS[0].id: Outcome.FAILED})
    assert (second.run, second.ended, second.steps) == ("a", False, {STEPS[0].id: Outcome.DONE})
    told = (second.plan_id, second.cluster_id, second.operator, second.commit, second.time)
    assert told == (f"plan-{'2' * 64}", "id", "dana", "abc", TIME)
    assert past_runs([]) == ()


_NEWER: Final = {"record": "dream", "run": "a", "of": 1}


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (opened("b"), None),
        (_NEWER, None),
        ({**_NEWER, "run": "b"}, "is not one of a journal"),
        ({**_NEWER, "run": 7}, "is not one of a journal"),
        ({**_NEWER, "run": []}, "is not one of a journal"),
        ({**_NEWER, "record": 7}, "is not one of a journal"),
        ({**opened("b"), "format": JOURNAL_FORMAT + 1}, "was written by a newer version"),
        ({**opened("b"), "format": "2"}, "is not one of a journal"),
        ({**outcomes("a", Outcome.DONE), "format": JOURNAL_FORMAT + 1}, None),
        (outcomes("b", Outcome.DONE), "no run 'b' has begun"),
        (records.intent("b", 1, Phase.CREATE_ALLOW, STEPS, TIME), "no run 'b' has begun"),
        (records.ended("b", Result(PLAN, (), verified=True), TIME), "no run 'b' has begun"),
        (records.bridged(records.about_run(PLAN, Identity("a")), "create", (), "", TIME), None),
        (records.bridged(records.about_run(PLAN, Identity("b")), "create", (), "", TIME), "no run 'b' has begun"),
        (
            records.throttled(records.about_run(PLAN, Identity("b")), "set", "t", [2, 1], 5, TIME),
            "no run 'b' has begun",
        ),
        ({}, "is not one of a journal"),
    ],
)
def test_a_record_of_a_newer_version_is_passed_over_and_any_other_that_is_none_is_refused(
    record: dict[str, Any], why: str | None
) -> None:
    if why is None:
        assert past_runs([opened("a"), record])[0].run == "a"
        return
    with pytest.raises(JournalError, match=r"^record 2 is not one of a journal: ") as caught:
        past_runs([opened("a"), record])
    assert why in str(caught.value)


def test_a_run_is_known_by_the_ids_that_were_approved_else_by_those_of_its_plan() -> None:
    own = records.about_run(PLAN, Identity("a", "dana"))
    assert (own.change_id, own.plan_id) == ids(PLAN)
    assert (own.run, own.operator, own.cluster.id, own.cluster.name, own.commit) == ("a", "dana", "id", "c", "abc")
    given = records.about_run(PLAN, Identity("a", plan_ids=("change-x", "plan-x")))
    assert (given.change_id, given.plan_id) == ("change-x", "plan-x")
    assert len(bindings_after((), STEPS)) == 3


def test_the_end_counts_each_outcome_that_there_is() -> None:
    for count in range(4):
        found = [StepOutcome(step, Outcome.DONE) for step in STEPS[:count]]
        found += [StepOutcome(step, Outcome.FAILED) for step in STEPS[count:]]
        written = records.ended("a", Result(PLAN, tuple(found), verified=True, stopped="why", interrupted=True), TIME)
        expected = {"done": count, "failed": 3 - count}
        assert written["counts"] == {name: number for name, number in expected.items() if number}
        assert (written["stopped"], written["verified"], written["interrupted"]) == ("why", True, True)


ABOUT: Final = about_command(Identity("r", "dana"), "id", "c")


LOG: Final = {"id": "1", "host": "h", "path": None}


@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 1_000, 1_001])
def test_lines_about_what_is_removed_hold_so_many_bindings_and_none_is_lost(count: int) -> None:
    bindings = [acl(f"t{number:04}", "User:a") for number in range(count)]
    lines = cleaning(ABOUT, "remove", bindings, TIME)
    sizes = [len(line["bindings"]) for line in lines]
    assert sizes == [500] * (count // 500) + [count % 500] * bool(count % 500 or not count)
    again = [AUDIT.read({**line, "previous": f"sha256:{'0' * 64}", "log": LOG}).content for line in lines]
    assert [one for part in again for one in part.bindings] == bindings  # type: ignore[union-attr]
    assert {(part.action, part.about) for part in again} == {("remove", ABOUT)}  # type: ignore[union-attr]


@pytest.mark.parametrize("count", [0, 1, 999, 1_000, 1_001])
def test_lines_about_what_is_cancelled_say_where_each_partition_goes_and_what_became_of_it(count: int) -> None:
    moving = PartitionLayout((2, 3, 1), frozenset({1}), {}, (2, 3), (1,))
    resting = PartitionLayout((9,), frozenset({9}))
    lists = {"follower.replication.throttled.replicas": "0:2,0:3", "leader.replication.throttled.replicas": "0:1"}
    topics = (
        TopicMove("t", (moving, resting, *(moving,) * max(0, count - 1)) if count else (resting,)),
        TopicMove("marked", (moving,), Topic("marked", 1, 1, lists)),
        TopicMove("other", (moving,), Topic("other", 1, 1, dict.fromkeys(lists, "*"))),
    )
    before = cancelling(ABOUT, topics, TIME)
    numbers = [0, *range(2, count + 1)] if count else []
    places = [("t", number) for number in numbers] + [("marked", 0), ("other", 0)]
    ends = [PartitionEnd(*place, Ending.REFUSED, None, "NO", "words") for place in places]
    after = cancelled(ABOUT, topics, ends, ["it stays"], TIME)
    for lines, action, ending in ((before, "cancel", None), (after, "cancelled", "refused")):
        parts = [part for line in lines for part in line["partitions"]]
        assert [len(line["partitions"]) for line in lines[:-1]] == [1_000] * (len(lines) - 1)
        assert [(part["topic"], part["partition"]) for part in parts] == places
        assert {(tuple(part["target"]), tuple(part["cancelled"])) for part in parts} == {((2, 3), (1,))}
        assert {part.get("ending") for part in parts} == {ending}
        for line in lines:
            assert (line["action"], line["throttled"]) == (action, ["marked"])
            assert line["left"] == ([] if ending is None else ["it stays"])
