"""What an apply tells while it runs."""

from collections.abc import Sequence
from typing import Protocol

from reconciler.plan import Phase


class Progress(Protocol):
    """Receives what happens, in order; must not raise."""

    def phase(self, phase: Phase, steps: int) -> None:
        """A phase with so many steps begins."""
        ...

    def sent(self, steps: int) -> None:
        """So many steps of the phase have an outcome."""
        ...

    def barrier(self, seconds: float) -> None:
        """A fixed wait begins, after which every broker should enforce what was sent."""
        ...

    def proven(self, brokers: Sequence[int], seconds: float) -> None:
        """These brokers and the active controller are known to enforce what was sent; it took so long."""
        ...

    def moving(self, text: str, left: int) -> None:
        """Brokers go on with what they accepted: what they move, in words, and the bytes that are left to copy."""
        ...

    def note(self, text: str) -> None:
        """Something you should know."""
        ...


class Silent:
    """Reports nothing."""

    def phase(self, phase: Phase, steps: int) -> None:
        """Nothing."""

    def sent(self, steps: int) -> None:
        """Nothing."""

    def barrier(self, seconds: float) -> None:
        """Nothing."""

    def proven(self, brokers: Sequence[int], seconds: float) -> None:
        """Nothing."""

    def moving(self, text: str, left: int) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""
