"""Lists of units over Spark's tasks, without a shuffle: task *n* gets list *n*, and returns lines of text.

A task that is lost is run again by Spark, and only the lines of the attempt that ended well come back: nothing is lost
and nothing doubled, as long as what a task does may be done twice.
"""

import json
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswerError
from typing import Any, Final, TypeVar

from pyspark import TaskContext, cloudpickle
from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
R = TypeVar("R")
#: What runs in a task: the units of one list and the attempt's name in; lines out.
Work = Callable[[Sequence[T], str], Iterable[str]]

#: How many tasks each core gets: enough for a heavy one to be evened out, few enough to cost nothing.
TASKS_PER_CORE: Final = 4
#: Starting a task takes some 40 ms, in which a core compares 100,000 rows: a task has to be worth that.
ROWS_IN_A_TASK: Final = 500_000


def task_count(session: SparkSession, rows: int | None = None) -> int:
    """Into how many lists a whole fleet is worth being shared out, or so many rows of one."""
    cores = int(session.sparkContext.defaultParallelism)
    most = TASKS_PER_CORE * cores
    return most if rows is None else max(cores, min(most, rows // ROWS_IN_A_TASK))


def run_tasks(session: SparkSession, lists: Sequence[Sequence[T]], work: Work[T]) -> list[str]:
    """Run ``work`` on each list in a task of its own; all lines, in the order of the lists."""
    if not lists:
        return []
    context = session.sparkContext
    # Through a broadcast each worker gets the lists once, and a task's description stays small.
    # (Broadcasts use plain pickle, which does not know what a script defines itself; this one does.)
    shared = context.broadcast([_pickled(part) for part in lists])

    def task(number: int, _: Iterable[int]) -> Iterator[str]:
        here = TaskContext.get()
        attempt = f"{here.stageId()}-{here.taskAttemptId()}" if here else "driver"
        yield from work(cloudpickle.loads(shared.value[number]), attempt)

    try:
        # Not mapInArrow, which wants pandas: what passes through Spark here is a line for each unit, no data.
        lines: list[str] = context.parallelize(range(len(lists)), len(lists)).mapPartitionsWithIndex(task).collect()
    finally:
        shared.unpersist()
    return lines


def task_frame(session: SparkSession, lists: Sequence[Sequence[T]], work: Work[T], schema: str) -> DataFrame:
    """What ``work`` says of each list as rows, a line of JSON each with the columns of ``schema``; done when asked."""
    if not lists:
        return session.createDataFrame([], schema)
    context = session.sparkContext
    shared = context.broadcast([_pickled(part) for part in lists])

    def task(number: int, _: Iterable[int]) -> Iterator[tuple[Any, ...]]:
        for line in work(cloudpickle.loads(shared.value[number]), str(number)):
            yield tuple(json.loads(line))

    rows = context.parallelize(range(len(lists)), len(lists)).mapPartitionsWithIndex(task)
    return session.createDataFrame(rows, schema)


def in_time(units: Sequence[T], work: Callable[[T], R], at_once: int, timeout: float) -> Iterator[tuple[T, R | None]]:
    """What ``work`` makes of each unit, some at once in threads; ``None`` where nothing came in ``timeout`` seconds."""
    # Not as a context manager: one that never ends must not keep the task from ending.
    pool = ThreadPoolExecutor(at_once)
    try:
        for start in range(0, len(units), at_once):
            waiting = [(unit, pool.submit(work, unit)) for unit in units[start : start + at_once]]
            deadline = time.monotonic() + timeout
            late = False
            for unit, future in waiting:
                try:
                    yield unit, future.result(max(0.0, deadline - time.monotonic()))
                except NoAnswerError:
                    late = True
                    yield unit, None
            if late:
                # A thread may never end: the next units get threads of their own.
                pool.shutdown(wait=False, cancel_futures=True)
                pool = ThreadPoolExecutor(at_once)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _pickled(part: Sequence[T]) -> bytes:
    data: bytes = cloudpickle.dumps(list(part))  # type: ignore[no-untyped-call]
    return data


def reason(error: BaseException) -> str:
    """An unexpected error in a few words: its type and the line of ours where it arose, no value that it carries."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if "reconciler" in frame.filename]
    place = f" at {places[-1].filename.rpartition('reconciler/')[2]}:{places[-1].lineno}" if places else ""
    return f"{type(error).__name__}{place}"
