"""Perform a plan through the ports, step by step, and say truly what became of it."""

from reconciler.apply.barrier import UnprovenError
from reconciler.apply.history import JournalError, PastRun, past_runs
from reconciler.apply.lease import Claim, LeaseHeldError, claims
from reconciler.apply.outcome import GOOD, Outcome, Result, StepOutcome
from reconciler.apply.perform import perform
from reconciler.apply.preflight import (
    Preflight,
    RefusedError,
    StalePlanError,
    UndeclaredDefaultError,
    check,
    reading,
)
from reconciler.apply.progress import Progress, Silent
from reconciler.apply.validation import validate
from reconciler.apply.world import Identity, Leasing, NoLedger, Probing, World

__all__ = [
    "GOOD",
    "Claim",
    "Identity",
    "JournalError",
    "LeaseHeldError",
    "Leasing",
    "NoLedger",
    "Outcome",
    "PastRun",
    "Preflight",
    "Probing",
    "Progress",
    "RefusedError",
    "Result",
    "Silent",
    "StalePlanError",
    "StepOutcome",
    "UndeclaredDefaultError",
    "UnprovenError",
    "World",
    "check",
    "claims",
    "past_runs",
    "perform",
    "reading",
    "validate",
]
