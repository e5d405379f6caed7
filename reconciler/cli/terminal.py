"""The person at the terminal, as an apply meets them: reads the plan, agrees, watches, and presses Ctrl-C.

After Ctrl-C what is in flight is finished, and nothing more is begun.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import click

from reconciler.apply import Progress
from reconciler.cli.console import info, style_for
from reconciler.cli.notes import info_note
from reconciler.cli.progress import progress_for
from reconciler.plan import Plan
from reconciler.report.plan_text import plan_lines, summary
from reconciler.report.style import safe
from reconciler.workflow import attendant
from reconciler.workflow.options import Note


@dataclass(slots=True)
class Terminal:
    """Implements ``workflow.Attendant`` on stderr; ``yes`` is a consent that was given before.

    ``reviewed`` says whether the plan has been shown.
    """

    yes: bool
    expand: bool
    reviewed: bool = False

    def tell(self, note: Note) -> None:
        """Say it."""
        info_note(note)

    def review(self, plan: Plan) -> None:
        """Show the plan."""
        self.reviewed = True
        info("\n".join(plan_lines(plan, style_for(sys.stderr), expand=self.expand)))

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
