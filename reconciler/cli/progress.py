"""Progress of an apply on stderr: a bar on a terminal, a line for each phase elsewhere."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from reconciler.apply import Progress
from reconciler.cli.console import coloured, info
from reconciler.plan import TITLES, Phase
from reconciler.report.style import safe

if TYPE_CHECKING:
    import rich.progress


class ProgressLines:
    """One line for each phase, barrier and note."""

    def phase(self, phase: Phase, steps: int) -> None:
        """A phase begins."""
        info(f"{TITLES[phase]}: {steps:,}")

    def sent(self, steps: int) -> None:
        """Nothing: a line for each batch would be noise in a log."""

    def barrier(self, seconds: float) -> None:
        """A fixed wait begins."""
        info(f"   {_waiting(seconds)}")

    def proven(self, brokers: Sequence[int], seconds: float) -> None:
        """A barrier was reached."""
        info(f"   {_proven(brokers, seconds)}")

    def note(self, text: str) -> None:
        """Something a person should know."""
        info(f"   {safe(text)}")


class ProgressBars:
    """A bar for each phase, drawn by rich."""

    def __init__(self, bars: "rich.progress.Progress") -> None:
        """Draw on ``bars``."""
        self._bars = bars
        self._task: rich.progress.TaskID | None = None

    def phase(self, phase: Phase, steps: int) -> None:
        """A phase begins."""
        self._task = self._bars.add_task(TITLES[phase], total=steps)

    def sent(self, steps: int) -> None:
        """So many more steps have an outcome."""
        if self._task is not None:
            self._bars.advance(self._task, steps)

    def barrier(self, seconds: float) -> None:
        """A fixed wait begins."""
        self._bars.console.print(_waiting(seconds), style="dim")

    def proven(self, brokers: Sequence[int], seconds: float) -> None:
        """A barrier was reached."""
        self._bars.console.print(_proven(brokers, seconds), style="dim")

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
    if not coloured(stream):
        yield ProgressLines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=stream)) as bars:
        yield ProgressBars(bars)
