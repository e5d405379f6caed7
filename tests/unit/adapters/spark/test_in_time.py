"""Units that are worked on side by side, each within its time."""

import os
import signal
import threading
import time
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path

import pytest

from reconciler.parts.fleet.engine import ForkingEngine, LocalEngine, TaskFailedError, in_time
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

    for engine in (LocalEngine(), ForkingEngine()):
        for lists in ([["a"]], [["a"], ["b"]]):
            with pytest.raises(TaskFailedError, match=r"a task failed: FileNotFoundError.*: no such place"):
                engine.run(lists, fails, "fail")


def test_processes_answer_in_order_each_with_what_this_one_has(tmp_path: Path) -> None:
    """As soon as each has answered it ends, with a thread in it that never does; and it says how far it is."""
    here, heard = os.getpid(), list[int]()

    def work(units: Sequence[int], attempt: str) -> list[str]:
        threading.Thread(target=lambda: time.sleep(600)).start()
        while units == range(3) and not (tmp_path / "late").exists():  # the first list ends after the last began
            time.sleep(0.01)
        if units == range(9, 12):
            (tmp_path / "late").touch()
        return [f"{number} {attempt} {os.getpid() != here}" for number in units]

    engine = ForkingEngine(lambda _doing, ended, _size, _counts: heard.append(ended))
    lists = [range(first, first + 3) for first in range(0, 12, 3)]
    lines = engine.run(lists, work, "count", tally=lambda line: {"lines": 1})
    assert lines == [f"{number} local-{number // 3} True" for number in range(12)]
    assert heard == [3, 6, 9, 12]


def test_a_process_that_is_killed_ends_the_run_and_the_other_processes(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.touch()

    def work(units: Sequence[int], _: str) -> list[str]:
        with pids.open("a") as file:
            file.write(f"{os.getpid()}\n")
        while pids.read_text().count("\n") < 2:
            time.sleep(0.01)
        if units == [1]:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(600)
        return []

    with pytest.raises(TaskFailedError, match="the process of a task was killed"):
        ForkingEngine().run([[0], [1]], work, "sleep")
    for pid in pids.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_a_process_whose_reader_is_killed_ends(tmp_path: Path) -> None:
    """Also with an answer that no pipe holds."""
    begun, go = tmp_path / "begun", tmp_path / "go"
    begun.touch()

    def work(_: Sequence[int], attempt: str) -> list[str]:
        with begun.open("a") as file:
            file.write(f"{os.getpid()}\n")
        while not go.exists():
            time.sleep(0.01)
        return ["x" * 2**20]

    driver = get_context("fork").Process(target=lambda: ForkingEngine().run([[0], [1]], work, "wait"))
    driver.start()
    while begun.read_text().count("\n") < 2:
        time.sleep(0.01)
    driver.kill()
    driver.join()
    go.touch()
    deadline = time.monotonic() + 60
    for pid in begun.read_text().split():
        while Path(f"/proc/{pid}").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_what_is_empty_stays_empty() -> None:
    assert list(in_time([], str, 4, 1.0)) == []
