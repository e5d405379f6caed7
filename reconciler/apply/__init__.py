"""Perform a plan through the ports, step by step, and say truly what became of it."""

from reconciler.apply.barriers.interface import Barrier, BarrierFactory, UnprovenError
from reconciler.apply.barriers.probe import ProbeBarrier, ProbeSetup
from reconciler.apply.environment import ApplyEnvironment, Identity, LeaseRequest, NoLedger
from reconciler.apply.history import JournalError, PastRun, past_runs
from reconciler.apply.kinds import request_for
from reconciler.apply.lease import LeaseClaim, LeaseHeldError, lease_claims
from reconciler.apply.outcome import GOOD, LoginCheck, Outcome, Result, StepOutcome
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

__all__ = [
    "GOOD",
    "ApplyEnvironment",
    "Barrier",
    "BarrierFactory",
    "Identity",
    "JournalError",
    "LeaseClaim",
    "LeaseHeldError",
    "LeaseRequest",
    "LoginCheck",
    "NoLedger",
    "Outcome",
    "PastRun",
    "Preflight",
    "ProbeBarrier",
    "ProbeSetup",
    "Progress",
    "RefusedError",
    "Result",
    "Silent",
    "StalePlanError",
    "StepOutcome",
    "UndeclaredDefaultError",
    "UnprovenError",
    "check",
    "lease_claims",
    "past_runs",
    "perform",
    "reading",
    "request_for",
    "validate",
]
