"""What a step expects to find, against what is there now: still to do, done by somebody already, or stale."""

from enum import StrEnum
from typing import Final

from reconciler.dataclass import dataclass


class StepState(StrEnum):
    """What a live state means for a step."""

    PENDING = "pending"
    DONE = "done"
    STALE = "stale"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Observed:
    """A step against a live state; ``expected`` and ``found`` are for people, and empty where all is well."""

    state: StepState
    subject: str = ""
    expected: str = ""
    found: str = ""


PENDING: Final = Observed(StepState.PENDING)
DONE: Final = Observed(StepState.DONE)
