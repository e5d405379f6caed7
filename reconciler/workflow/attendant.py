"""Who attends an apply: is told, reviews, agrees, watches, and may interrupt."""

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from reconciler.apply import Progress, Silent
from reconciler.plan import Plan
from reconciler.workflow.options import Note


class Attendant(Protocol):
    """A person at a terminal, or a program."""

    def tell(self, note: Note) -> None:
        """A note, as soon as it is known."""
        ...

    def review(self, plan: Plan) -> None:
        """What is about to be performed, or was refused; nothing has been sent."""
        ...

    def agree(self, plan: Plan) -> bool:
        """Whether to perform it; not asked where one plan was required by its id."""
        ...

    def progress(self) -> AbstractContextManager[Progress]:
        """What is shown while the plan is performed."""
        ...

    def interruptions(self) -> AbstractContextManager[Callable[[], bool]]:
        """Says whether to stop after the batch in flight."""
        ...


class Unattended:
    """Nobody: whoever calls has agreed, and is told by the result alone."""

    def tell(self, note: Note) -> None:
        """See :class:`Attendant`."""

    def review(self, plan: Plan) -> None:
        """See :class:`Attendant`."""

    def agree(self, plan: Plan) -> bool:
        """See :class:`Attendant`."""
        return True

    def progress(self) -> AbstractContextManager[Progress]:
        """See :class:`Attendant`."""
        return nullcontext(Silent())

    def interruptions(self) -> AbstractContextManager[Callable[[], bool]]:
        """See :class:`Attendant`."""
        return nullcontext(lambda: False)


@contextmanager
def stoppable(asked: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Yields whether a signal has asked to stop; ``asked`` is called then. A second one ends at once.

    A terminal that is closed asks too (SIGHUP), unless the run was told to survive it (``nohup``).
    """
    stopped = False

    def stop(_signal: int, _frame: object) -> None:
        nonlocal stopped
        if stopped:
            raise KeyboardInterrupt
        stopped = True
        asked()

    hangup = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, *hangup)}
    try:
        yield lambda: stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
