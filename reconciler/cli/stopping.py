"""Ctrl-C while something is sent: what is in flight is finished, nothing more is begun."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reconciler.cli.console import tell


@contextmanager
def stoppable(in_flight: str) -> Iterator[Callable[[], bool]]:
    """Yields whether somebody has asked to stop; a second Ctrl-C ends at once, with unknown outcomes."""
    stopped = False

    def stop(_signal: int, _frame: object) -> None:
        nonlocal stopped
        if stopped:
            raise KeyboardInterrupt
        stopped = True
        tell(f"stopping behind the {in_flight} in flight; press Ctrl-C again to end at once (outcomes will be unknown)")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
