"""A clock that polls while it waits: however long a run waits, it looks at its bridges every second."""

from collections.abc import Callable
from typing import Final

from reconciler.ports import Clock

#: Seconds between two polls.
PERIOD: Final = 1.0


class PollingClock:
    """``inner``, with ``poll`` called before, during and after every wait; it decides itself whether it is due."""

    def __init__(self, inner: Clock, poll: Callable[[], None]) -> None:
        """Nothing is polled yet."""
        self._inner, self._poll = inner, poll

    def sleep(self, seconds: float) -> None:
        """See :class:`reconciler.ports.Clock`."""
        end = self._inner.monotonic() + seconds
        while True:
            self._poll()
            left = end - self._inner.monotonic()
            if left <= 0:
                return
            self._inner.sleep(min(left, PERIOD))

    def monotonic(self) -> float:
        """See :class:`reconciler.ports.Clock`."""
        return self._inner.monotonic()

    def jitter(self) -> float:
        """See :class:`reconciler.ports.Clock`."""
        return self._inner.jitter()

    def now(self) -> str:
        """See :class:`reconciler.ports.Clock`."""
        return self._inner.now()
