"""A limit on how much one question about access may cost, counted in decisions and not in seconds.

A few lines of a manifest can ask for billions of decisions: hosts times names, principals times prefixes. Where no
shorter way is known, the answer is that there is none: an error, and never a part of an answer. A count gives the same
answer on every machine and on every run; a clock does not.
"""

from typing import Final

#: Decisions that any change may cost.
BASE: Final = 2_000_000
#: And further ones for each binding that it touches: an honest change costs a few dozen, in all its moments together.
FOR_EACH_BINDING: Final = 100

#: What a row counts for: it is sorted, held against guards and other rows, and written.
ROW: Final = 10


class TooMuchToDecideError(Exception):
    """The rows of an access difference would take more decisions than their limit; ``str()`` names the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"who gains and who loses access takes more than {limit:,} decisions")
        self.limit = limit


class Work:
    """Counts decisions. Share one among all comparisons that answer one question."""

    __slots__ = ("_limit", "_spent")

    def __init__(self, limit: int | None = None) -> None:
        """Without a limit it only counts."""
        self._limit = limit
        self._spent = 0

    @property
    def spent(self) -> int:
        """Decisions so far."""
        return self._spent

    def spend(self, decisions: int) -> None:
        """Count, and raise :class:`TooMuchToDecideError` above the limit; call it before the work is done."""
        self._spent += decisions
        if self._limit is not None and self._spent > self._limit:
            raise TooMuchToDecideError(self._limit)


def work_for(bindings: int) -> Work:
    """What a change of so many bindings may cost."""
    return Work(BASE + FOR_EACH_BINDING * bindings)
