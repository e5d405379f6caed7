"""Whole processes, timed from outside and in turn (A B A B …), so that a machine's moods meet both alike."""

import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).parent.parent
#: Seconds after which a command is no longer waited for.
_PATIENCE = 300


class Cost(NamedTuple):
    """Seconds of one process and of those it waited for: by the clock, and of processor time."""

    wall: float
    cpu: float


class Command(NamedTuple):
    """A command line, and what its output has to hold for the run to count."""

    arguments: Sequence[str]
    expected: str = ""


def nothing() -> None:
    """The preparation of a command that needs none."""


def pairs(ours: Command, bare: Command, runs: int, prepare: Callable[[], None] = nothing) -> list[tuple[Cost, Cost]]:
    """Runs both in turn, ``prepare`` before each, after one pair that is not counted."""
    found = []
    for _ in range(runs + 1):
        prepare()
        first = cost(ours)
        prepare()
        found.append((first, cost(bare)))
    return found[1:]


def cost(command: Command) -> Cost:
    """Runs a command to its end; raises ``RuntimeError`` if it fails or does not print what it should."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command.arguments, cwd=_ROOT, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode or command.expected not in done.stdout:
        raise RuntimeError(f"{' '.join(command.arguments)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def title(what: str, ours: str, bare: str) -> None:
    """Prints the head of a table whose rows :func:`row` prints."""
    print(f"\n{what}\n{'':34}{ours:>26}{bare:>26}{'ratio':>8}")


def row(what: str, found: list[tuple[Cost, Cost]]) -> None:
    """Prints medians with the range, and the median of the ratios pair by pair."""
    ours, bare = [pair[0].wall for pair in found], [pair[1].wall for pair in found]
    ratio = statistics.median(pair[0].wall / pair[1].wall for pair in found)
    print(f"{what:34}{_spread(ours):>26}{_spread(bare):>26}{ratio:7.2f}×")
    ours, bare = [pair[0].cpu for pair in found], [pair[1].cpu for pair in found]
    print(f"{'    processor time':34}{_spread(ours):>26}{_spread(bare):>26}")


def _spread(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.3f} s ({min(seconds):.3f}–{max(seconds):.3f})"
