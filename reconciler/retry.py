"""Trying again: turns with a pause between them that doubles, is bounded, and is spread so that two runs drift apart.

Every loop that asks a cluster again uses these two. What may be tried again is the caller's to decide: a write whose
outcome is unknown may not.
"""

from collections.abc import Collection, Hashable, Iterator
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


class Patience:
    """A wait for things to appear that lasts as long as they do: ``seconds`` from the last new one, ``most`` in all.

    A cluster that answers slowly shows what it was told bit by bit, and a fixed time calls the rest lost.
    """

    def __init__(self, clock: Clock, seconds: float, most: float) -> None:
        """The wait begins with the first turn."""
        self._clock, self._seconds, self._most = clock, seconds, most
        self._until = self._end = 0.0
        self._never_seen: set[Hashable] | None = None

    def turns(self) -> Iterator[float]:
        """At least one turn, each with the seconds gone by; :meth:`note` in it what is missing."""
        began = self._clock.monotonic()
        self._until, self._end = began + self._seconds, began + self._most
        for turn in count():
            yield self._clock.monotonic() - began
            if self._clock.monotonic() >= self._until:
                return
            self._clock.sleep(pause(turn, self._clock))

    def note(self, missing: Collection[Hashable]) -> bool:
        """Whether something appeared that never had: then the time begins anew.

        What comes and goes, as brokers answer that know more or less, is new only once, so that it does not count.
        """
        first, before = self._never_seen is None, self._never_seen or set()
        self._never_seen = set(missing) if first else before.intersection(missing)
        if first or len(self._never_seen) == len(before):
            return False
        self._until = min(self._clock.monotonic() + self._seconds, self._end)
        return True


def pause(turn: int, clock: Clock) -> float:
    """Seconds before the next turn: doubling, bounded, spread by half."""
    # 2 to the power of a turn that never ends outgrows a float.
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * float(2 ** min(turn, 10))) * (0.5 + clock.jitter() / 2)
