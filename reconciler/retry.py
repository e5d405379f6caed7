"""Trying again: turns with a pause between them that doubles, is bounded, and is spread so that two runs drift apart.

Every loop that asks a cluster again uses these two. What may be tried again is the caller's to decide: a write whose
outcome is unknown may not.
"""

from collections.abc import Iterator
from itertools import count
from typing import Final

from reconciler.ports import Clock

ATTEMPTS: Final = 5
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0


def attempts(clock: Clock, most: int = ATTEMPTS) -> Iterator[int]:
    """At most ``most`` turns, numbered from 0; leave the loop once one has succeeded."""
    for turn in range(most):
        if turn:
            clock.sleep(pause(turn - 1, clock))
        yield turn


def polls(clock: Clock, seconds: float) -> Iterator[float]:
    """At least one turn, and more until one ends ``seconds`` after the first began; each is the seconds gone by."""
    began = clock.monotonic()
    for turn in count():
        yield clock.monotonic() - began
        if clock.monotonic() >= began + seconds:
            return
        clock.sleep(pause(turn, clock))


def pause(turn: int, clock: Clock) -> float:
    """Seconds before the next turn: doubling, bounded, spread by half."""
    # 2 to the power of a turn that never ends outgrows a float.
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * float(2 ** min(turn, 10))) * (0.5 + clock.jitter() / 2)
