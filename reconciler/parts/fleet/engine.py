"""Where the tasks of a fleet run: on Spark, or in this process where the work is worth no JVM.

A task gets a list of units and the attempt's name, and returns lines of text, or chunks of bytes for the groups that
the next task asks. It may run twice, unless the caller says what is to be said instead: then it begins once.
"""

import gc
import heapq
import os
import signal
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_any
from multiprocessing.context import ForkProcess
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.dataclass import dataclass

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")
#: What runs in a task: the units of one list and the attempt's name in; lines out.
Work: TypeAlias = Callable[[Sequence[T], str], Iterable[str]]
#: The same with chunks out, each with the number of the group that it belongs to.
Grouping: TypeAlias = Callable[[Sequence[T], str], Iterable[tuple[int, bytes]]]
#: What is made of a group: its number and its chunks in, in any order.
Judge: TypeAlias = Callable[[int, Sequence[bytes]], R]

#: What of a line is counted while other tasks are at work, by kind.
Tally: TypeAlias = Callable[[str], Mapping[str, int]]
#: Is told what tasks do, how many units have ended, of how many, and what was counted in their lines.
Watch: TypeAlias = Callable[[str, int, int, Mapping[str, int]], None]

#: Starting a task takes some 40 ms, in which a core compares 100,000 rows: a task has to be worth that.
ROWS_IN_A_TASK: Final = 500_000
#: To evaluate access takes so much longer than to compare rows.
EVALUATED_IN_A_TASK: Final = 50_000
#: As many bytes of logs are counted in some seconds.
BYTES_IN_A_TASK: Final = 64 * 1024**2
#: Clusters for whose sake a task reads the manifests: some milliseconds each, once it has read them.
CLUSTERS_IN_A_TASK: Final = 16


class TaskFailedError(WorkflowError):
    """The engine lost a task, or the task failed; the message has the worker's own error if there is one."""


class Groups(ABC):
    """Chunks by group, made when something is asked of them."""

    @abstractmethod
    def ask(self, judge: Judge[R]) -> list[R]:
        """What ``judge`` makes of each group, in their order; a group without chunks is asked too."""

    @abstractmethod
    def kept(self) -> AbstractContextManager[None]:
        """Make the chunks once while several things are asked, not for each of them again."""


class Engine(ABC):
    """Runs tasks, and says how many at a time; ``watch`` hears how far they are."""

    watch: Watch | None = None

    @property
    @abstractmethod
    def cores(self) -> int:
        """How many tasks run at a time, as far as that is known now."""

    @abstractmethod
    def run(
        self,
        lists: Sequence[Sequence[T]],
        work: Work[T],
        doing: str,
        group: str = "",
        again: Work[T] | None = None,
        tally: Tally | None = None,
    ) -> list[str]:
        """Run ``work`` on each list in a task of its own; all lines, in the order of the lists.

        ``doing`` is shown to an operator; :meth:`ending` ends the tasks of a ``group``. With ``again`` a task has
        effects: where the engine begins it a second time, that runs instead. With ``tally``, :attr:`watch` hears what
        it counts, as tasks end. Raises :class:`TaskFailedError`.
        """

    @abstractmethod
    def grouped(self, lists: Sequence[Sequence[T]], work: Grouping[T], groups: int, doing: str) -> Groups:
        """The chunks that ``work`` makes of the lists, by their groups, which are numbered from 0."""

    @abstractmethod
    def refuse_copies(self) -> None:
        """Raise :class:`WorkflowError` where the engine begins slow tasks a second time beside the first."""

    @abstractmethod
    def ending(self, group: str) -> AbstractContextManager[None]:
        """Where the block ends by an error, the tasks of ``group`` that are left in other threads end too."""

    @property
    @abstractmethod
    def session(self) -> "SparkSession":
        """Spark's session, for SQL; raises :class:`RequestError` where there is none."""

    def task_count(self, size: int, in_a_task: int) -> int:
        """Into how many lists so much work is worth being shared out, ``in_a_task`` of it in each.

        By the work, whatever number of executors is there now: more may come (dynamic allocation begins with none).
        Every core that is there gets something all the same.
        """
        return max(self.cores, -(-size // in_a_task))

    def shared_out(self, units: Sequence[T], in_a_task: int, weights: Sequence[int] | None = None) -> list[list[T]]:
        """The units in lists for tasks, by what each weighs (without ``weights``, 1)."""
        weights = [1] * len(units) if weights is None else weights
        return partition(units, weights, self.task_count(sum(weights), in_a_task))


def partition(units: Iterable[T], weights: Sequence[int], tasks: int) -> list[list[T]]:
    """At most ``tasks`` lists of about the same weight: the heaviest first, each to the lightest list."""
    order = sorted(zip(weights, units, strict=True), key=lambda item: -item[0])
    lists: list[list[T]] = [[] for _ in range(max(1, min(tasks, len(order))))]
    heap = [(0, index) for index in range(len(lists))]
    for weight, unit in order:
        load, index = heapq.heappop(heap)
        lists[index].append(unit)
        heapq.heappush(heap, (load + weight + 1, index))
    return [part for part in lists if part]


#: So many tasks' worth of work is done in this process before a JVM would be there: measured in
#: ``benchmarks/fleet/engines.py``.
LOCAL_TASKS: Final = 4


def is_small(size: int, in_a_task: int) -> bool:
    """Whether so much work is done sooner in this process than Spark starts."""
    return size <= LOCAL_TASKS * in_a_task


class LocalEngine(Engine):
    """Tasks as threads of this process: they wait for brokers, or compute in Polars, which needs no lock of Python."""

    def __init__(self, watch: Watch | None = None) -> None:
        """``watch`` hears how far tasks are."""
        self.watch = watch

    @property
    def cores(self) -> int:
        """Those of this machine."""
        return os.cpu_count() or 1

    def run(
        self,
        lists: Sequence[Sequence[T]],
        work: Work[T],
        doing: str,
        group: str = "",
        again: Work[T] | None = None,
        tally: Tally | None = None,
    ) -> list[str]:
        """Each list once."""
        answers: list[str] = []
        ended, size, counts = 0, sum(map(len, lists)), Counter[str]()
        with _failures_as_reasons():
            for units, lines in zip(lists, self._each(lists, lambda units, name: list(work(units, name))), strict=True):
                answers += lines
                if self.watch is not None and tally is not None:
                    ended += len(units)
                    counts.update(tallied(tally, lines))
                    self.watch(doing, ended, size, counts)
        return answers

    def grouped(self, lists: Sequence[Sequence[T]], work: Grouping[T], groups: int, doing: str) -> Groups:
        """The chunks are made at once: there is work for some seconds only."""
        by_group: list[list[bytes]] = [[] for _ in range(groups)]
        with _failures_as_reasons():
            for chunks in self._each(lists, lambda units, name: list(work(units, name))):
                for number, chunk in chunks:
                    by_group[number].append(chunk)
        return _LocalGroups(by_group)

    def refuse_copies(self) -> None:
        """Every task begins once."""

    def ending(self, group: str) -> AbstractContextManager[None]:
        """What a task began ends with this process."""
        return nullcontext()

    @property
    def session(self) -> "SparkSession":
        """There is none."""
        raise RequestError("SQL needs Spark", "leave out --engine local")

    def _each(self, lists: Sequence[Sequence[T]], work: Callable[[Sequence[T], str], R]) -> Iterator[R]:
        names = [f"local-{number}" for number in range(len(lists))]
        if len(lists) == 1:
            yield work(lists[0], names[0])
            return
        with ThreadPoolExecutor(self.cores) as pool:
            yield from pool.map(work, lists, names)


_FORK: Final = get_context("fork")
#: So many tasks for each core at most: a fork copies what it writes to, some 30 ms of a processor each.
_FORKS_OF_A_CORE: Final = 8


class ForkingEngine(LocalEngine):
    """Tasks as processes that begin with all that this one has: for work in Python, which threads do one at a time.

    As many cores as Spark would use on this machine, without its start. Nothing that was forked is used for Polars,
    whose threads do not survive that.
    """

    def task_count(self, size: int, in_a_task: int) -> int:
        """Not more than keep all cores busy to the end."""
        return min(super().task_count(size, in_a_task), _FORKS_OF_A_CORE * self.cores)

    def _each(self, lists: Sequence[Sequence[T]], work: Callable[[Sequence[T], str], R]) -> Iterator[R]:
        waiting, answers = deque(enumerate(lists)), dict[int, R]()
        running = dict[Connection, tuple[int, ForkProcess]]()
        # So that a process which looks for garbage does not copy all that it shares with this one.
        gc.freeze()
        try:
            for number in range(len(lists)):
                while number not in answers:
                    while waiting and len(running) < self.cores:
                        at, units = waiting.popleft()
                        ours, theirs = _FORK.Pipe(duplex=False)
                        process = _FORK.Process(target=_answer, args=((ours, theirs), work, units, f"local-{at}"))
                        process.start()
                        theirs.close()
                        running[ours] = at, process
                    for pipe in cast("list[Connection]", wait_for_any(running)):
                        at, process = running[pipe]
                        answers[at] = _answer_of(pipe)
                        process.join()
                        del running[pipe]
                yield answers.pop(number)
        finally:
            for _, process in running.values():
                process.kill()
                process.join()


def _answer(
    ends: tuple[Connection, Connection], work: Callable[[Sequence[T], str], R], units: Sequence[T], name: str
) -> None:
    """In the process of a task; ends it whatever threads are left, of clusters that never answered."""
    reads, pipe = ends
    reads.close()  # else it would wait forever to be read, where the process that reads was killed
    # An interrupt is for the process that started this one, which then ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with suppress(BrokenPipeError):
            try:
                with _failures_as_reasons():
                    answer = work(units, name)
                pipe.send((answer, None))
            except WorkflowError as error:
                pipe.send((None, (error.message, error.advice)))
    finally:
        os._exit(0)


def _answer_of(pipe: Connection) -> Any:
    """What a task's process sent; raises :class:`WorkflowError` with what failed there."""
    try:
        with pipe:
            answer, failure = pipe.recv()
    except EOFError:
        raise TaskFailedError("the process of a task was killed", "start again; is there memory enough?") from None
    if failure is not None:
        raise TaskFailedError(*failure)
    return answer


def tallied(tally: Tally, lines: Iterable[str]) -> Counter[str]:
    """What is counted in all of these lines."""
    counts = Counter[str]()
    for line in lines:
        counts.update(tally(line))
    return counts


@contextmanager
def _failures_as_reasons() -> Iterator[None]:
    """What fails in a task is a reason like any other, as it is on Spark: of an apply its outcomes are unknown."""
    try:
        yield
    except WorkflowError:
        raise
    except Exception as error:
        why = f": {error}" if isinstance(error, OSError) else ""
        raise TaskFailedError(
            f"a task failed: {reason(error)}{why}", "nothing was kept of the run; correct the cause, then start again"
        ) from error


@dataclass(frozen=True, slots=True)
class _LocalGroups(Groups):
    chunks: Sequence[Sequence[bytes]]

    def ask(self, judge: Judge[R]) -> list[R]:
        """One after the other."""
        with _failures_as_reasons():
            return [judge(number, chunks) for number, chunks in enumerate(self.chunks)]

    def kept(self) -> AbstractContextManager[None]:
        """They are there."""
        return nullcontext()


def in_time(units: Sequence[T], work: Callable[[T], R], at_once: int, timeout: float) -> Iterator[tuple[T, R | None]]:
    """What ``work`` makes of each unit, some at once in threads; ``None`` where nothing came in ``timeout`` seconds.

    The next one begins as soon as any has ended: one that takes long holds back no other.
    """
    waiting, running = deque(units), dict[Future[R], tuple[T, float]]()
    while waiting or running:
        while waiting and len(running) < at_once:
            unit = waiting.popleft()
            running[_begun(work, unit)] = unit, time.monotonic() + timeout
        first = min(deadline for _, deadline in running.values())
        for future in wait(running, max(0.0, first - time.monotonic()), FIRST_COMPLETED).done:
            yield running.pop(future)[0], future.result()
        for future, (unit, deadline) in list(running.items()):
            if deadline <= time.monotonic() and not future.done():
                del running[future]
                yield unit, None


def _begun(work: Callable[[T], R], unit: T) -> Future[R]:
    """What ``work`` will have made of a unit, in a thread that keeps no process from ending, as those of a pool do."""
    future = Future[R]()

    def run() -> None:
        try:
            future.set_result(work(unit))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def reason(error: BaseException) -> str:
    """An unexpected error in a few words: its type and the line of ours where it arose, no value that it carries."""
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if "reconciler" in frame.filename]
    place = f" at {places[-1].filename.rpartition('reconciler/')[2]}:{places[-1].lineno}" if places else ""
    return f"{type(error).__name__}{place}"
