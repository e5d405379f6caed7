"""The person at the terminal, as an apply meets them: reads the plan, agrees, watches, and presses Ctrl-C.

After Ctrl-C what is in flight is finished, and nothing more is begun.
"""

import shlex
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

import click

from reconciler.apply import Progress
from reconciler.cli.console import info, info_lines, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.progress import progress_for
from reconciler.dataclass import dataclass
from reconciler.plan import Plan
from reconciler.report.plan_text import headline, plan_lines
from reconciler.report.step_lines import summary
from reconciler.report.style import safe
from reconciler.workflow import attendant
from reconciler.workflow.options import Note


@dataclass(slots=True)
class Terminal:
    """Implements ``workflow.Attendant`` on stderr; ``yes`` is a consent that was given before.

    ``saved`` is the file of a plan that was printed when it was made; ``reviewed`` says whether one has been shown.
    """

    yes: bool
    expand: bool
    saved: str = ""
    reviewed: bool = False

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
    return attendant.stoppable(lambda: info(text))
