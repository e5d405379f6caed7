"""The system clock, as ``ports.Clock``."""

import datetime
import random
import time


class SystemClock:
    """Implements ``reconciler.ports.Clock``."""

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""
        return time.monotonic()

    def jitter(self) -> float:
        """A number from 0 up to 1, to spread retries; not for secrets."""
        return random.random()  # noqa: S311 - no secret depends on it

    def now(self) -> str:
        """The time as RFC 3339 in UTC, to the second."""
        return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
