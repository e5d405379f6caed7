"""A clock that only moves when somebody sleeps."""

import datetime


class StillClock:
    """Implements ``reconciler.ports.Clock``."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    def monotonic(self) -> float:
        return self.seconds

    def jitter(self) -> float:
        return 0.5

    def now(self) -> str:
        now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=self.seconds)
        return now.strftime("%Y-%m-%dT%H:%M:%SZ")
