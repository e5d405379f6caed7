"""The protocol of a run as a small machine, and the hooks by which every run of the tests goes through it.

Runs in processes that tests start are followed there (``tests/prepared.py``), and write to a file what they break.

An intent is written before anything is sent, the outcome after it; phases go forward, and none begins while an answer
is due; where the order relies on it, every broker is waited for in between; nothing is written after the end.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from reconciler.apply import performing
from reconciler.apply.run import Run
from reconciler.plan.step import Step

#: Phases (``docs/order-and-safety.md``): after one of these, nothing later is sent before every broker was waited for.
_WAITS: Final = (({1, 2, 4}, 4), ({9}, 9), ({12}, 12), ({13}, 13))
_LAST_THAT_RELIES: Final = 14
#: What can become of a step for which nothing was sent.
_UNSENT: Final = {"already", "failed", "blocked", "not-attempted"}


@dataclass
class Trace:
    """Takes the events of one run in order; ``problems`` is what broke the protocol."""

    problems: list[str] = field(default_factory=list)
    state: str = "new"
    phase: int = 0
    batch: int = 0
    #: By batch: the steps whose answers are due, and all that were announced.
    due: dict[int, set[str]] = field(default_factory=dict)
    announced: dict[int, set[str]] = field(default_factory=dict)
    #: Phases of which something was sent since every broker was last waited for.
    unproven: set[int] = field(default_factory=set)

    def take(self, record: Mapping[str, Any]) -> None:
        """A line of the journal."""
        kind = record["record"]
        if self.state == "torn":
            return
        if self.state == "ended":
            self._broken(f"{kind} after the end")
        elif (kind == "run") is not (self.state == "new"):
            self._broken(f"{kind} in a journal that is {self.state}")
        self.state = "ended" if kind == "end" else "running"
        if kind == "intent":
            self._intent(record["batch"], record["phase"], record["steps"])
        elif kind == "outcomes":
            self._outcomes(record["batch"], {item["step"]: item["outcome"] for item in record["outcomes"]})
        elif kind == "end" and self.due:
            self._broken(f"the end, while answers to batches {sorted(self.due)} are due")

    def send(self, steps: Sequence[str]) -> None:
        """A request with these steps goes out."""
        if self.state != "torn" and not any(set(steps) <= batch for batch in self.due.values()):
            self._broken(f"{', '.join(steps)} sent without an intent")

    def waited(self) -> None:
        """Every broker was waited for, and enforces what was sent."""
        if self.due:
            self._broken(f"a wait for brokers while answers to batches {sorted(self.due)} are due")
        self.unproven.clear()

    def _intent(self, batch: int, phase: int, steps: Sequence[str]) -> None:
        if batch != self.batch + 1:
            self._broken(f"batch {batch} after batch {self.batch}")
        if phase < self.phase:
            self._broken(f"phase {phase} after phase {self.phase}")
        if phase > self.phase and self.due:
            self._broken(f"phase {phase} while answers to batches {sorted(self.due)} are due")
        for group, last in _WAITS:
            if last < phase <= _LAST_THAT_RELIES and group & self.unproven:
                self._broken(f"phase {phase} without a wait for brokers after phases {sorted(group & self.unproven)}")
        if again := set(steps) & set().union(*self.due.values()):
            self._broken(f"{', '.join(sorted(again))} announced twice")
        self.batch, self.phase = batch, phase
        self.due[batch], self.announced[batch] = set(steps), set(steps)
        self.unproven.add(phase)

    def _outcomes(self, batch: int | None, found: Mapping[str, str]) -> None:
        if batch is None:
            settled = set().union(*self.announced.values()) - set().union(*self.due.values())
            # A step that was answered, and does not show at the end, becomes unknown again.
            if any(what not in _UNSENT and not (what == "unknown" and step in settled) for step, what in found.items()):
                self._broken(f"outcomes {dict(found)} of what was never sent")
        elif batch not in self.announced or found.keys() - self.announced[batch]:
            self._broken(f"outcomes of batch {batch}, which was not announced so")
        else:
            left = self.due.pop(batch, set()) - found.keys()
            self.due |= {batch: left} if left else {}

    def _broken(self, why: str) -> None:
        self.problems.append(why)


class _Waiting:
    """A barrier whose waits are part of the trace."""

    def __init__(self, barrier: Any, trace: Trace) -> None:
        self._barrier, self._trace = barrier, trace

    def __getattr__(self, name: str) -> Any:
        return getattr(self._barrier, name)

    def wait(self) -> None:
        self._barrier.wait()
        self._trace.waited()


class _Written(list[str]):
    """Problems that are in a file of this process at once: the next thing that happens to it may be kill -9."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._file = directory / f"{os.getpid()}.{os.environ.get('PROBLEMS', 'problems')}"

    def append(self, problem: str) -> None:
        super().append(problem)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{problem} (in a process of {' '.join(sys.argv)})\n")


def follow_into(directory: Path) -> None:
    """Follow every run in this process to its end."""
    _follow(_Written(directory))


def written_in(directory: Path, suffix: str = "problems") -> list[str]:
    """What processes have written since it was asked for last.

    A test that wants problems has them under a suffix of its own (``PROBLEMS``), or it would fail for them itself.
    """
    found = []
    for file in sorted(directory.glob(f"*.{suffix}")):
        found += file.read_text(encoding="utf-8").splitlines()
        file.unlink()
    return found


@contextmanager
def traced() -> Iterator[list[str]]:
    """Follow every run in this process; gives what broke the protocol."""
    problems: list[str] = []
    before = _follow(problems)
    try:
        yield problems
    finally:
        for (owner, name), function in before.items():
            setattr(owner, name, function)


def _follow(problems: list[str]) -> dict[tuple[Any, str], Callable[..., Any]]:
    """Put the hooks in; gives what was there before."""
    traces: dict[int, tuple[Run, Trace]] = {}  # with the run, so that no other one has its id
    write, changes, perform, close = Run._write_journal, Run.changes, performing._perform_phases, performing._close

    def trace_of(run: Run) -> Trace:
        return traces.setdefault(id(run), (run, Trace(problems)))[1]

    def on_write(run: Run, record: Mapping[str, Any]) -> None:
        try:
            write(run, record)
        except BaseException:  # a journal that cannot be kept ends the run, and says nothing from here on
            traces[id(run)] = (run, Trace())
            traces[id(run)][1].state = "torn"
            raise
        # A part of a run, tested by itself, has no beginning.
        if record["record"] == "run" or trace_of(run).state != "new":
            trace_of(run).take(record)

    def on_changes(run: Run, steps: Sequence[Step]) -> Any:
        if trace_of(run).announced:  # a run without a journal announces nothing
            trace_of(run).send([step.id for step in steps])
        return changes(run, steps)

    def on_close(run: Run, *rest: Any) -> Any:
        trace_of(run).take({"record": "end"})
        traces.pop(id(run))
        return close(run, *rest)

    patched: dict[tuple[Any, str], Callable[..., Any]] = {
        (Run, "_write_journal"): on_write,
        (Run, "changes"): on_changes,
        (performing, "_close"): on_close,
        (performing, "_perform_phases"): lambda run, wait, *rest: perform(run, _Waiting(wait, trace_of(run)), *rest),
    }
    before = {place: getattr(*place) for place in patched}
    for (owner, name), function in patched.items():
        setattr(owner, name, function)
    return before
