"""Perform a plan through the ports, step by step, and say truly what became of it."""

from reconciler.apply.outcome import GOOD, Outcome, Result, StepOutcome
from reconciler.apply.perform import World, perform
from reconciler.apply.preflight import (
    Preflight,
    RefusedError,
    StalePlanError,
    UndeclaredDefaultError,
    check,
)
from reconciler.apply.progress import Progress, Silent

__all__ = [
    "GOOD",
    "Outcome",
    "Preflight",
    "Progress",
    "RefusedError",
    "Result",
    "Silent",
    "StalePlanError",
    "StepOutcome",
    "UndeclaredDefaultError",
    "World",
    "check",
    "perform",
]
