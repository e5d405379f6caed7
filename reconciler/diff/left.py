"""Differences that a plan does not remove, each with its reason."""

from dataclasses import dataclass
from enum import StrEnum

from reconciler.model import Change, Origin


class LeftReason(StrEnum):
    """Why a difference stays."""

    IMPOSSIBLE = "impossible"
    HELD_BACK = "held-back"
    EXCLUDED = "excluded"
    UNREADABLE = "unreadable"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Left:
    """A difference that stays. ``change`` is ``None`` where not even the difference is known (unreadable)."""

    reason: LeftReason
    subject: str
    detail: str
    change: Change | None = None
    origin: Origin | None = None
