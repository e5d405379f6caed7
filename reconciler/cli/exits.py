"""Exit statuses, and the one exception that ends a command with one.

If several hold, the first of ``PRECEDENCE`` is the answer.
"""

from enum import IntEnum
from typing import Final


class Exit(IntEnum):
    """What a command's exit status means."""

    OK = 0
    ERROR = 1
    DIFFERENT = 2
    FAILED_CHECK = 3
    STALE = 4
    REFUSED = 5
    LOCKED = 6
    USAGE = 64
    INTERRUPTED = 130


PRECEDENCE: Final = (
    Exit.USAGE,
    Exit.INTERRUPTED,
    Exit.ERROR,
    Exit.LOCKED,
    Exit.REFUSED,
    Exit.STALE,
    Exit.FAILED_CHECK,
    Exit.DIFFERENT,
    Exit.OK,
)


def worst(*statuses: Exit) -> Exit:
    """The status that a command ends with if all of these hold."""
    return min(statuses, key=PRECEDENCE.index, default=Exit.OK)


class CommandError(Exception):
    """Ends the command: what is wrong, what to do about it, and the status that says so."""

    def __init__(self, message: str, advice: str = "", status: Exit = Exit.ERROR) -> None:
        """``message`` and ``advice`` are sentences for a person."""
        super().__init__(message)
        self.message, self.advice, self.status = message, advice, status
