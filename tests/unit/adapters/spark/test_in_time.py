"""Units that are worked on side by side, each within its time."""

import threading
from collections.abc import Sequence

import pytest

from reconciler.parts.fleet.engine import LocalEngine, TaskFailedError, in_time
from tests.unit.workflow.killed_fleets import InTurn


def test_what_does_not_end_in_time_is_none_and_the_rest_is_done() -> None:
    stuck = threading.Event()

    def work(number: int) -> str:
        if number in {1, 2, 5}:
            stuck.wait(60)
        return str(number)

    try:
        found = sorted(in_time(range(7), work, 2, 0.5))
    finally:
        stuck.set()
    assert found == [(0, "0"), (1, None), (2, None), (3, "3"), (4, "4"), (5, None), (6, "6")]


def test_one_that_takes_long_holds_back_no_other() -> None:
    stuck = threading.Event()
    try:
        found = list(in_time(range(6), lambda number: stuck.wait(60) if number == 0 else True, 2, 3.0))
    finally:
        stuck.set()
    assert found == [*((number, True) for number in range(1, 6)), (0, None)]


def test_so_much_work_is_in_each_task_however_many_cores_are_there_now() -> None:
    none, many = InTurn(2), InTurn(64)
    assert [none.task_count(size, 16) for size in (0, 1, 16, 1_000)] == [2, 2, 2, 63]
    assert [many.task_count(size, 16) for size in (1, 1_000, 10_000)] == [64, 64, 625]


def test_what_fails_in_a_task_of_this_process_is_a_reason_like_any_other() -> None:
    """As on Spark; an apply then says that the outcomes are unknown."""

    def fails(units: Sequence[str], attempt: str) -> list[str]:
        raise FileNotFoundError("no such place")

    for lists in ([["a"]], [["a"], ["b"]]):
        with pytest.raises(TaskFailedError, match=r"a task failed: FileNotFoundError.*: no such place"):
            LocalEngine().run(lists, fails, "fail")


def test_what_is_empty_stays_empty() -> None:
    assert list(in_time([], str, 4, 1.0)) == []
