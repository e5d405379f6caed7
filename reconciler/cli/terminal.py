"""The person at the terminal, as an apply meets them: reads the plan, agrees, watches, and presses Ctrl-C.

After Ctrl-C what is in flight is finished, and nothing more is begun.
"""

import math
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final, TextIO

import click

from reconciler.app.apply import stoppable as supervisor_stoppable
from reconciler.app.options import Note
from reconciler.apply.environment import Progress
from reconciler.cli.console import coloured, info, info_lines, progress, settings, style_for, watched
from reconciler.cli.notes import info_note
from reconciler.dataclass import dataclass
from reconciler.model.characters import safe
from reconciler.plan.phase import TITLES, Phase
from reconciler.plan.proposal import Plan
from reconciler.show.plan import headline, plan_lines
from reconciler.show.steps import summary

if TYPE_CHECKING:
    import rich.progress

# Progress of an apply on stderr: a bar on a terminal; elsewhere lines, for each phase and now and then within it.

#: Seconds between two lines that say how far a phase is, where nobody watches a bar.
INTERVAL: Final = 10.0
#: The same of replicas that brokers move, which takes minutes or hours.
MOVING_INTERVAL: Final = 60.0


class ProgressLines(Progress):
    """One line for each phase, barrier and note; during a long phase, every ``INTERVAL`` seconds how far it is."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """``monotonic`` tells how much time goes by."""
        self._monotonic = monotonic
        self._total = self._sent = 0
        self._began = self._said = monotonic()
        self._reported_moving: float | None = None

    def phase(self, phase: Phase, steps: int) -> None:
        """A phase begins."""
        progress(f"{TITLES[phase]}: {steps:,}")
        self._total, self._sent, self._reported_moving = steps, 0, None
        self._began = self._said = self._monotonic()

    def sent(self, steps: int) -> None:
        """So many more steps have an outcome; a line for each request would be noise in a log."""
        self._sent += steps
        now = self._monotonic()
        if now - self._said >= INTERVAL and self._sent < self._total:
            self._said = now
            progress(f"   {self._sent:,} of {self._total:,} after {now - self._began:.0f} s")

    def barrier(self, seconds: float) -> None:
        """A fixed wait begins."""
        progress(f"   {_waiting(seconds)}")

    def proven(self, brokers: Sequence[int], seconds: float) -> None:
        """A barrier was reached."""
        progress(f"   {_proven(brokers, seconds)}")

    def moving(self, text: str, left: int) -> None:
        """Brokers move replicas, for hours: a line when it begins and then each minute."""
        now = self._monotonic()
        if self._reported_moving is None or now - self._reported_moving >= MOVING_INTERVAL:
            self._reported_moving = now
            progress(f"   {safe(text)}")

    def note(self, text: str) -> None:
        """Something a person should know."""
        info(f"   {safe(text)}")


class ProgressBars(Progress):
    """A bar for each phase, drawn by rich."""

    def __init__(self, bars: "rich.progress.Progress") -> None:
        """Draw on ``bars``."""
        self._bars = bars
        self._task: rich.progress.TaskID | None = None
        self._copied: rich.progress.TaskID | None = None
        self._whole = 0

    def phase(self, phase: Phase, steps: int) -> None:
        """A phase begins."""
        self._task = self._bars.add_task(TITLES[phase], total=steps)

    def sent(self, steps: int) -> None:
        """So many more steps have an outcome."""
        if self._task is not None:
            self._bars.advance(self._task, steps)
        if self._copied is not None:
            self._bars.remove_task(self._copied)
            self._copied = None

    def barrier(self, seconds: float) -> None:
        """A fixed wait begins."""
        self._bars.console.print(_waiting(seconds), style="dim")

    def proven(self, brokers: Sequence[int], seconds: float) -> None:
        """A barrier was reached."""
        self._bars.console.print(_proven(brokers, seconds), style="dim")

    def moving(self, text: str, left: int) -> None:
        """Brokers move replicas: a bar of the MiB that they copied since the first word of it."""
        left_mib = math.ceil(left / 2**20)
        if self._copied is None:
            self._whole = left_mib
            self._copied = self._bars.add_task("", total=left_mib)
        # Records that come in meanwhile have to be copied, too.
        self._whole = max(self._whole, left_mib)
        words = safe(text).replace("[", r"\[")
        self._bars.update(
            self._copied, description=f"{words} (MiB)", total=self._whole, completed=self._whole - left_mib
        )

    def note(self, text: str) -> None:
        """Something a person should know."""
        self._bars.console.print(safe(text), markup=False, highlight=False)


def _waiting(seconds: float) -> str:
    return f"waiting {seconds:g} s for every broker; this cannot detect a broker that is cut off"


def _proven(brokers: Sequence[int], seconds: float) -> str:
    named = ", ".join(map(str, brokers))
    return f"enforced by brokers {named} and the active controller, after {seconds * 1000:.0f} ms"


@contextmanager
def progress_for(stream: TextIO) -> Iterator[Progress]:
    """ProgressBars where somebody looks, lines elsewhere."""
    if settings.quiet or not (watched(stream) and coloured(stream)):
        yield ProgressLines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=stream)) as bars:
        yield ProgressBars(bars)


@dataclass(slots=True)
class Terminal:
    """Implements ``workflow.Supervisor`` on stderr; ``yes`` is a consent that was given before.

    ``saved`` is the file of a plan that was printed when it was made; ``reviewed`` says whether one has been shown.
    """

    yes: bool
    expand: bool
    saved: str = ""
    reviewed: bool = False

    @property
    def asks(self) -> bool:
        """Not where there is consent."""
        return not self.yes

    def tell(self, note: Note) -> None:
        """Say it."""
        info_note(note)

    def review(self, plan: Plan) -> None:
        """Show the plan; of a saved one, which was reviewed as it is, only what it does and how to see it again."""
        self.reviewed = True
        style = style_for(sys.stderr)
        lines = headline(plan, style) if self.saved and not self.expand else plan_lines(plan, style, expand=self.expand)
        info_lines(lines)
        if self.saved and not self.expand:
            info(f"All of it: reconciler show {shlex.quote(safe(self.saved))}")

    def agree(self, plan: Plan) -> bool:
        """Ask, unless there is consent."""
        question = f"{summary(plan)} on cluster {safe(plan.terms.cluster)}. Perform these steps?"
        return self.yes or click.confirm(question, err=True)

    def progress(self) -> AbstractContextManager[Progress]:
        """Bars, or lines."""
        return progress_for(sys.stderr)

    def interruptions(self) -> AbstractContextManager[Callable[[], bool]]:
        """Ctrl-C."""
        return stoppable("batch")


def stoppable(in_flight: str) -> AbstractContextManager[Callable[[], bool]]:
    """Whether somebody has asked to stop; a second Ctrl-C ends at once, with unknown outcomes."""
    text = f"stopping after the {in_flight} in flight; press Ctrl-C again to end at once (outcomes will be unknown)"
    return supervisor_stoppable(lambda: info(text))
