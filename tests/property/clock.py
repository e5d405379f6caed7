"""A clock that only moves when somebody sleeps."""


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
        return "2026-01-01T00:00:00Z"
