"""A clock that looks after bridges while it waits: no wait is so long that nobody looks for more than a second."""

from collections.abc import Callable
from typing import Final

from reconciler.ports import Clock

#: Seconds between two looks at the bridges.
PERIOD: Final = 1.0


class PollingClock:
    """``inner``, with ``look`` called before, in and behind every wait; ``look`` decides itself whether it is due."""

    def __init__(self, inner: Clock, look: Callable[[], None]) -> None:
        """Nothing is looked at yet."""
        self._inner, self._look = inner, look

    def sleep(self, seconds: float) -> None:
        """See :class:`reconciler.ports.Clock`."""
        end = self._inner.monotonic() + seconds
        while True:
            self._look()
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
